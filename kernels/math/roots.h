#pragma once
#include "pair.h"
#include "polynomial.h"
#include "sign.h"

/// cbrt, hypot, rsqrt: little above half an ulp. An approximation, then one step of Newton's method from an
/// error that is computed with the bits that a product rounds away.
namespace anabranch::math {

// 1 / sqrt(x) -----------------------------------------------------------------------------------------------

/// y + y (1 - x y^2) / 2.
template <class F>
ANABRANCH_MATH F improved_rsqrt(F x, F y, F half_y, F one) {
  F product = x * y;
  F product_low = fma(x, y, -product);
  F error = fma(-y, product_low, fma(-y, product, one));
  return fma(error, half_y, y);
}

/// Of a positive normal number. Half of the bits, subtracted, give the root's reciprocal to 3.5 per cent; a polynomial of
/// the error, q(e) = 1 / sqrt(1 - e) to 2^-15 (2^-20), improves it; in double another step follows, to 2^-40.
/// Coefficients: derive/reciprocal_root.py.
template <Float32 F>
ANABRANCH_MATH F rsqrt_of_normal(F x) {
  const F one = constant(x, 1.0f);
  F y = real<F>(0x5f374700u - (bits(x) >> 1));
  const F error = fma(-(x * y), y, one);
  y = y * polynomial(error, 0x1.ffffeap-1f, 0x1.008f06p-1f, 0x1.8144a4p-2f);
  return improved_rsqrt(x, y, y * 0.5f, one);
}
template <Float64 F>
ANABRANCH_MATH F rsqrt_of_normal(F x) {
  const F one = constant(x, 1.0);
  F y = real<F>(0x5fe6e8e000000000ull - (bits(x) >> 1));
  F error = fma(-(x * y), y, one);
  y = y * polynomial(error, 0x1.ffffe72ca3ce7p-1, 0x1.ffff95c7abfeep-2, 0x1.814de73d015cep-2,
                     0x1.4172a3cdd04cdp-2);
  error = fma(-(x * y), y, one);
  y = fma(y * 0.5, error, y);
  return improved_rsqrt(x, y, y * 0.5, one);
}

template <class F>
ANABRANCH_MATH Fast<F> rsqrt_fast(F x) {
  return {rsqrt_of_normal(x), is_positive_normal(x)};
}

/// Of other numbers from the quotient: 0 and infinity, with their signs, give what that gives.
template <class F>
ANABRANCH_MATH F rsqrt_full(F x) {
  const F one = constant(x, 1), y = one / sqrt(x);
  const F improved = improved_rsqrt(x, y, y * constant(x, 0.5), one);
  return select(is_positive_normal(x), rsqrt_of_normal(x), select(improved == improved, improved, y));
}

ANABRANCH_MATH float rsqrt(float x) {
  const Fast<float> fast = rsqrt_fast(x);
  return fast.holds ? fast.value : rsqrt_full(x);
}
ANABRANCH_MATH double rsqrt(double x) {
  const Fast<double> fast = rsqrt_fast(x);
  return fast.holds ? fast.value : rsqrt_full(x);
}

// Cube root -------------------------------------------------------------------------------------------------

/// An approximation t of the root and y of the root's reciprocal: t + (x - t^3) y^2 / 3.
template <class F>
ANABRANCH_MATH F improved_cbrt(F x, F t, F third_of_square) {
  F square = t * t;
  F square_low = fma(t, t, -square);
  F error = fma(-t, square_low, fma(-t, square, x));
  return fma(error, third_of_square, t);
}

/// x so large that what a product rounds away is no denormal number. A third of the exponent gives 1 /
/// cbrt(x) to 4 per cent, a step of fourth order to 10^-5.
template <Float32 F>
ANABRANCH_MATH F cbrt_of_normal(F x) {
  F y = real<F>(0x54a1f5b0u - multiply_high(bits(x), 0x55555556u));
  F error = 1.0f - x * y * (y * y);
  y = fma(y, error * polynomial(error, 0x1.555556p-2f, 0x1.c71c72p-3f, 0x1.61f9aep-3f), y);
  F square = y * y;
  return improved_cbrt(x, x * square, square * 0x1.555556p-2f);
}
/// A second step, of third order, leads to 10^-14.
template <Float64 F>
ANABRANCH_MATH F cbrt_of_normal(F x) {
  F y = real<F>(0x553ef0ff289dd796ull - multiply_high(bits(x), 0x5555555555555556ull));
  F error = 1.0 - x * y * (y * y);
  y = fma(y, error * polynomial(error, 0x1.5555555555555p-2, 0x1.c71c71c71c71cp-3, 0x1.61f9add3c0ca4p-3), y);
  error = 1.0 - x * y * (y * y);
  y = fma(y, error * polynomial(error, 0x1.5555555555555p-2, 0x1.c71c71c71c71cp-3), y);
  F square = y * y;
  return improved_cbrt(x, x * square, square * 0x1.5555555555555p-2);
}

template <Float32 F>
ANABRANCH_MATH F cbrt(F x) {
  F magnitude = absolute(x);
  MaskOf<F> tiny = magnitude < 0x1p-60f;
  F root = cbrt_of_normal(select(tiny, magnitude * 0x1p60f, magnitude));
  root = select(tiny, root * 0x1p-20f, root);
  root = select(bits(magnitude) == 0x7f800000u, magnitude, root);
  return with_sign(root, x);
}
template <Float64 F>
ANABRANCH_MATH F cbrt(F x) {
  F magnitude = absolute(x);
  MaskOf<F> tiny = magnitude < 0x1p-900;
  F root = cbrt_of_normal(select(tiny, magnitude * 0x1p300, magnitude));
  root = select(tiny, root * 0x1p-100, root);
  root = select(bits(magnitude) == 0x7ff0000000000000ull, magnitude, root);
  return with_sign(root, x);
}

// Hypotenuse ------------------------------------------------------------------------------------------------

template <class F>
ANABRANCH_MATH Pair<F> sum_of_squares(F large, F small) {
  F a = large * large;
  F a_low = fma(large, large, -a);
  F b = small * small;
  F b_low = fma(small, small, -b);
  F sum = a + b;
  return {sum, ((a - sum) + b) + (a_low + b_low)};
}

/// The root of a sum that is 0 or far from the smallest numbers. What corrects it is divided by twice the
/// root: by a reciprocal that subtracted bits give to 5 per cent, a step of Newton to 0.3: the correction
/// is below an ulp.
template <Float32 F>
ANABRANCH_MATH F improved_sqrt(Pair<F> sum) {
  F root = sqrt(sum.high);
  F error = fma(-root, root, sum.high) + sum.low;
  F inverse = real<F>(0x7e7311c7u - bits(root));
  inverse = fma(inverse, fma(-root, inverse + inverse, constant(root, 1.0f)), inverse);
  return fma(error, inverse, root);
}
template <Float64 F>
ANABRANCH_MATH F improved_sqrt(Pair<F> sum) {
  F root = sqrt(sum.high);
  F error = fma(-root, root, sum.high) + sum.low;
  F inverse = real<F>(0x7fce6238502484baull - bits(root));
  inverse = fma(inverse, fma(-root, inverse + inverse, constant(root, 1.0)), inverse);
  return fma(error, inverse, root);
}

/// |x| and |y| by size; a NaN that is not the smaller is the larger.
template <class F>
struct Sides {
  F large;
  F small;
};
template <class F>
ANABRANCH_MATH Sides<F> sides_of(F x, F y) {
  F a = absolute(x);
  F b = absolute(y);
  MaskOf<F> second = a < b;
  return {select(second, b, a), select(second, a, b)};
}

/// Holds where squares neither overflow nor lack what counts. A larger NaN is not in the range.
template <Float32 F>
ANABRANCH_MATH Fast<F> hypot_fast(F x, F y) {
  Sides<F> s = sides_of(x, y);
  MaskOf<F> holds = (s.large >= 0x1p-40f) & (s.large <= 0x1p60f);
  return {improved_sqrt(sum_of_squares(s.large, s.small)), holds};
}
template <Float64 F>
ANABRANCH_MATH Fast<F> hypot_fast(F x, F y) {
  Sides<F> s = sides_of(x, y);
  MaskOf<F> holds = (s.large >= 0x1p-300) & (s.large <= 0x1p500);
  return {improved_sqrt(sum_of_squares(s.large, s.small)), holds};
}

/// Scaled where the fast path does not hold.
template <Float32 F>
ANABRANCH_MATH F hypot_full(F x, F y) {
  Sides<F> s = sides_of(x, y);
  F one = constant(x, 1.0f);
  F scale = select(s.large > 0x1p60f, 0x1p-80f, select(s.large < 0x1p-40f, 0x1p100f, one));
  F back = select(s.large > 0x1p60f, 0x1p80f, select(s.large < 0x1p-40f, 0x1p-100f, one));
  F root = improved_sqrt(sum_of_squares(s.large * scale, s.small * scale)) * back;
  MaskOf<F> infinite = (bits(s.large) == 0x7f800000u) | (bits(s.small) == 0x7f800000u);
  return select(infinite, real<F>((bits(x) & 0u) | 0x7f800000u), root);
}
template <Float64 F>
ANABRANCH_MATH F hypot_full(F x, F y) {
  Sides<F> s = sides_of(x, y);
  F one = constant(x, 1.0);
  F scale = select(s.large > 0x1p500, 0x1p-600, select(s.large < 0x1p-300, 0x1p700, one));
  F back = select(s.large > 0x1p500, 0x1p600, select(s.large < 0x1p-300, 0x1p-700, one));
  F root = improved_sqrt(sum_of_squares(s.large * scale, s.small * scale)) * back;
  MaskOf<F> infinite = (bits(s.large) == 0x7ff0000000000000ull) | (bits(s.small) == 0x7ff0000000000000ull);
  return select(infinite, real<F>((bits(x) & 0ull) | 0x7ff0000000000000ull), root);
}

// One value -------------------------------------------------------------------------------------------------

ANABRANCH_MATH float hypot(float x, float y) {
  const Fast<float> fast = hypot_fast(x, y);
  return fast.holds ? fast.value : hypot_full(x, y);
}
ANABRANCH_MATH double hypot(double x, double y) {
  const Fast<double> fast = hypot_fast(x, y);
  return fast.holds ? fast.value : hypot_full(x, y);
}

}  // namespace anabranch::math
