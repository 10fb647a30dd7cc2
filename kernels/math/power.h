#pragma once

#include "exponential.h"
#include "logarithm.h"

/// x^y = 2^(y log2 |x|), the logarithm and its product with y being sums of two parts, high and low:
/// together about 35 bits of a float, 66 of a double. Coefficients: derive/power.sollya. Errors:
/// docs/mathematics.md.
namespace anabranch::math {

/// s = f / d + low, d being 2 + f and rounding to `d.high`; `reciprocal` is near 1 / d.
template <class F>
ANABRANCH_MATH Pair<F> quotient(F f, const Pair<F>& d, F s, F reciprocal) {
  const F left = fma(-s, d.high, f);
  return {s, fma(-s, d.low, left) * reciprocal};
}

template <class F>
ANABRANCH_MATH Pair<F> square(const Pair<F>& s) {
  const F high = s.high * s.high;
  return {high, fma(s.high + s.high, s.low, fma(s.high, s.high, -high))};
}

template <class F>
ANABRANCH_MATH Pair<F> product(const Pair<F>& a, const Pair<F>& b) {
  const F high = a.high * b.high;
  return {high, fma(a.low, b.high, fma(a.high, b.low, fma(a.high, b.high, -high)))};
}

/// log2(2^n (1 + f)), 1 + f in [sqrt 1/2, sqrt 2): c0 s + c1 s^3 + s^5 p(s^2) with s = f / (2 + f).
template <Float32 F>
ANABRANCH_MATH Pair<F> log2_pair(const Binade<F>& o) {
  const F d = o.f + 2.0f;
  const F q = o.f / d;
  const Pair<F> s = quotient(o.f, {d, o.f - (d - 2.0f)}, q, fma(q, -0.5f, 0.5f));
  const Pair<F> z = square(s);
  F p = fma(z.high, 0x1.59ed6ap-2f, 0x1.a5bbfep-2f);
  p = z.high * fma(z.high, p, 0x1.27770ep-1f);
  const F t = p + 0x1.ec709ep-1f;
  const Pair<F> w = product(z, {t, p - (t - 0x1.ec709ep-1f) - 0x1.e2fe02p-28f});
  const F v = w.high + 0x1.715476p1f;
  const Pair<F> l = product(s, {v, w.high - (v - 0x1.715476p1f) + (w.low + 0x1.4ae0cp-25f)});
  const F sum = o.n + l.high;
  return {sum, l.high - (sum - o.n) + l.low};
}
template <Float64 F>
ANABRANCH_MATH Pair<F> log2_pair(const Binade<F>& o) {
  const F d = o.f + 2.0;
  const F q = o.f / d;
  const Pair<F> s = quotient(o.f, {d, o.f - (d - 2.0)}, q, fma(q, -0.5, 0.5));
  const Pair<F> z = square(s);
  F p = fma(z.high, 0x1.61e860ee4485p-3, 0x1.58fdd28f524c1p-3);
  p = fma(z.high, p, 0x1.8a09aaf8e34f1p-3);
  p = fma(z.high, p, 0x1.c68ee9b301464p-3);
  p = fma(z.high, p, 0x1.0c9a853a61908p-2);
  p = fma(z.high, p, 0x1.484b13d6adf41p-2);
  p = fma(z.high, p, 0x1.a61762a7aedd2p-2);
  p = fma(z.high, p, 0x1.2776c50ef9bfcp-1);
  const Pair<F> c2 = {z.high * p, fma(z.low, p, fma(z.high, p, -(z.high * p)))};
  const F t = c2.high + 0x1.ec709dc3a03fdp-1;
  const Pair<F> w = product(z, {t, c2.high - (t - 0x1.ec709dc3a03fdp-1) + (c2.low + 0x1.d27f05548af0cp-55)});
  const F v = w.high + 0x1.71547652b82fep1;
  const Pair<F> l = product(s, {v, w.high - (v - 0x1.71547652b82fep1) + (w.low + 0x1.777d0ffda0d24p-55)});
  const F sum = o.n + l.high;
  return {sum, l.high - (sum - o.n) + l.low};
}

/// The exponent y log2 |x|.
template <class F>
ANABRANCH_MATH Pair<F> times(F y, const Pair<F>& logarithm) {
  const F high = y * logarithm.high;
  return {high, fma(y, logarithm.low, fma(y, logarithm.high, -high))};
}

/// 2^(high + low), low being small.
template <Float32 F>
ANABRANCH_MATH Scaled<F> exp2_scaled(const Pair<F>& x) {
  const F shifted = x.high + 0x1.8p23f;
  return {exp2_near_1(x.high - (shifted - 0x1.8p23f) + x.low), bits(shifted)};
}
template <Float64 F>
ANABRANCH_MATH Scaled<F> exp2_scaled(const Pair<F>& x) {
  const F shifted = x.high + 0x1.8p52;
  return {exp2_near_1(x.high - (shifted - 0x1.8p52) + x.low), bits(shifted)};
}

/// Holds where x is positive and, like the value, a normal number.
template <Float32 F>
ANABRANCH_MATH Fast<F> pow_fast(F x, F y) {
  const Pair<F> exponent = times(y, log2_pair(binade_of(x, 0x3f3504f3u)));
  const MaskOf<F> holds = is_positive_normal(x) & (absolute(exponent.high) <= 125.0f);
  return {scaled_normal(exp2_scaled(exponent)), holds};
}
template <Float64 F>
ANABRANCH_MATH Fast<F> pow_fast(F x, F y) {
  const Pair<F> exponent = times(y, log2_pair(binade_of(x, 0x3fe6a09e667f3bcdull)));
  const MaskOf<F> holds = is_positive_normal(x) & (absolute(exponent.high) <= 1021.0);
  return {scaled_normal(exp2_scaled(exponent)), holds};
}

/// |x|^y, of neither a NaN. Exponents that are infinite are cut to one where the value overflows or vanishes.
template <Float32 F>
ANABRANCH_MATH F pow_of_absolute(F x, F y) {
  Pair<F> l = log2_pair(any_binade_of(x, 0x3f3504f3u));
  l.high = select(x == 0.0f, (x - 0x1p127f) * 0x1p127f, select(x > 0x1.fffffep127f, x, l.high));
  Pair<F> e = times(y, l);
  e.low = select((e.high >= -151.0f) & (e.high <= 128.0f), e.low, 0.0f);
  e.high = select(e.high < -151.0f, -151.0f, e.high);
  e.high = select(e.high > 128.0f, 128.0f, e.high);
  return select(x == 1.0f, 1.0f, scaled(exp2_scaled(e)));
}
template <Float64 F>
ANABRANCH_MATH F pow_of_absolute(F x, F y) {
  Pair<F> l = log2_pair(any_binade_of(x, 0x3fe6a09e667f3bcdull));
  l.high = select(x == 0.0, (x - 0x1p1023) * 0x1p1023, select(x > 0x1.fffffffffffffp1023, x, l.high));
  Pair<F> e = times(y, l);
  e.low = select((e.high >= -1077.0) & (e.high <= 1024.0), e.low, 0.0);
  e.high = select(e.high < -1077.0, -1077.0, e.high);
  e.high = select(e.high > 1024.0, 1024.0, e.high);
  return select(x == 1.0, 1.0, scaled(exp2_scaled(e)));
}

/// Whole numbers: those from 2^23 (2^52) on are, and their last bit counts ones up to 2^24 (2^53).
template <class F>
struct Whole {
  MaskOf<F> whole;
  MaskOf<F> odd;
};
template <Float32 F>
ANABRANCH_MATH Whole<F> whole(F y) {
  const F size = absolute(y);
  const F shifted = size + 0x1p23f;
  const MaskOf<F> large = size >= 0x1p23f;
  const MaskOf<F> is_whole = large | (shifted - 0x1p23f == size);
  const BitsOf<F> last = select(large, bits(size), bits(shifted)) & 1u;
  const MaskOf<F> is_odd = is_whole & (last == 1u) & (size < 0x1p24f);
  return {is_whole, is_odd};
}
template <Float64 F>
ANABRANCH_MATH Whole<F> whole(F y) {
  const F size = absolute(y);
  const F shifted = size + 0x1p52;
  const MaskOf<F> large = size >= 0x1p52;
  const MaskOf<F> is_whole = large | (shifted - 0x1p52 == size);
  const BitsOf<F> last = select(large, bits(size), bits(shifted)) & 1ull;
  const MaskOf<F> is_odd = is_whole & (last == 1ull) & (size < 0x1p53);
  return {is_whole, is_odd};
}

/// All of C99's special cases: a negative x has a power where y is whole, and then the sign of x where y is
/// odd; 1^y and x^0 are 1 for a NaN, too.
template <Float32 F>
ANABRANCH_MATH F pow_full(F x, F y) {
  const Whole<F> n = whole(y);
  const F size = absolute(x);
  F value = pow_of_absolute(size, y);
  value = real<F>(bits(value) | select(n.odd, bits(x) & 0x80000000u, 0u));
  value = select((x < 0.0f) & (size <= 0x1.fffffep127f) & !n.whole, sqrt(x), value);
  value = select((x == x) & (y == y), value, x + y);
  return select((x == 1.0f) | (y == 0.0f), 1.0f, value);
}
template <Float64 F>
ANABRANCH_MATH F pow_full(F x, F y) {
  const Whole<F> n = whole(y);
  const F size = absolute(x);
  F value = pow_of_absolute(size, y);
  value = real<F>(bits(value) | select(n.odd, bits(x) & 0x8000000000000000ull, 0ull));
  value = select((x < 0.0) & (size <= 0x1.fffffffffffffp1023) & !n.whole, sqrt(x), value);
  value = select((x == x) & (y == y), value, x + y);
  return select((x == 1.0) | (y == 0.0), 1.0, value);
}

// One value -------------------------------------------------------------------------------------------------

ANABRANCH_MATH float pow(float x, float y) {
  const Fast<float> fast = pow_fast(x, y);
  return fast.holds ? fast.value : pow_full(x, y);
}
ANABRANCH_MATH double pow(double x, double y) {
  const Fast<double> fast = pow_fast(x, y);
  return fast.holds ? fast.value : pow_full(x, y);
}

}  // namespace anabranch::math
