#pragma once
#include "pair.h"
#include "polynomial.h"
#include "sign.h"

/// asin, acos, atan, atan2: below 1 ulp. An odd polynomial gives the angle of a small argument as a float and
/// what it lacks; larger arguments are folded into a small one and a multiple of pi / 2. What the folding
/// rounds away (of the quotient, of the root) is kept and added late. The constants come from
/// derive/inverse_trigonometric.sollya.
namespace anabranch::math {

template <Float32 F>
ANABRANCH_MATH MaskOf<F> is_negative(F x) {
  return (bits(x) & 0x80000000u) != 0u;
}
template <Float64 F>
ANABRANCH_MATH MaskOf<F> is_negative(F x) {
  return (bits(x) & 0x8000000000000000ull) != 0ull;
}

/// What a multiple of the float pi / 2 lacks of that multiple of pi / 2.
template <Float32 F>
ANABRANCH_MATH F rest_of_angle(F angle) {
  return angle * -0x1.de12cap-26f;
}
template <Float64 F>
ANABRANCH_MATH F rest_of_angle(F angle) {
  return angle * 0x1.678afae35cdd1p-55;
}

/// base + angle, or base - angle where `sign` has the sign's bit. base.high + base.low is a multiple of the
/// float pi / 2; if it is not 0, it is not below the angle.
template <class F>
ANABRANCH_MATH F from_base(Pair<F> base, Pair<F> angle, BitsOf<F> sign) {
  F high = flipped(angle.high, sign);
  F sum = base.high + high;
  F error = (base.high - sum) + high;
  F rest = base.low + rest_of_angle(base.high);
  return sum + ((error + rest) + flipped(angle.low, sign));
}
template <class F>
ANABRANCH_MATH F from_base(F base, Pair<F> angle, BitsOf<F> sign) {
  F high = flipped(angle.high, sign);
  F sum = base + high;
  F error = (base - sum) + high;
  return sum + ((error + rest_of_angle(base)) + flipped(angle.low, sign));
}

// Arc tangent -----------------------------------------------------------------------------------------------

/// atan(q) = q + q z atan_tail(z), z = q^2, |q| up to tan(pi / 8).
template <Float32 F>
ANABRANCH_MATH F atan_tail(F z) {
  return polynomial(z, -0x1.55554ap-2f, 0x1.9991e4p-3f, -0x1.23b9dp-3f, 0x1.b226f2p-4f, -0x1.f2f1b6p-5f);
}
template <Float64 F>
ANABRANCH_MATH F atan_tail(F z) {
  return polynomial(z, -0x1.555555555553dp-2, 0x1.999999999585bp-3, -0x1.24924922acb78p-3,
                    0x1.c71c70e5b84a1p-4, -0x1.745cf8d0ca308p-4, 0x1.3b11183416505p-4, -0x1.10ebad12e245bp-4,
                    0x1.df0e9d906e09cp-5, -0x1.9ccf8630c4864p-5, 0x1.37cd21b9295e8p-5, -0x1.25570a177dfa8p-6);
}

/// The angle of a small quotient. Its low part counts by the slope, nearly 1 - z.
template <class F>
ANABRANCH_MATH Pair<F> atan_of(Pair<F> q) {
  F z = q.high * q.high;
  return {q.high, fma(q.high * z, atan_tail(z), fma(-z, q.low, q.low))};
}

/// Two numbers of which the angle atan(small / large) is asked, 0 <= small <= large, large > 0.
template <class F>
struct Slope {
  F small;
  F large;
};

/// The value, or 0.
template <Float32 F>
ANABRANCH_MATH F where(MaskOf<F> holds, F value) {
  return select(holds, value, 0.0f);
}
template <Float64 F>
ANABRANCH_MATH F where(MaskOf<F> holds, F value) {
  return select(holds, value, 0.0);
}

/// The quotient if it is at most tan(pi / 8). Else that of the angle less pi / 4: (small - large) / (small +
/// large).
template <class F>
ANABRANCH_MATH Pair<F> quotient_from_eighth(Slope<F> slope, MaskOf<F> diagonal) {
  F difference = slope.small - slope.large;
  F difference_low = slope.small - (difference + slope.large);
  F sum = slope.large + slope.small;
  F sum_low = slope.small - (sum - slope.large);
  F above = select(diagonal, difference, slope.small);
  F below = select(diagonal, sum, slope.large);
  F inverse = one_over(below);
  F q = above * inverse;
  F low = fma(-q, sum_low, difference_low);
  F missing = fma(-q, below, above) + where(diagonal, low);
  return {q, missing * inverse};
}

/// Whether the angle is measured from the diagonal, not from an axis.
template <Float32 F>
ANABRANCH_MATH MaskOf<F> is_diagonal(Slope<F> slope) {
  return slope.small > slope.large * 0x1.a8279ap-2f;
}
template <Float64 F>
ANABRANCH_MATH MaskOf<F> is_diagonal(Slope<F> slope) {
  return slope.small > slope.large * 0x1.a827999fcef32p-2;
}
template <Float32 F>
ANABRANCH_MATH F diagonal_angle(MaskOf<F> diagonal, F like) {
  return select(diagonal, 0x1.921fb6p-1f, constant(like, 0.0f));
}
template <Float64 F>
ANABRANCH_MATH F diagonal_angle(MaskOf<F> diagonal, F like) {
  return select(diagonal, 0x1.921fb54442d18p-1, constant(like, 0.0));
}

/// axis + the angle of the slope, or axis - that angle where `sign` has the sign's bit. The axis is 0, pi / 2
/// or pi.
template <class F>
ANABRANCH_MATH F angle_from_axis(F axis, Slope<F> slope, BitsOf<F> sign) {
  MaskOf<F> diagonal = is_diagonal(slope);
  F part = flipped(diagonal_angle(diagonal, axis), sign);
  F base = axis + part;
  Pair<F> exact_base = {base, (axis - base) + part};
  return from_base(exact_base, atan_of(quotient_from_eighth(slope, diagonal)), sign);
}

/// x above 1 has the slope 1 / x from the other axis; beyond 2^30 (2^60) its arc tangent is pi / 2. Both axes
/// have the same diagonal.
template <Float32 F>
ANABRANCH_MATH F atan(F x) {
  F magnitude = absolute(x);
  MaskOf<F> steep = magnitude > 1.0f;
  F bounded = select(magnitude > 0x1p30f, 0x1p30f, magnitude);
  Slope<F> slope = {select(steep, 1.0f, magnitude), select(steep, bounded, 1.0f)};
  MaskOf<F> diagonal = is_diagonal(slope);
  F axis = select(steep, 0x1.921fb6p0f, constant(x, 0.0f));
  F base = select(diagonal, 0x1.921fb6p-1f, axis);
  BitsOf<F> sign = select(steep, 0x80000000u, bits(x) & 0u);
  return flipped(from_base(base, atan_of(quotient_from_eighth(slope, diagonal)), sign), bits(x));
}
template <Float64 F>
ANABRANCH_MATH F atan(F x) {
  F magnitude = absolute(x);
  MaskOf<F> steep = magnitude > 1.0;
  F bounded = select(magnitude > 0x1p60, 0x1p60, magnitude);
  Slope<F> slope = {select(steep, 1.0, magnitude), select(steep, bounded, 1.0)};
  MaskOf<F> diagonal = is_diagonal(slope);
  F axis = select(steep, 0x1.921fb54442d18p0, constant(x, 0.0));
  F base = select(diagonal, 0x1.921fb54442d18p-1, axis);
  BitsOf<F> sign = select(steep, 0x8000000000000000ull, bits(x) & 0ull);
  return flipped(from_base(base, atan_of(quotient_from_eighth(slope, diagonal)), sign), bits(x));
}

/// small / large of magnitudes, scaled so that neither the reciprocal nor what the quotient lacks is
/// denormal. Infinity counts as 1 beside infinity, anything else as 0 beside it; 0 / 0 is 0.
template <Float32 F>
ANABRANCH_MATH Slope<F> scaled_slope(F small, F large) {
  MaskOf<F> infinite = bits(large) == 0x7f800000u;
  MaskOf<F> both = bits(small) == 0x7f800000u;
  small = select(both, 1.0f, select(infinite, 0.0f, small));
  large = select(infinite | (large == 0.0f), 1.0f, large);
  F scale = select(large < 0x1p40f, 0x1p80f, constant(large, 0x1p-30f));
  return {small * scale, large * scale};
}
template <Float64 F>
ANABRANCH_MATH Slope<F> scaled_slope(F small, F large) {
  MaskOf<F> infinite = bits(large) == 0x7ff0000000000000ull;
  MaskOf<F> both = bits(small) == 0x7ff0000000000000ull;
  small = select(both, 1.0, select(infinite, 0.0, small));
  large = select(infinite | (large == 0.0), 1.0, large);
  F scale = select(large < 0x1p300, 0x1p700, constant(large, 0x1p-200));
  return {small * scale, large * scale};
}

/// The half axis nearest to (x, y), by |y| > |x| and the sign of x.
template <Float32 F>
ANABRANCH_MATH F nearest_axis(MaskOf<F> steep, F x) {
  F flat = select(is_negative(x), 0x1.921fb6p1f, constant(x, 0.0f));
  return select(steep, 0x1.921fb6p0f, flat);
}
template <Float64 F>
ANABRANCH_MATH F nearest_axis(MaskOf<F> steep, F x) {
  F flat = select(is_negative(x), 0x1.921fb54442d18p1, constant(x, 0.0));
  return select(steep, 0x1.921fb54442d18p0, flat);
}

template <class F>
ANABRANCH_MATH F atan2(F y, F x) {
  F rise = absolute(y);
  F run = absolute(x);
  MaskOf<F> steep = rise > run;
  Slope<F> slope = scaled_slope(select(steep, run, rise), select(steep, rise, run));
  BitsOf<F> sign = select(steep, ~bits(x), bits(x));
  F angle = flipped(angle_from_axis(nearest_axis(steep, x), slope, sign), bits(y));
  return select((x == x) & (y == y), angle, x + y);
}

// Arc sine --------------------------------------------------------------------------------------------------

/// asin(y) = y + y z asin_tail(z), z = y^2, y up to 1/2.
template <Float32 F>
ANABRANCH_MATH F asin_tail(F z) {
  return polynomial(z, 0x1.5555c8p-3f, 0x1.330206p-4f, 0x1.747b72p-5f, 0x1.8c415ap-6f, 0x1.5959aap-5f);
}
template <Float64 F>
ANABRANCH_MATH F asin_tail(F z) {
  return polynomial(z, 0x1.555555555539p-3, 0x1.333333336e80fp-4, 0x1.6db6db427a4f8p-5, 0x1.f1c72c38fb342p-6,
                    0x1.6e89f440197a7p-6, 0x1.1c6be1a687738p-6, 0x1.c6fdc1aaa5332p-7, 0x1.8ec2fca60444ep-7,
                    0x1.abcf5cd7c4303p-8, 0x1.3ff4a990b2acep-6, -0x1.09d32833a132cp-6, 0x1.056d6c813a1d3p-5);
}

template <Float32 F>
ANABRANCH_MATH MaskOf<F> is_above_half(F magnitude) {
  return magnitude > 0.5f;
}
template <Float64 F>
ANABRANCH_MATH MaskOf<F> is_above_half(F magnitude) {
  return magnitude > 0.5;
}

/// The root of (1 - magnitude) / 2, which is exact here. NaN for magnitudes above 1.
template <Float32 F>
ANABRANCH_MATH Pair<F> root_for_asin(F half) {
  F root = sqrt(half);
  return {root, fma(-root, root, half) * (0.5f / (root + 0x1p-120f))};  // not 0 / 0
}
template <Float64 F>
ANABRANCH_MATH Pair<F> root_for_asin(F half) {
  F root = sqrt(half);
  return {root, fma(-root, root, half) * (0.5 / (root + 0x1p-1000))};
}

template <Float32 F>
ANABRANCH_MATH F half_complement(F magnitude) {
  return (1.0f - magnitude) * 0.5f;
}
template <Float64 F>
ANABRANCH_MATH F half_complement(F magnitude) {
  return (1.0 - magnitude) * 0.5;
}

/// asin(magnitude) up to 1/2; above, 2 asin(root((1 - magnitude) / 2)), which is the arc cosine.
template <class F>
ANABRANCH_MATH Pair<F> asin_or_acos(F magnitude, MaskOf<F> large) {
  F half = half_complement(magnitude);
  Pair<F> root = root_for_asin(half);
  F z = select(large, half, magnitude * magnitude);
  F y = select(large, root.high, magnitude);
  F low = y * z * asin_tail(z);
  F root_angle = low + root.low;
  return {select(large, y + y, y), select(large, root_angle + root_angle, low)};
}

template <Float32 F>
ANABRANCH_MATH F asin(F x) {
  F magnitude = absolute(x);
  MaskOf<F> large = is_above_half(magnitude);
  F base = select(large, 0x1.921fb6p0f, constant(x, 0.0f));
  BitsOf<F> sign = select(large, 0x80000000u, bits(x) & 0u);
  return flipped(from_base(base, asin_or_acos(magnitude, large), sign), bits(x));
}
template <Float64 F>
ANABRANCH_MATH F asin(F x) {
  F magnitude = absolute(x);
  MaskOf<F> large = is_above_half(magnitude);
  F base = select(large, 0x1.921fb54442d18p0, constant(x, 0.0));
  BitsOf<F> sign = select(large, 0x8000000000000000ull, bits(x) & 0ull);
  return flipped(from_base(base, asin_or_acos(magnitude, large), sign), bits(x));
}

template <Float32 F>
ANABRANCH_MATH F acos(F x) {
  F magnitude = absolute(x);
  MaskOf<F> large = is_above_half(magnitude);
  F base = select(is_negative(x), 0x1.921fb6p1f, constant(x, 0.0f));
  base = select(large, base, 0x1.921fb6p0f);
  return from_base(base, asin_or_acos(magnitude, large), select(large, bits(x), ~bits(x)));
}
template <Float64 F>
ANABRANCH_MATH F acos(F x) {
  F magnitude = absolute(x);
  MaskOf<F> large = is_above_half(magnitude);
  F base = select(is_negative(x), 0x1.921fb54442d18p1, constant(x, 0.0));
  base = select(large, base, 0x1.921fb54442d18p0);
  return from_base(base, asin_or_acos(magnitude, large), select(large, bits(x), ~bits(x)));
}

}  // namespace anabranch::math
