#pragma once
#include "angle_reduction.h"
#include "polynomial.h"
#include "sign.h"

/// sin, cos, tan: below 1 ulp. Short polynomials of the reduced angle, whose constants come from
/// derive/trigonometric.sollya. The fast paths are for angles that are not large.
namespace anabranch::math {

// Within pi / 4 ---------------------------------------------------------------------------------------------

/// The square of high + low.
template <class F>
ANABRANCH_MATH F square_of(ReducedAngle<F> angle) {
  return fma(angle.high, angle.high, (angle.high + angle.high) * angle.low);
}

/// sin(r) = r + r z sine_tail(z) and cos(r) = 1 - z / 2 + z^2 cosine_tail(z), z being the square of r.
template <Float32 F>
ANABRANCH_MATH F sine_tail(F z) {
  return polynomial(z, -0x1.555544p-3f, 0x1.1106dcp-7f, -0x1.99279p-13f);
}
template <Float64 F>
ANABRANCH_MATH F sine_tail(F z) {
  return polynomial(z, -0x1.5555555555548p-3, 0x1.111111110f76p-7, -0x1.a01a019bf2b7dp-13,
                    0x1.71de355fa4c72p-19, -0x1.ae5e550039428p-26, 0x1.5d8e624f8bcbap-33);
}
template <Float32 F>
ANABRANCH_MATH F cosine_tail(F z) {
  return polynomial(z, 0x1.55554ap-5f, -0x1.6c0c22p-10f, 0x1.99e52cp-16f);
}
template <Float64 F>
ANABRANCH_MATH F cosine_tail(F z) {
  return polynomial(z, 0x1.555555555554bp-5, -0x1.6c16c16c15018p-10, 0x1.a01a019c8f944p-16,
                    -0x1.27e4f7f1ee757p-22, 0x1.1ee9dc12a7aafp-29, -0x1.8fa6a88f8de3fp-37);
}

template <Float32 F>
ANABRANCH_MATH F cosine_of_square(F z) {
  return fma(fma(cosine_tail(z), z, -0.5f), z, 1.0f);
}
template <Float64 F>
ANABRANCH_MATH F cosine_of_square(F z) {
  return fma(fma(cosine_tail(z), z, -0.5), z, 1.0);
}

/// Whether the number of quadrants is odd.
template <Float32 F>
ANABRANCH_MATH MaskOf<F> is_odd(BitsOf<F> quadrants) {
  return (quadrants & 1u) != 0u;
}
template <Float64 F>
ANABRANCH_MATH MaskOf<F> is_odd(BitsOf<F> quadrants) {
  return (quadrants & 1ull) != 0ull;
}

/// The next number of quadrants.
template <Float32 F>
ANABRANCH_MATH BitsOf<F> next_quadrant(BitsOf<F> quadrants) {
  return quadrants + 1u;
}
template <Float64 F>
ANABRANCH_MATH BitsOf<F> next_quadrant(BitsOf<F> quadrants) {
  return quadrants + 1ull;
}

/// The value negated where the number of half turns is odd and where `sign` has the sign's bit, by both not
/// at all.
template <Float32 F>
ANABRANCH_MATH F with_signs(F value, BitsOf<F> quadrants, BitsOf<F> sign) {
  return flipped(value, (quadrants << 30) ^ sign);
}
template <Float64 F>
ANABRANCH_MATH F with_signs(F value, BitsOf<F> quadrants, BitsOf<F> sign) {
  return flipped(value, (quadrants << 62) ^ sign);
}
template <Float32 F>
ANABRANCH_MATH F with_signs(F value, BitsOf<F> quadrants) {
  return flipped(value, quadrants << 30);
}
template <Float64 F>
ANABRANCH_MATH F with_signs(F value, BitsOf<F> quadrants) {
  return flipped(value, quadrants << 62);
}

/// The sine of the angle, or its negative: of high + low and an even or odd number of quadrants.
template <class F>
ANABRANCH_MATH F unsigned_sine(ReducedAngle<F> angle) {
  F z = square_of(angle);
  F sine = angle.high + fma(angle.high * z, sine_tail(z), angle.low);
  return select(is_odd<F>(angle.quadrants), cosine_of_square(z), sine);
}

/// The sine of an angle, negated where `sign` has the sign's bit.
template <class F>
ANABRANCH_MATH F sine_of(ReducedAngle<F> angle, BitsOf<F> sign) {
  return with_signs<F>(unsigned_sine(angle), angle.quadrants, sign);
}
/// The cosine: the sine, a quadrant further.
template <class F>
ANABRANCH_MATH F cosine_of(ReducedAngle<F> angle) {
  angle.quadrants = next_quadrant<F>(angle.quadrants);
  return with_signs<F>(unsigned_sine(angle), angle.quadrants);
}

template <Float32 F>
ANABRANCH_MATH F halved(F x) {
  return x * 0.5f;
}
template <Float64 F>
ANABRANCH_MATH F halved(F x) {
  return x * 0.5;
}
template <Float32 F>
ANABRANCH_MATH F one_less(F x) {
  return 1.0f - x;
}
template <Float64 F>
ANABRANCH_MATH F one_less(F x) {
  return 1.0 - x;
}

/// Sine and cosine of high + low, each as a sum.
template <class F>
struct SineAndCosine {
  F sine;
  F sine_low;
  F cosine;
  F cosine_low;
};
template <class F>
ANABRANCH_MATH SineAndCosine<F> sine_and_cosine(ReducedAngle<F> angle) {
  F r = angle.high;
  F z = r * r;
  F z_low = fma(r, r, -z) + (r + r) * angle.low;
  F half = halved(z);
  F most = one_less(half);
  F tail = fma(r * z, sine_tail(z), angle.low * most);
  F sine = r + tail;
  F rest = fma(z * z, cosine_tail(z), -halved(z_low));
  F cosine = most + rest;
  F cosine_low = ((most - cosine) + rest) + (one_less(most) - half);
  return {sine, (r - sine) + tail, cosine, cosine_low};
}

/// The tangent of an angle, negated where `sign` has the sign's bit: the quotient, with what its rounding
/// lacks.
template <class F>
ANABRANCH_MATH F tangent_of(ReducedAngle<F> angle, BitsOf<F> sign) {
  SineAndCosine<F> both = sine_and_cosine(angle);
  MaskOf<F> odd = is_odd<F>(angle.quadrants);
  F above = select(odd, both.cosine, both.sine);
  F above_low = select(odd, both.cosine_low, both.sine_low);
  F below = select(odd, both.sine, both.cosine);
  F below_low = select(odd, both.sine_low, both.cosine_low);
  F inverse = one_over(below);
  F q = above * inverse;
  F missing = fma(-q, below, above) + fma(-q, below_low, above_low);
  return with_signs<F>(fma(missing, inverse, q), angle.quadrants + angle.quadrants, sign);
}

/// The value, NaN where x is infinite or NaN.
template <class F>
ANABRANCH_MATH F where_finite(F value, F x) {
  F rest = x - x;
  return select(rest == rest, value, rest);
}

// The functions ---------------------------------------------------------------------------------------------

template <class F>
ANABRANCH_MATH Fast<F> sin_fast(F x) {
  F magnitude = absolute(x);
  return {sine_of(reduce_near(magnitude), bits(x)), is_near(magnitude)};
}
template <class F>
ANABRANCH_MATH F sin_full(F x) {
  return where_finite(sine_of(reduce(absolute(x)), bits(x)), x);
}

template <class F>
ANABRANCH_MATH Fast<F> cos_fast(F x) {
  F magnitude = absolute(x);
  return {cosine_of(reduce_near(magnitude)), is_near(magnitude)};
}
template <class F>
ANABRANCH_MATH F cos_full(F x) {
  return where_finite(cosine_of(reduce(absolute(x))), x);
}

template <class F>
ANABRANCH_MATH Fast<F> tan_fast(F x) {
  F magnitude = absolute(x);
  return {tangent_of(reduce_near(magnitude), bits(x)), is_near(magnitude)};
}
template <class F>
ANABRANCH_MATH F tan_full(F x) {
  return where_finite(tangent_of(reduce(absolute(x)), bits(x)), x);
}

// One value
ANABRANCH_MATH float sin(float x) {
  Fast<float> fast = sin_fast(x);
  return fast.holds ? fast.value : sin_full(x);
}
ANABRANCH_MATH double sin(double x) {
  Fast<double> fast = sin_fast(x);
  return fast.holds ? fast.value : sin_full(x);
}
ANABRANCH_MATH float cos(float x) {
  Fast<float> fast = cos_fast(x);
  return fast.holds ? fast.value : cos_full(x);
}
ANABRANCH_MATH double cos(double x) {
  Fast<double> fast = cos_fast(x);
  return fast.holds ? fast.value : cos_full(x);
}

ANABRANCH_MATH float tan(float x) {
  Fast<float> fast = tan_fast(x);
  return fast.holds ? fast.value : tan_full(x);
}
ANABRANCH_MATH double tan(double x) {
  Fast<double> fast = tan_fast(x);
  return fast.holds ? fast.value : tan_full(x);
}

}  // namespace anabranch::math
