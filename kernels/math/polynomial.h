#pragma once
#include "machine.h"

namespace anabranch::math {

/// A literal as a value, where an operation takes one literal only. Costs nothing: compilers fold it.
template <Float32 F>
ANABRANCH_MATH F constant(F like, float c) {
  return real<F>((bits(like) & 0u) | bits(c));
}
template <Float64 F>
ANABRANCH_MATH F constant(F like, double c) {
  return real<F>((bits(like) & 0ull) | bits(c));
}

template <Float32 F>
ANABRANCH_MATH F one_over(F x) {
  return 1.0f / x;
}
template <Float64 F>
ANABRANCH_MATH F one_over(F x) {
  return 1.0 / x;
}

/// c0 + z (c1 + z (c2 + ...)) of literals.
template <class F, class C>
ANABRANCH_MATH F polynomial(F z, C c0, C c1) {
  return fma(c1, z, c0);
}
template <class F, class C, class... Cs>
ANABRANCH_MATH F polynomial(F z, C c0, C c1, C c2, Cs... more) {
  return fma(polynomial(z, c1, c2, more...), z, c0);
}

}  // namespace anabranch::math
