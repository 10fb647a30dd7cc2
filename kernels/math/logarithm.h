#pragma once

#include "machine.h"
#include "pair.h"
#include "sign.h"

/// Logarithms: x = 2^n (1 + f), so that log x = n log 2 + log(1 + f), f being exact. Constants that are no
/// numbers of the type stand in two parts, high and low. Coefficients: derive/logarithm.sollya. Errors:
/// docs/mathematics.md.
namespace anabranch::math {

template <class F>
struct Binade {
  F n;
  F f;
};

/// 1 + f is in [l, 2 l), where the bits of l are `lowest`. x is a positive normal number.
template <Float32 F>
ANABRANCH_MATH Binade<F> binade_of(F x, u32 lowest) {
  const BitsOf<F> from_lowest = bits(x) - lowest;
  const F one_and_f = real<F>(bits(x) - (from_lowest & 0xff800000u));
  return {real<F>(shift_signed(from_lowest, 23) + 0x4b400000u) - 0x1.8p23f, one_and_f - 1.0f};
}
template <Float64 F>
ANABRANCH_MATH Binade<F> binade_of(F x, u64 lowest) {
  const BitsOf<F> from_lowest = bits(x) - lowest;
  const F one_and_f = real<F>(bits(x) - (from_lowest & 0xfff0000000000000ull));
  return {real<F>(shift_signed(from_lowest, 52) + 0x4338000000000000ull) - 0x1.8p52, one_and_f - 1.0};
}

/// The same for every positive number.
template <Float32 F>
ANABRANCH_MATH Binade<F> any_binade_of(F x, u32 lowest) {
  const MaskOf<F> small = x < 0x1p-126f;
  const Binade<F> o = binade_of(select(small, x * 0x1p24f, x), lowest);
  return {select(small, o.n - 24.0f, o.n), o.f};
}
template <Float64 F>
ANABRANCH_MATH Binade<F> any_binade_of(F x, u64 lowest) {
  const MaskOf<F> small = x < 0x1p-1022;
  const Binade<F> o = binade_of(select(small, x * 0x1p54, x), lowest);
  return {select(small, o.n - 54.0, o.n), o.f};
}

/// `value` is the logarithm of a positive finite x. That of 0 is minus infinity; the root of an infinity is
/// one, that of a negative number or of a NaN is a NaN.
template <Float32 F>
ANABRANCH_MATH F any_logarithm(F x, F value) {
  const F other = select(x == 0.0f, (x - 0x1p127f) * 0x1p127f, sqrt(x));
  return select((x > 0.0f) & (x <= 0x1.fffffep127f), value, other);
}
template <Float64 F>
ANABRANCH_MATH F any_logarithm(F x, F value) {
  const F other = select(x == 0.0, (x - 0x1p1023) * 0x1p1023, sqrt(x));
  return select((x > 0.0) & (x <= 0x1.fffffffffffffp1023), value, other);
}

/// (2 atanh(s) - 2 s) / s z, where z = s^2, s = f / (2 + f) and 1 + f is in [sqrt 1/2, sqrt 2).
template <Float64 F>
ANABRANCH_MATH F atanh_tail(F z) {
  F p = fma(z, 0x1.2f0245bedf953p-3, 0x1.39a20ce118d1ap-3);
  p = fma(z, p, 0x1.74663b968046dp-3);
  p = fma(z, p, 0x1.c71c521a58abcp-3);
  p = fma(z, p, 0x1.24924941daffp-2);
  p = fma(z, p, 0x1.999999997ff67p-2);
  return fma(z, p, 0x1.5555555555592p-1);
}

/// log(1 + f) - f: log(1 + f) = 2 atanh s = f - f^2 / 2 + s (f^2 / 2 + z p(z)).
template <Float64 F>
ANABRANCH_MATH F log_tail(F f) {
  const F s = f / (f + 2.0);
  const F z = s * s;
  const F half_square = f * 0.5 * f;
  return fma(s, fma(z, atanh_tail(z), half_square), -half_square);
}

// Base e ----------------------------------------------------------------------------------------------------

/// (log(1 + f) - f) / f^2, where 1 + f is in [2/3, 4/3).
template <Float32 F>
ANABRANCH_MATH F log_quotient(F f) {
  F q = fma(f, -0x1.06cdfap-3f, 0x1.1ec6e2p-3f);
  q = fma(f, q, -0x1.f3a7dep-4f);
  q = fma(f, q, 0x1.1ec0dp-3f);
  q = fma(f, q, -0x1.559802p-3f);
  q = fma(f, q, 0x1.99d1c6p-3f);
  q = fma(f, q, -0x1.ffff14p-3f);
  q = fma(f, q, 0x1.555502p-2f);
  return fma(f, q, -0.5f);
}

template <Float32 F>
ANABRANCH_MATH F log_of(const Binade<F>& o) {
  return fma(o.n, 0x1.62e4p-1f, o.f + fma(o.f * o.f, log_quotient(o.f), o.n * 0x1.7f7d1cp-20f));
}
template <Float64 F>
ANABRANCH_MATH F log_of(const Binade<F>& o) {
  const F high = fma(o.n, 0x1.62e42fefa38p-1, o.f);
  const F lost = o.f - fma(o.n, -0x1.62e42fefa38p-1, high);
  return high + (lost + fma(o.n, 0x1.ef35793c7673p-45, log_tail(o.f)));
}

/// The logarithm of 2^n (1 + f) (1 + c), c being so small that its square does not count: of a sum in two
/// parts.
template <Float32 F>
ANABRANCH_MATH F log_of(const Binade<F>& o, F c) {
  const F high = fma(o.n, 0x1.62e4p-1f, o.f);
  const F lost = o.f - fma(o.n, -0x1.62e4p-1f, high);
  return high + (lost + fma(o.f * o.f, log_quotient(o.f), fma(o.n, 0x1.7f7d1cp-20f, c)));
}
template <Float64 F>
ANABRANCH_MATH F log_of(const Binade<F>& o, F c) {
  const F high = fma(o.n, 0x1.62e42fefa38p-1, o.f);
  const F lost = o.f - fma(o.n, -0x1.62e42fefa38p-1, high);
  return high + (lost + (log_tail(o.f) + fma(o.n, 0x1.ef35793c7673p-45, c)));
}

template <Float32 F>
ANABRANCH_MATH Fast<F> log_fast(F x) {
  return {log_of(binade_of(x, 0x3f2aaaabu)), is_positive_normal(x)};
}
template <Float64 F>
ANABRANCH_MATH Fast<F> log_fast(F x) {
  return {log_of(binade_of(x, 0x3fe6a09e667f3bcdull)), is_positive_normal(x)};
}
template <Float32 F>
ANABRANCH_MATH F log_full(F x) {
  return any_logarithm(x, log_of(any_binade_of(x, 0x3f2aaaabu)));
}
template <Float64 F>
ANABRANCH_MATH F log_full(F x) {
  return any_logarithm(x, log_of(any_binade_of(x, 0x3fe6a09e667f3bcdull)));
}

// Base 2: f log2(e) is exact in two parts -------------------------------------------------------------------

/// f - f^2 / 2 in two parts, the rounding errors of the square and of the difference in the second.
template <Float32 F>
ANABRANCH_MATH Pair<F> less_half_square(F f) {
  const F half = f * 0.5f;
  const F square = half * f;
  const F high = f - square;
  return {high, ((f - high) - square) - fma(half, f, -square)};
}
template <Float64 F>
ANABRANCH_MATH Pair<F> less_half_square(F f) {
  const F half = f * 0.5;
  const F square = half * f;
  const F high = f - square;
  return {high, ((f - high) - square) - fma(half, f, -square)};
}

/// n + log2(e) (a + rest), where a is in two parts.
template <Float32 F>
ANABRANCH_MATH F log2_sum(F n, const Pair<F>& a, F rest) {
  const F high = a.high * 0x1.715476p0f;
  const F low = fma(a.high, 0x1.4ae0cp-26f, fma(a.high, 0x1.715476p0f, -high));
  const F sum = n + high;
  const F lost = high - (sum - n);
  return sum + (lost + (low + rest));
}
template <Float64 F>
ANABRANCH_MATH F log2_sum(F n, const Pair<F>& a, F rest) {
  const F high = a.high * 0x1.71547652b82fep0;
  const F low = fma(a.high, 0x1.777d0ffda0d24p-56, fma(a.high, 0x1.71547652b82fep0, -high));
  const F sum = n + high;
  const F lost = high - (sum - n);
  return sum + (lost + (low + rest));
}

template <Float32 F>
ANABRANCH_MATH F log2_of(const Binade<F>& o) {  // 1 + f in [sqrt 1/2, sqrt 2)
  const F f = o.f;
  F q = fma(f, -0x1.aeabcap-4f, 0x1.734fbep-3f);
  q = fma(f, q, -0x1.865e7cp-3f);
  q = fma(f, q, 0x1.a4b3acp-3f);
  q = fma(f, q, -0x1.eb18d6p-3f);
  q = fma(f, q, 0x1.2773p-2f);
  q = fma(f, q, -0x1.7157a4p-2f);
  q = fma(f, q, 0x1.ec70c4p-2f);
  const Pair<F> a = less_half_square(f);
  return log2_sum(o.n, a, fma(f * f * f, q, a.low * 0x1.715476p0f));
}
template <Float64 F>
ANABRANCH_MATH F log2_of(const Binade<F>& o) {
  const F s = o.f / (o.f + 2.0);
  const F z = s * s;
  const Pair<F> a = less_half_square(o.f);
  const F rest = s * fma(z, atanh_tail(z), o.f * 0.5 * o.f);
  return log2_sum(o.n, a, (a.low + rest) * 0x1.71547652b82fep0);
}

template <Float32 F>
ANABRANCH_MATH Fast<F> log2_fast(F x) {
  return {log2_of(binade_of(x, 0x3f3504f3u)), is_positive_normal(x)};
}
template <Float64 F>
ANABRANCH_MATH Fast<F> log2_fast(F x) {
  return {log2_of(binade_of(x, 0x3fe6a09e667f3bcdull)), is_positive_normal(x)};
}
template <Float32 F>
ANABRANCH_MATH F log2_full(F x) {
  return any_logarithm(x, log2_of(any_binade_of(x, 0x3f3504f3u)));
}
template <Float64 F>
ANABRANCH_MATH F log2_full(F x) {
  return any_logarithm(x, log2_of(any_binade_of(x, 0x3fe6a09e667f3bcdull)));
}

// Base 10: n log10(2) + f log10(e) with what its rounding loses ---------------------------------------------

template <Float32 F>
ANABRANCH_MATH F log10_of(const Binade<F>& o) {  // 1 + f in [sqrt 1/2, sqrt 2)
  const F f = o.f;
  F q = fma(f, -0x1.0fc5c2p-5f, 0x1.cc0a7p-5f);
  q = fma(f, q, -0x1.d7639p-5f);
  q = fma(f, q, 0x1.f86808p-5f);
  q = fma(f, q, -0x1.276d46p-4f);
  q = fma(f, q, 0x1.63d002p-4f);
  q = fma(f, q, -0x1.bcbf4ep-4f);
  q = fma(f, q, 0x1.287a7p-3f);
  q = fma(f, q, -0x1.bcb7aap-3f);
  const F product = f * 0x1.bcb7b2p-2f;
  const F low = fma(f, -0x1.5b235ep-27f, fma(f, 0x1.bcb7b2p-2f, -product));
  const F high = fma(o.n, 0x1.344p-2f, product);
  const F lost = product - fma(o.n, -0x1.344p-2f, high);
  return high + (lost + fma(f * f, q, fma(o.n, 0x1.3509f8p-18f, low)));
}
template <Float64 F>
ANABRANCH_MATH F log10_of(const Binade<F>& o) {
  const F product = o.f * 0x1.bcb7b1526e50ep-2;
  const F low = fma(o.f, 0x1.95355baaafad3p-57, fma(o.f, 0x1.bcb7b1526e50ep-2, -product));
  const F high = fma(o.n, 0x1.34413509f78p-2, product);
  const F lost = product - fma(o.n, -0x1.34413509f78p-2, high);
  const F tail = fma(log_tail(o.f), 0x1.bcb7b1526e50ep-2, fma(o.n, 0x1.fef311f12b358p-46, low));
  return high + (lost + tail);
}

template <Float32 F>
ANABRANCH_MATH Fast<F> log10_fast(F x) {
  return {log10_of(binade_of(x, 0x3f3504f3u)), is_positive_normal(x)};
}
template <Float64 F>
ANABRANCH_MATH Fast<F> log10_fast(F x) {
  return {log10_of(binade_of(x, 0x3fe6a09e667f3bcdull)), is_positive_normal(x)};
}
template <Float32 F>
ANABRANCH_MATH F log10_full(F x) {
  return any_logarithm(x, log10_of(any_binade_of(x, 0x3f3504f3u)));
}
template <Float64 F>
ANABRANCH_MATH F log10_full(F x) {
  return any_logarithm(x, log10_of(any_binade_of(x, 0x3fe6a09e667f3bcdull)));
}

// One value -------------------------------------------------------------------------------------------------

ANABRANCH_MATH float log(float x) {
  const Fast<float> fast = log_fast(x);
  return fast.holds ? fast.value : log_full(x);
}
ANABRANCH_MATH double log(double x) {
  const Fast<double> fast = log_fast(x);
  return fast.holds ? fast.value : log_full(x);
}
ANABRANCH_MATH float log2(float x) {
  const Fast<float> fast = log2_fast(x);
  return fast.holds ? fast.value : log2_full(x);
}
ANABRANCH_MATH double log2(double x) {
  const Fast<double> fast = log2_fast(x);
  return fast.holds ? fast.value : log2_full(x);
}
ANABRANCH_MATH float log10(float x) {
  const Fast<float> fast = log10_fast(x);
  return fast.holds ? fast.value : log10_full(x);
}
ANABRANCH_MATH double log10(double x) {
  const Fast<double> fast = log10_fast(x);
  return fast.holds ? fast.value : log10_full(x);
}

}  // namespace anabranch::math
