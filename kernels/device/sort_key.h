#pragma once

#include "device/operators.h"

/// What makes a bit pattern a key of a radix sort: an unsigned number in the order of the values. The host's sorts and
/// the GPU's have it from here.
namespace anabranch::device {

template <class U>
struct SortKey {
  Element::Kind kind;
  U infinity = 0;  ///< floating

  static constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));

  /// Values that are equal have equal bits but for the NaNs. Those of either sign come last: reversible.
  ANABRANCH_BOTH constexpr U operator()(U bits) const {
    if (kind == Element::Kind::unsigned_integer) return bits;
    if (kind == Element::Kind::signed_integer) return static_cast<U>(bits ^ sign);
    return static_cast<U>(((bits & sign) != 0 ? static_cast<U>(~bits) : static_cast<U>(bits | sign)) -
                          negative_nans());
  }
  ANABRANCH_BOTH constexpr U value_of(U key) const {
    if (kind == Element::Kind::unsigned_integer) return key;
    if (kind == Element::Kind::signed_integer) return static_cast<U>(key ^ sign);
    const U bits = static_cast<U>(key + negative_nans());
    return (bits & sign) != 0 ? static_cast<U>(bits ^ sign) : static_cast<U>(~bits);
  }
  /// The same key for all NaNs.
  ANABRANCH_BOTH constexpr U joining_nans(U bits) const {
    const bool nan = kind == Element::Kind::floating && static_cast<U>(bits & ~sign) > infinity;
    return nan ? static_cast<U>(~U{0}) : (*this)(bits);
  }

 private:
  /// How many bit patterns come before that of minus infinity.
  ANABRANCH_BOTH constexpr U negative_nans() const {
    return static_cast<U>(~static_cast<U>(infinity | sign));
  }
};

template <class U>
constexpr SortKey<U> sort_key(Element::Kind kind) {
  if (kind != Element::Kind::floating) return {kind};
  return {kind, static_cast<U>(sizeof(U) == 2 ? 0x7c00 : sizeof(U) == 4 ? 0x7f800000 : 0x7ff0000000000000)};
}

}  // namespace anabranch::device
