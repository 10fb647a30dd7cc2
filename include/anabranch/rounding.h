#pragma once

#include <limits>

#include <anabranch/detail/terms.h>

/// Floats rounded to integers, and what kind of number one is. All are exact. A result of 0 has the sign of
/// the operand; infinities and NaN are themselves. To get an integer type: cast<int32_t>(floor(x)).
namespace anabranch {

/// The greatest integer that is not above x.
template <detail::FloatElement T>
Exp<T> floor(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::floor, x, at);
}
/// The least integer that is not below x.
template <detail::FloatElement T>
Exp<T> ceil(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::ceiling, x, at);
}
/// The nearest integer; of two equally near the one away from zero, as std::round.
template <detail::FloatElement T>
Exp<T> round(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::round, x, at);
}
/// x without its fraction.
template <detail::FloatElement T>
Exp<T> trunc(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::truncate, x, at);
}

template <detail::FloatElement T>
Exp<bool> is_nan(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::compared(detail::Primitive::not_equal, x, x, at);
}
/// Is x one of the two infinities?
template <detail::FloatElement T>
Exp<bool> is_inf(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  const Exp<T> infinity(std::numeric_limits<T>::infinity(), at);
  return detail::compared(detail::Primitive::equal, abs(x, at), infinity, at);
}

/// x with the sign of y, also where y is -0. The sign of a NaN counts as plus.
template <detail::FloatElement T>
Exp<T> copysign(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  return detail::binary(detail::Primitive::copy_sign, x, y, at);
}
ANABRANCH_OR_A_LITERAL(copysign, detail::FloatElement)

}  // namespace anabranch
