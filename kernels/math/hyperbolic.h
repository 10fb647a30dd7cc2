#pragma once

#include "exponential.h"
#include "logarithm.h"
#include "sign.h"

/// Hyperbolic functions and their inverses, each one recipe of sums in two parts, high and low, that are
/// rounded at the end. Coefficients: derive/hyperbolic.sollya. Errors: docs/mathematics.md.
namespace anabranch::math {

/// x = n ln(2) + r + low, n being what the last bits of `exponent` count, |r| at most ln(2) / 2.
template <class F>
struct Remainder {
  F r;
  F low;
  BitsOf<F> exponent;
};
template <Float32 F>
ANABRANCH_MATH Remainder<F> remainder_of(F x) {
  const F shifted = fma(x, 0x1.715476p+0f, 0x1.8p23f);
  const F n = shifted - 0x1.8p23f;
  const F first = fma(n, -0x1.62e4p-1f, x);
  const F r = first - n * 0x1.7f7d1cp-20f;
  return {r, fma(n, -0x1.7f7d1cp-20f, first - r), bits(shifted)};
}
template <Float64 F>
ANABRANCH_MATH Remainder<F> remainder_of(F x) {
  const F shifted = fma(x, 0x1.71547652b82fep+0, 0x1.8p52);
  const F n = shifted - 0x1.8p52;
  const F first = fma(n, -0x1.62e42fefa38p-1, x);
  const F r = first - n * 0x1.ef35793c7673p-45;
  return {r, fma(n, -0x1.ef35793c7673p-45, first - r), bits(shifted)};
}

/// Below 1 an odd polynomial, above it 1 - 2 / (e^(2 |x|) + 1). From where the operand is cut on, values round to 1.
template <Float32 F>
ANABRANCH_MATH F tanh(F x) {
  const F a = absolute(x);
  const F z = a * a;
  F p = fma(z, 0x1.e27974p-14f, -0x1.ac3ae6p-11f);
  p = fma(z, p, 0x1.8ea7f4p-9f);
  p = fma(z, p, -0x1.18b142p-7f);
  p = fma(z, p, 0x1.64b7d2p-6f);
  p = fma(z, p, -0x1.b9f604p-5f);
  p = fma(z, p, 0x1.111038p-3f);
  p = fma(z, p, -0x1.555552p-2f);
  const F small = fma(a * z, p, a);
  const F cut = select(a > 9.1f, 9.1f, a);
  const Scaled<F> e = exp_scaled(cut + cut);
  const F power = real<F>((e.exponent << 23) + 0x3f800000u);
  const F large = fma(1.0f / fma(e.mantissa, power, 1.0f), -2.0f, 1.0f);
  return with_sign(select(a < 1.0f, small, large), x);
}

/// With 2 |x| = n ln(2) + r and p = e^r - 1: tanh |x| = (1 - 2^-n + p) / (1 + 2^-n + p).
template <Float64 F>
ANABRANCH_MATH F tanh(F x) {
  const F a = absolute(x);
  const F cut = select(a > 19.1, 19.1, a);
  const Remainder<F> y = remainder_of(cut + cut);
  const F power = real<F>(0x3ff0000000000000ull - (y.exponent << 52));
  const F tail = fma(y.r * y.r, exp_tail(y.r), y.low);
  const F p = y.r + tail;
  const F p_low = y.r - p + tail;
  const F less = 1.0 - power;
  const F more = 1.0 + power;
  const F above = less + p;
  const F below = more + p;
  const F above_low = less - above + p + (1.0 - less - power + p_low);
  const F below_low = more - below + p + (1.0 - more + power + p_low);
  const F reciprocal = 1.0 / below;
  const F quotient = above * reciprocal;
  const F left = fma(-quotient, below, above) + fma(-quotient, below_low, above_low);
  return with_sign(fma(left, reciprocal, quotient), x);
}

/// What sinh and cosh of x are made of. With |x| = n ln(2) + r, sinh |x| = less cosh r + more sinh r and
/// cosh x = more cosh r + less sinh r, where more is the sum of 2^(n - 1) and 2^(-n - 1) and less their
/// difference: a quarter of that where |x| is big, so that it does not overflow before the result does.
template <class F>
struct Halves {
  MaskOf<F> big;
  Pair<F> more;
  Pair<F> less;
  F r;
  F cosh_tail;  ///< cosh r - 1
  F sinh_tail;  ///< sinh r - r
};

template <Float32 F>
ANABRANCH_MATH F cosh_tail(F z) {
  F c = fma(z, 0x1.6d518p-10f, 0x1.5554e4p-5f);
  return z * fma(z, c, 0.5f);
}
template <Float64 F>
ANABRANCH_MATH F cosh_tail(F z) {
  F c = fma(z, 0x1.1f8bedb3e773fp-29, 0x1.27e4cc0a8ee3ep-22);
  c = fma(z, c, 0x1.a01a01ad80344p-16);
  c = fma(z, c, 0x1.6c16c16c14ffcp-10);
  c = fma(z, c, 0x1.5555555555558p-5);
  return z * fma(z, c, 0.5);
}
/// (sinh r - r) / r^3, z being r^2.
template <Float32 F>
ANABRANCH_MATH F sinh_tail(F z) {
  const F s = fma(z, 0x1.a28fp-13f, 0x1.110fe2p-7f);
  return fma(z, s, 0x1.555556p-3f);
}
template <Float64 F>
ANABRANCH_MATH F sinh_tail(F z) {
  F s = fma(z, 0x1.7392554ff4a0fp-33, 0x1.ae56bcd0e752dp-26);
  s = fma(z, s, 0x1.71de3e2f95859p-19);
  s = fma(z, s, 0x1.a01a019f14ecp-13);
  s = fma(z, s, 0x1.1111111111309p-7);
  return fma(z, s, 0x1.5555555555555p-3);
}

template <Float32 F>
ANABRANCH_MATH Halves<F> halves_of(F x) {
  const F a = absolute(x);
  const MaskOf<F> big = a > 30.0f;
  const Remainder<F> y = remainder_of(select(a > 90.0f, 90.0f, a));
  const F z = y.r * y.r;
  const BitsOf<F> exponent = select(big, y.exponent - 2u, y.exponent);
  const F growing = real<F>((exponent + 126u) << 23);
  const F shrinking = select(big, 0.0f, real<F>((126u - exponent) << 23));
  const F more = growing + shrinking;
  const F less = growing - shrinking;
  const F sinh_tail_of_r = fma(y.r * z, sinh_tail(z), y.low);
  return {big,
          {more, growing - more + shrinking},
          {less, growing - less - shrinking},
          y.r,
          cosh_tail(z),
          sinh_tail_of_r};
}
template <Float64 F>
ANABRANCH_MATH Halves<F> halves_of(F x) {
  const F a = absolute(x);
  const MaskOf<F> big = a > 60.0;
  const Remainder<F> y = remainder_of(select(a > 711.0, 711.0, a));
  const F z = y.r * y.r;
  const BitsOf<F> exponent = select(big, y.exponent - 2ull, y.exponent);
  const F growing = real<F>((exponent + 1022ull) << 52);
  const F shrinking = select(big, 0.0, real<F>((1022ull - exponent) << 52));
  const F more = growing + shrinking;
  const F less = growing - shrinking;
  const F sinh_tail_of_r = fma(y.r * z, sinh_tail(z), y.low);
  return {big,
          {more, growing - more + shrinking},
          {less, growing - less - shrinking},
          y.r,
          cosh_tail(z),
          sinh_tail_of_r};
}

/// a cosh r + b sinh r; |a| is 0 or larger than |b r|.
template <class F>
ANABRANCH_MATH F combined(const Halves<F>& h, const Pair<F>& a, const Pair<F>& b) {
  const F product = b.high * h.r;
  const F sum = a.high + product;
  const F lost = product - (sum - a.high) + fma(b.high, h.r, -product) + fma(b.low, h.r, a.low);
  return sum + fma(b.high, h.sinh_tail, fma(a.high, h.cosh_tail, lost));
}

template <Float32 F>
ANABRANCH_MATH F sinh(F x) {
  const Halves<F> h = halves_of(x);
  const F value = combined(h, h.less, h.more);
  return with_sign(select(h.big, value * 4.0f, value), x);
}
template <Float64 F>
ANABRANCH_MATH F sinh(F x) {
  const Halves<F> h = halves_of(x);
  const F value = combined(h, h.less, h.more);
  return with_sign(select(h.big, value * 4.0, value), x);
}
template <Float32 F>
ANABRANCH_MATH F cosh(F x) {
  const Halves<F> h = halves_of(x);
  const F value = combined(h, h.more, h.less);
  return select(h.big, value * 4.0f, value);
}
template <Float64 F>
ANABRANCH_MATH F cosh(F x) {
  const Halves<F> h = halves_of(x);
  const F value = combined(h, h.more, h.less);
  return select(h.big, value * 4.0, value);
}

// Inverses: logarithms of sums w + low, with c = low / w ----------------------------------------------------

/// a^2 + 1 and a^2 - 1.
template <Float32 F>
ANABRANCH_MATH Pair<F> square_plus_1(F a) {
  const F square = a * a;
  const F sum = square + 1.0f;
  const F one = sum - square;
  const F low = square - (sum - one) + (1.0f - one) + fma(a, a, -square);
  return {sum, low};
}
template <Float32 F>
ANABRANCH_MATH Pair<F> square_minus_1(F a) {
  const F square = a * a;
  const F difference = square - 1.0f;
  const F low = square - (difference + 1.0f) + fma(a, a, -square);
  const F sum = difference + low;
  return {sum, difference - sum + low};
}
template <Float64 F>
ANABRANCH_MATH Pair<F> square_plus_1(F a) {
  const F square = a * a;
  const F sum = square + 1.0;
  const F one = sum - square;
  const F low = square - (sum - one) + (1.0 - one) + fma(a, a, -square);
  return {sum, low};
}
template <Float64 F>
ANABRANCH_MATH Pair<F> square_minus_1(F a) {
  const F square = a * a;
  const F difference = square - 1.0;
  const F low = square - (difference + 1.0) + fma(a, a, -square);
  const F sum = difference + low;
  return {sum, difference - sum + low};
}

/// What is lost where s is the root of t.
template <class F>
ANABRANCH_MATH F root_low(F s, const Pair<F>& t, F twice) {
  return (fma(-s, s, t.high) + t.low) / twice;
}

/// log(a + sqrt(a^2 + 1)) of |x|, or log(2 |x|) where 1 does not count. 1 / w is the difference of the same
/// two.
template <Float32 F>
ANABRANCH_MATH F asinh(F x) {
  const F a = absolute(x);
  const MaskOf<F> big = a > 0x1p14f;
  const F b = select(big, 1.0f, a);
  const Pair<F> t = square_plus_1(b);
  const F s = sqrt(t.high);
  const F w = b + s;
  const F c = (b - (w - s) + root_low(s, t, s + s)) * (s - b);
  const Binade<F> o = binade_of(select(big, a, w), 0x3f2aaaabu);
  const F value = log_of({select(big, o.n + 1.0f, o.n), o.f}, select(big, 0.0f, c));
  return with_sign(select((a > 0x1p-13f) & (a <= 0x1.fffffep127f), value, a), x);
}
template <Float64 F>
ANABRANCH_MATH F asinh(F x) {
  const F a = absolute(x);
  const MaskOf<F> big = a > 0x1p28;
  const F b = select(big, 1.0, a);
  const Pair<F> t = square_plus_1(b);
  const F s = sqrt(t.high);
  const F w = b + s;
  const F c = (b - (w - s) + root_low(s, t, s + s)) * (s - b);
  const Binade<F> o = binade_of(select(big, a, w), 0x3fe6a09e667f3bcdull);
  const F value = log_of({select(big, o.n + 1.0, o.n), o.f}, select(big, 0.0, c));
  return with_sign(select((a > 0x1p-28) & (a <= 0x1.fffffffffffffp1023), value, a), x);
}

/// log(x + sqrt(x^2 - 1)), or log(2 x) where 1 does not count. Of what is less than 1, a root of a negative
/// number.
template <Float32 F>
ANABRANCH_MATH F acosh(F x) {
  const MaskOf<F> big = x > 0x1p14f;
  const F b = select(big, 2.0f, x);
  const Pair<F> t = square_minus_1(b);
  const F s = sqrt(t.high);
  const F w = b + s;
  const F c = (s - (w - b) + root_low(s, t, select(s == 0.0f, 1.0f, s + s))) * (b - s);
  const Binade<F> o = binade_of(select(big, x, w), 0x3f2aaaabu);
  const F value = log_of({select(big, o.n + 1.0f, o.n), o.f}, select(big, 0.0f, c));
  return select(x <= 0x1.fffffep127f, select(x < 1.0f, sqrt(x - 2.0f), value), x);
}
template <Float64 F>
ANABRANCH_MATH F acosh(F x) {
  const MaskOf<F> big = x > 0x1p28;
  const F b = select(big, 2.0, x);
  const Pair<F> t = square_minus_1(b);
  const F s = sqrt(t.high);
  const F w = b + s;
  const F c = (s - (w - b) + root_low(s, t, select(s == 0.0, 1.0, s + s))) * (b - s);
  const Binade<F> o = binade_of(select(big, x, w), 0x3fe6a09e667f3bcdull);
  const F value = log_of({select(big, o.n + 1.0, o.n), o.f}, select(big, 0.0, c));
  return select(x <= 0x1.fffffffffffffp1023, select(x < 1.0, sqrt(x - 2.0), value), x);
}

/// log((1 + a) / (1 - a)) / 2 of |x|. Small numbers are their own function's value.
template <Float32 F>
ANABRANCH_MATH F atanh(F x) {
  const F a = absolute(x);
  const F above = a + 1.0f;
  const F below = 1.0f - a;
  const F w = above / below;
  const F lows = fma(-w, 1.0f - below - a, a - (above - 1.0f));
  const F c = (fma(-w, below, above) + lows) / above;
  const F value = log_of(binade_of(w, 0x3f2aaaabu), c) * 0.5f;
  const F small = select(a < 0x1p-13f, a, value);
  return with_sign(select(a < 1.0f, small, 1.0f / sqrt(below)), x);
}
template <Float64 F>
ANABRANCH_MATH F atanh(F x) {
  const F a = absolute(x);
  const F above = a + 1.0;
  const F below = 1.0 - a;
  const F w = above / below;
  const F lows = fma(-w, 1.0 - below - a, a - (above - 1.0));
  const F c = (fma(-w, below, above) + lows) / above;
  const F value = log_of(binade_of(w, 0x3fe6a09e667f3bcdull), c) * 0.5;
  const F small = select(a < 0x1p-28, a, value);
  return with_sign(select(a < 1.0, small, 1.0 / sqrt(below)), x);
}

}  // namespace anabranch::math
