#pragma once
#include "exponential.h"
#include "polynomial.h"
#include "sign.h"

/// erf: up to 0.8 x + x E(x^2); above, 1 - e^G(x), where G(x) is the logarithm of 1 - erf(x). The constants
/// come from derive/error_function.sollya and derive/error_function.py. Of double, most coefficients count so
/// little that those of even and of odd powers are summed apart: two short chains of operations, not a long one.
namespace anabranch::math {

template <Float32 F>
ANABRANCH_MATH F erf_near_0(F x) {
  F tail = polynomial(x * x, 0x1.06eba8p-3f, -0x1.812734p-2f, 0x1.ce2904p-4f, -0x1.b77e16p-6f, 0x1.4da856p-8f,
                      -0x1.5884e6p-11f);
  return fma(x, tail, x);
}
template <Float64 F>
ANABRANCH_MATH F erf_near_0(F x) {
  F z = x * x;
  F w = z * z;
  F even = polynomial(w, 0x1.ce2f21a043ed3p-4, 0x1.565bcd1c7261cp-8, 0x1.f9a37e04222f2p-14,
                      0x1.ba42d23589318p-20, 0x1.08ebaee022228p-26);
  F odd = polynomial(w, -0x1.b82ce312e04c3p-6, -0x1.c02db6bc6cbb5p-11, -0x1.f4d95e45e7eb8p-17,
                     -0x1.62440b7063cf7p-23, -0x1.4f1816a618a1fp-30);
  F tail = fma(z, fma(z, fma(z, odd, even), -0x1.812746b037a05p-2), 0x1.06eba8214db69p-3);
  return fma(x, tail, x);
}

/// 1 - e^(high + low), high from -37 to -1. The power of two is not added to the exponential but subtracted
/// from 1, which is exact.
template <Float32 F>
ANABRANCH_MATH F one_less_exp(F high, F low) {
  F shifted = fma(0x1.715476p+0f, high, 0x1.8p23f);
  F n = shifted - 0x1.8p23f;
  F r = fma(-0x1.7f7d1cp-20f, n, fma(-0x1.62e4p-1f, n, high)) + low;
  F power = real<F>((bits(shifted) << 23) + 0x3f800000u);
  return fma(-power, fma(r * r, exp_tail(r), r), 1.0f - power);
}
template <Float64 F>
ANABRANCH_MATH F one_less_exp(F high, F low) {
  F shifted = fma(0x1.71547652b82fep+0, high, 0x1.8p52);
  F n = shifted - 0x1.8p52;
  F r = fma(-0x1.ef35793c7673p-45, n, fma(-0x1.62e42fefa38p-1, n, high)) + low;
  F power = real<F>((bits(shifted) << 52) + 0x3ff0000000000000ull);
  return fma(-power, fma(r * r, exp_tail(r), r), 1.0 - power);
}

/// From 3.93 (5.93) on, the nearest number is 1. G(x) = c0 + x times a polynomial; c0 is small.
template <Float32 F>
ANABRANCH_MATH F erf_far_from_0(F x) {
  F bounded = select(x > 3.93f, 3.93f, x);
  F factor = polynomial(bounded, -0x1.20d2bcp+0f, -0x1.45c20ep-1f, -0x1.ad29cap-4f, 0x1.730342p-6f,
                        -0x1.9cf6ep-9f, 0x1.b26bc4p-13f);
  F high = factor * bounded;
  return one_less_exp(high, fma(factor, bounded, -high) - 0x1.21307ap-14f);
}
template <Float64 F>
ANABRANCH_MATH F erf_far_from_0(F x) {
  F bounded = select(x > 5.93, 5.93, x);
  F w = bounded * bounded;
  F odd = polynomial(w, 0x1.3955565ce3a07p-6, -0x1.baf553ef1f185p-10, 0x1.51af5c8252386p-18,
                     0x1.e2ff25c7c2115p-15, 0x1.76f2e354c2b12p-18, 0x1.716464cfbb26dp-23,
                     0x1.9f799d26a1251p-30, 0x1.d7f83b6477912p-40);
  F even = polynomial(w, 0x1.baf2fb4179d84p-13, 0x1.2b17856302117p-11, -0x1.9c89f282e604ap-14,
                      -0x1.60174df3084ap-16, -0x1.2e99a02bb8499p-20, -0x1.4c0472e2fb46ep-26,
                      -0x1.437c594910823p-34);
  F factor = fma(bounded, fma(bounded, even, odd), -0x1.a4f2159d328ep-4);
  factor = fma(bounded, fma(bounded, factor, -0x1.45f32839570c9p-1), -0x1.20dd717d83e7dp+0);
  F high = factor * bounded;
  return one_less_exp(high, fma(factor, bounded, -high) - 0x1.5317584a7879dp-26);
}

template <Float32 F>
ANABRANCH_MATH F erf(F x) {
  F magnitude = absolute(x);
  F value = select(magnitude > 0.8f, erf_far_from_0(magnitude), erf_near_0(magnitude));
  return with_sign(value, x);
}
template <Float64 F>
ANABRANCH_MATH F erf(F x) {
  F magnitude = absolute(x);
  F value = select(magnitude > 0.8, erf_far_from_0(magnitude), erf_near_0(magnitude));
  return with_sign(value, x);
}

}  // namespace anabranch::math
