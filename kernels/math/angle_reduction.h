#pragma once
#include "machine.h"

/// Angles to within pi / 4, as a sum of two floats.
///
///  * Up to 48000 (float) and 10^8 (double) the multiple of pi / 2 is subtracted in three parts (Cody and
///    Waite).
///  * Beyond, the product with 2 / pi is computed modulo 4 as an integer, from the words of 2 / pi that
///    matter (Payne and Hanek).
///
/// The constants come from derive/trigonometric.sollya.
namespace anabranch::math {

/// The angle high + low + quadrants * pi / 2. |high + low| is at most pi / 4 and a little, low is within an
/// ulp of high or so small that it does not matter; of quadrants the lowest two bits count.
template <class F>
struct ReducedAngle {
  F high;
  F low;
  BitsOf<F> quadrants;
};

// Angles that are not large ---------------------------------------------------------------------------------

/// |x| <= 48000. The first difference is exact: its bits end where those of the first part of pi / 2 do.
template <Float32 F>
ANABRANCH_MATH ReducedAngle<F> reduce_near(F x) {
  F shifted = fma(x, 0x1.45f306p-1f, 0x1.8p23f);
  F n = shifted - 0x1.8p23f;
  F first = fma(-0x1.921fb6p0f, n, x);
  F second = n * -0x1.777a5cp-25f;
  F high = first - second;
  F low = fma(0x1.777a5cp-25f, n, first - high);
  return {high, fma(0x1.ee59dap-50f, n, low), bits(shifted)};
}

/// |x| <= 10^8.
template <Float64 F>
ANABRANCH_MATH ReducedAngle<F> reduce_near(F x) {
  F shifted = fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
  F n = shifted - 0x1.8p52;
  F first = fma(-0x1.921fb54442d18p0, n, x);
  F second = n * 0x1.1a62633145c07p-54;
  F high = first - second;
  F low = fma(-0x1.1a62633145c07p-54, n, first - high);
  return {high, fma(0x1.f1976b7ed8fbcp-110, n, low), bits(shifted)};
}

// Large angles ----------------------------------------------------------------------------------------------

/// A fraction of 2^62 (float) or 2^126 (double) quadrants as a sum of two floats, times pi / 2. `top` is below
/// 2^29 (2^61); `sign` is all ones where the angle is negative.
template <Float32 F>
ANABRANCH_MATH ReducedAngle<F> angle_of_fraction(BitsOf<F> top, BitsOf<F> rest, BitsOf<F> sign,
                                                 BitsOf<F> quadrants) {
  // Pieces of 21, 23 and 17 bits, each of them exact.
  F a = (real<F>((top >> 8) | 0x4b000000u) - 0x1p23f) * 0x1p-22f;
  F b = (real<F>(((top & 0xffu) << 15) | (rest >> 17) | 0x4b000000u) - 0x1p23f) * 0x1p-45f;
  F c = (real<F>((rest & 0x1ffffu) | 0x4b000000u) - 0x1p23f) * 0x1p-62f;
  F sum = a + b;
  F error = (b - (sum - a)) + c;
  F t = sum + error;
  F t_low = error - (t - sum);
  F high = t * 0x1.921fb6p0f;
  F low = fma(0x1.921fb6p0f, t, -high) + fma(-0x1.777a5cp-25f, t, t_low * 0x1.921fb6p0f);
  BitsOf<F> flip = sign & 0x80000000u;
  return {real<F>(bits(high) ^ flip), real<F>(bits(low) ^ flip), quadrants};
}

template <Float64 F>
ANABRANCH_MATH ReducedAngle<F> angle_of_fraction(BitsOf<F> top, BitsOf<F> rest, BitsOf<F> sign,
                                                 BitsOf<F> quadrants) {
  // Pieces of 52, 52 and 21 bits.
  F a = (real<F>((top >> 9) | 0x4330000000000000ull) - 0x1p52) * 0x1p-53;
  F b = (real<F>(((top & 0x1ffull) << 43) | (rest >> 21) | 0x4330000000000000ull) - 0x1p52) * 0x1p-105;
  F c = (real<F>((rest & 0x1fffffull) | 0x4330000000000000ull) - 0x1p52) * 0x1p-126;
  F sum = a + b;
  F error = (b - (sum - a)) + c;
  F t = sum + error;
  F t_low = error - (t - sum);
  F high = t * 0x1.921fb54442d18p0;
  F low = fma(0x1.921fb54442d18p0, t, -high) + fma(0x1.1a62633145c07p-54, t, t_low * 0x1.921fb54442d18p0);
  BitsOf<F> flip = sign & 0x8000000000000000ull;
  return {real<F>(bits(high) ^ flip), real<F>(bits(low) ^ flip), quadrants};
}

/// One word of the bits of 2 / pi from bit `shift` of the first of two words on.
template <class U, class V>
ANABRANCH_MATH U shifted_word(U first, U second, U shift, V last_bit) {
  return (first << shift) | ((second >> 1) >> (shift ^ last_bit));
}

/// Words of 32 bits of 2 / pi, behind one word of zeros.
ANABRANCH_MATH_TABLE u32 two_over_pi_32[8] = {0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                              0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
/// Words of 64 bits.
ANABRANCH_MATH_TABLE u64 two_over_pi_64[20] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
    0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
    0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

/// Finite x from 2^-31 on. x = m * 2^e; a window of 96 bits of 2 / pi times the integer m gives x * 2 / pi
/// modulo 4.
template <Float32 F>
ANABRANCH_MATH ReducedAngle<F> reduce_far(F x) {
  using U = BitsOf<F>;
  U m = (bits(x) & 0x7fffffu) | 0x800000u;
  U e = bits(x) >> 23;
  U begin = select(e < 120u, 0u, e - 120u);
  U word = begin >> 5;
  U shift = begin & 31u;
  U t0 = lookup(two_over_pi_32, word);
  U t1 = lookup(two_over_pi_32, word + 1u);
  U t2 = lookup(two_over_pi_32, word + 2u);
  U t3 = lookup(two_over_pi_32, word + 3u);
  U w1 = shifted_word(t1, t2, shift, 31u);
  U carried = multiply_high(m, shifted_word(t2, t3, shift, 31u));
  U rest = m * w1 + carried;
  U top = m * shifted_word(t0, t1, shift, 31u) + multiply_high(m, w1);
  top = select(rest < carried, top + 1u, top);
  U quadrants = (top + 0x20000000u) >> 30;
  U left = top - (quadrants << 30);
  U sign = shift_signed(left, 31);
  return angle_of_fraction<F>(left ^ sign, rest ^ sign, sign, quadrants);
}

/// The same with a window of 192 bits.
template <Float64 F>
ANABRANCH_MATH ReducedAngle<F> reduce_far(F x) {
  using U = BitsOf<F>;
  U m = (bits(x) & 0xfffffffffffffull) | 0x10000000000000ull;
  U e = bits(x) >> 52;
  U begin = select(e < 1013ull, 0ull, e - 1013ull);
  U word = begin >> 6;
  U shift = begin & 63ull;
  U t0 = lookup(two_over_pi_64, word);
  U t1 = lookup(two_over_pi_64, word + 1ull);
  U t2 = lookup(two_over_pi_64, word + 2ull);
  U t3 = lookup(two_over_pi_64, word + 3ull);
  U w1 = shifted_word(t1, t2, shift, 63ull);
  U carried = multiply_high(m, shifted_word(t2, t3, shift, 63ull));
  U rest = m * w1 + carried;
  U top = m * shifted_word(t0, t1, shift, 63ull) + multiply_high(m, w1);
  top = select(rest < carried, top + 1ull, top);
  U quadrants = (top + 0x2000000000000000ull) >> 62;
  U left = top - (quadrants << 62);
  U sign = shift_signed(left, 63);
  return angle_of_fraction<F>(left ^ sign, rest ^ sign, sign, quadrants);
}

template <Float32 F>
ANABRANCH_MATH MaskOf<F> is_near(F magnitude) {
  return magnitude <= 48000.0f;
}
template <Float64 F>
ANABRANCH_MATH MaskOf<F> is_near(F magnitude) {
  return magnitude <= 1e8;
}

/// Of a magnitude. Infinities and NaN give anything.
template <class F>
ANABRANCH_MATH ReducedAngle<F> reduce(F magnitude) {
  MaskOf<F> near = is_near(magnitude);
  ReducedAngle<F> a = reduce_near(magnitude);
  ReducedAngle<F> b = reduce_far(magnitude);
  return {select(near, a.high, b.high), select(near, a.low, b.low), select(near, a.quadrants, b.quadrants)};
}

}  // namespace anabranch::math
