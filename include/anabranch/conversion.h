#pragma once

#include <limits>

#include <anabranch/detail/terms.h>

/// Conversions besides cast<U>(x): by bytes, and to the nearest number that there is.
namespace anabranch {

/// The bytes of a number as a number of type U, of the same size: bitcast<int32_t>(1.0F) is 0x3f800000. There
/// is one NaN: as an integer every NaN has the same bits, the positive quiet one's.
template <IsScalar U, IsScalar T>
Exp<U> bitcast(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  constexpr bool numbers = detail::NumberElement<U> && detail::NumberElement<T>;
  static_assert(numbers, "anabranch: bitcast takes and gives numbers; cast<T>(x) converts from and to bool");
  static_assert(!numbers || sizeof(U) == sizeof(T),
                "anabranch: bitcast keeps the bytes, so both types have to be of one size; cast<T>(x) "
                "converts the number");
  if constexpr (numbers && sizeof(U) == sizeof(T))
    return {detail::FromHandle{}, detail::bitcast(detail::scalar_type<U>, x.handle(), at)};
  else
    return {detail::FromHandle{}, {}};
}

/// The nearest number of the integer type U: narrow<uint8_t>(300) is 255, where cast gives 44. Floats are
/// truncated and a NaN gives 0, as by cast.
template <IsScalar U, IsScalar T>
Exp<U> narrow(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  constexpr bool to_integer = detail::IntegerElement<U>;
  static_assert(to_integer,
                "anabranch: narrow gives an integer; cast<T>(x) rounds to a float, and x != 0 gives a bool");
  static_assert(!to_integer || detail::NumberElement<T>,
                "anabranch: narrow takes a number; cast<T>(x) converts a bool");
  if constexpr (detail::IntegerElement<T> && to_integer) {
    using P = detail::Primitive;
    constexpr T least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
    Exp<T> inside = x;
    if constexpr (!detail::in_range<U>(least))
      inside =
          detail::binary(P::maximum, inside, Exp<T>(static_cast<T>(std::numeric_limits<U>::min()), at), at);
    if constexpr (!detail::in_range<U>(greatest))
      inside =
          detail::binary(P::minimum, inside, Exp<T>(static_cast<T>(std::numeric_limits<U>::max()), at), at);
    return cast<U>(inside, at);
  } else {
    return cast<U>(x, at);
  }
}

}  // namespace anabranch
