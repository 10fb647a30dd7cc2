#pragma once
#include "machine.h"

namespace anabranch::math {

/// c0 + z (c1 + z (c2 + ...)) of literals. The innermost step takes two roundings: an operation has one literal at most.
template <class F, class C>
ANABRANCH_MATH F polynomial(F z, C c0, C c1) {
  return z * c1 + c0;
}
template <class F, class C, class... Cs>
ANABRANCH_MATH F polynomial(F z, C c0, C c1, C c2, Cs... more) {
  return fma(polynomial(z, c1, c2, more...), z, c0);
}

}  // namespace anabranch::math
