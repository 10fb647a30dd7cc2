#pragma once
#include "machine.h"

namespace anabranch::math {

/// The sign of x for a value that has none.
template <Float32 F>
ANABRANCH_MATH F with_sign(F value, F x) {
  return real<F>(bits(value) | (bits(x) & 0x80000000u));
}
template <Float64 F>
ANABRANCH_MATH F with_sign(F value, F x) {
  return real<F>(bits(value) | (bits(x) & 0x8000000000000000ull));
}

/// The value negated where `sign` has the sign's bit.
template <Float32 F>
ANABRANCH_MATH F flipped(F value, BitsOf<F> sign) {
  return real<F>(bits(value) ^ (sign & 0x80000000u));
}
template <Float64 F>
ANABRANCH_MATH F flipped(F value, BitsOf<F> sign) {
  return real<F>(bits(value) ^ (sign & 0x8000000000000000ull));
}

/// Positive, normal and finite.
template <Float32 F>
ANABRANCH_MATH MaskOf<F> is_positive_normal(F x) {
  return bits(x) - 0x00800000u < 0x7f000000u;
}
template <Float64 F>
ANABRANCH_MATH MaskOf<F> is_positive_normal(F x) {
  return bits(x) - 0x0010000000000000ull < 0x7fe0000000000000ull;
}

}  // namespace anabranch::math
