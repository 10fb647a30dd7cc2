#pragma once

#include "machine.h"

/// e^x and 2^x: 2^n (1 + r q(r)), where n is the nearest whole number of powers of two and |r| at most half
/// of one's logarithm. Coefficients: derive/exponential.sollya. Errors: docs/mathematics.md.
namespace anabranch::math {

/// mantissa * 2^n, n being what the last bits of `exponent` count.
template <class F>
struct Scaled {
  F mantissa;
  BitsOf<F> exponent;
};

/// The product where it is a normal number.
template <Float32 F>
ANABRANCH_MATH F scaled_normal(const Scaled<F>& s) {
  return real<F>(bits(s.mantissa) + (s.exponent << 23));
}
template <Float64 F>
ANABRANCH_MATH F scaled_normal(const Scaled<F>& s) {
  return real<F>(bits(s.mantissa) + (s.exponent << 52));
}

/// The product, rounded once, for a mantissa near 1 and n in [-151, 128] ([-1077, 1024]). Below the normal
/// numbers, the last place of a sum with 1 is that of the smallest number times 2^126 (2^1022): no
/// operation has a denormal operand or result, which costs some processors a hundred cycles.
template <Float32 F>
ANABRANCH_MATH F scaled(const Scaled<F>& s) {
  const BitsOf<F> product = bits(s.mantissa) + (s.exponent << 23);
  const BitsOf<F> normal = select(less_signed(product, 0x7f800000u), product, 0x7f800000u);
  const BitsOf<F> denormal = bits(real<F>(product + 0x3f000000u) + 1.0f) - 0x3f800000u;
  const BitsOf<F> value = select(less_signed(product, 0x00800000u), denormal, normal);
  return select(s.mantissa == s.mantissa, real<F>(value), s.mantissa);
}
template <Float64 F>
ANABRANCH_MATH F scaled(const Scaled<F>& s) {
  const BitsOf<F> product = bits(s.mantissa) + (s.exponent << 52);
  const BitsOf<F> normal =
      select(less_signed(product, 0x7ff0000000000000ull), product, 0x7ff0000000000000ull);
  const BitsOf<F> denormal = bits(real<F>(product + 0x3fe0000000000000ull) + 1.0) - 0x3ff0000000000000ull;
  const BitsOf<F> value = select(less_signed(product, 0x0010000000000000ull), denormal, normal);
  return select(s.mantissa == s.mantissa, real<F>(value), s.mantissa);
}

/// (e^r - 1 - r) / r^2 for |r| up to ln(2) / 2.
template <Float32 F>
ANABRANCH_MATH F exp_tail(F r) {
  F q = fma(r, 0x1.6a5a46p-10f, 0x1.123aeap-7f);
  q = fma(r, q, 0x1.5558a6p-5f);
  q = fma(r, q, 0x1.55549p-3f);
  return fma(r, q, 0x1.fffffcp-2f);
}
template <Float64 F>
ANABRANCH_MATH F exp_tail(F r) {
  F q = fma(r, 0x1.ad8b77283df41p-26, 0x1.28ae80af8df3p-22);
  q = fma(r, q, 0x1.71df1ecdf87a8p-19);
  q = fma(r, q, 0x1.a01998e34cb3p-16);
  q = fma(r, q, 0x1.a01a012ccbaf2p-13);
  q = fma(r, q, 0x1.6c16c1849b634p-10);
  q = fma(r, q, 0x1.11111111275e9p-7);
  q = fma(r, q, 0x1.5555555550653p-5);
  q = fma(r, q, 0x1.55555555554fbp-3);
  return fma(r, q, 0x1.000000000000ap-1);
}

template <Float32 F>
ANABRANCH_MATH Scaled<F> exp_scaled(F x) {
  const F shifted = fma(x, 0x1.715476p+0f, 0x1.8p23f);
  const F n = shifted - 0x1.8p23f;
  const F r = fma(n, -0x1.7f7d1cp-20f, fma(n, -0x1.62e4p-1f, x));
  return {fma(r, fma(r, exp_tail(r), 1.0f), 1.0f), bits(shifted)};
}
template <Float64 F>
ANABRANCH_MATH Scaled<F> exp_scaled(F x) {
  const F shifted = fma(x, 0x1.71547652b82fep+0, 0x1.8p52);
  const F n = shifted - 0x1.8p52;
  const F r = fma(n, -0x1.ef35793c7673p-45, fma(n, -0x1.62e42fefa38p-1, x));
  return {fma(r, fma(r, exp_tail(r), 1.0), 1.0), bits(shifted)};
}

/// Holds where the value is a normal number.
template <Float32 F>
ANABRANCH_MATH Fast<F> exp_fast(F x) {
  return {scaled_normal(exp_scaled(x)), absolute(x) <= 87.0f};
}
template <Float64 F>
ANABRANCH_MATH Fast<F> exp_fast(F x) {
  return {scaled_normal(exp_scaled(x)), absolute(x) <= 708.0};
}

/// Beyond the borders, values overflow, or round to 0.
template <Float32 F>
ANABRANCH_MATH F exp_full(F x) {
  const F above = select(x < -104.0f, -104.0f, x);
  return scaled(exp_scaled(select(above > 89.0f, 89.0f, above)));
}
template <Float64 F>
ANABRANCH_MATH F exp_full(F x) {
  const F above = select(x < -746.0, -746.0, x);
  return scaled(exp_scaled(select(above > 710.0, 710.0, above)));
}

/// 2^r for |r| up to 1/2 and a little more.
template <Float32 F>
ANABRANCH_MATH F exp2_near_1(F r) {
  F q = fma(r, 0x1.3fb5e6p-13f, 0x1.5f0e1p-10f);
  q = fma(r, q, 0x1.3b309p-7f);
  q = fma(r, q, 0x1.c6af72p-5f);
  q = fma(r, q, 0x1.ebfbd8p-3f);
  q = fma(r, q, 0x1.62e43p-1f);
  return fma(r, q, 1.0f);
}
template <Float64 F>
ANABRANCH_MATH F exp2_near_1(F r) {
  F q = fma(r, 0x1.e9651a8abab3dp-32, 0x1.e61e0cd88f2dbp-28);
  q = fma(r, q, 0x1.b5252c8b2c6fdp-24);
  q = fma(r, q, 0x1.62bfc5f76660cp-20);
  q = fma(r, q, 0x1.ffcbfc61b6f63p-17);
  q = fma(r, q, 0x1.4309130f8a928p-13);
  q = fma(r, q, 0x1.5d87fe789f8b8p-10);
  q = fma(r, q, 0x1.3b2ab6fb9fd4dp-7);
  q = fma(r, q, 0x1.c6b08d704a128p-5);
  q = fma(r, q, 0x1.ebfbdff82c5a6p-3);
  q = fma(r, q, 0x1.62e42fefa39efp-1);
  return fma(r, q, 1.0);
}

template <Float32 F>
ANABRANCH_MATH Scaled<F> exp2_scaled(F x) {
  const F shifted = x + 0x1.8p23f;
  return {exp2_near_1(x - (shifted - 0x1.8p23f)), bits(shifted)};
}
template <Float64 F>
ANABRANCH_MATH Scaled<F> exp2_scaled(F x) {
  const F shifted = x + 0x1.8p52;
  return {exp2_near_1(x - (shifted - 0x1.8p52)), bits(shifted)};
}

template <Float32 F>
ANABRANCH_MATH Fast<F> exp2_fast(F x) {
  return {scaled_normal(exp2_scaled(x)), absolute(x) <= 125.0f};
}
template <Float64 F>
ANABRANCH_MATH Fast<F> exp2_fast(F x) {
  return {scaled_normal(exp2_scaled(x)), absolute(x) <= 1021.0};
}

template <Float32 F>
ANABRANCH_MATH F exp2_full(F x) {
  const F above = select(x < -151.0f, -151.0f, x);
  return scaled(exp2_scaled(select(above > 128.0f, 128.0f, above)));
}
template <Float64 F>
ANABRANCH_MATH F exp2_full(F x) {
  const F above = select(x < -1077.0, -1077.0, x);
  return scaled(exp2_scaled(select(above > 1024.0, 1024.0, above)));
}

// One value -------------------------------------------------------------------------------------------------

ANABRANCH_MATH float exp(float x) {
  const Fast<float> fast = exp_fast(x);
  return fast.holds ? fast.value : exp_full(x);
}
ANABRANCH_MATH double exp(double x) {
  const Fast<double> fast = exp_fast(x);
  return fast.holds ? fast.value : exp_full(x);
}
ANABRANCH_MATH float exp2(float x) {
  const Fast<float> fast = exp2_fast(x);
  return fast.holds ? fast.value : exp2_full(x);
}
ANABRANCH_MATH double exp2(double x) {
  const Fast<double> fast = exp2_fast(x);
  return fast.holds ? fast.value : exp2_full(x);
}

}  // namespace anabranch::math
