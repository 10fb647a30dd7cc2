#pragma once

#include <anabranch/exp.h>

/// Mathematical functions of floats. On every machine they give the same bits (payloads of NaNs aside): each
/// is a recipe of operations that IEEE 754 rounds exactly, the same for every vector width, processor and
/// GPU. None is off by more than 1 unit in the last place; docs/mathematics.md has the measured maximum of
/// each, and what they give for special operands, which is what C++'s functions of these names give. sqrt is
/// exactly rounded. There is no "fast" variant. A NaN gives a NaN (hypot of an infinity and a NaN, pow of 1
/// and a NaN, and pow of a NaN and 0 are as in C++).
namespace anabranch {

/// Exactly rounded.
template <detail::FloatElement T>
Exp<T> sqrt(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::square_root, x, at);
}
/// e^x.
template <detail::FloatElement T>
Exp<T> exp(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::exp, x, at);
}
/// 2^x.
template <detail::FloatElement T>
Exp<T> exp2(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::exp2, x, at);
}
/// The natural logarithm. Of 0: -infinity; of less: NaN (so are all logarithms).
template <detail::FloatElement T>
Exp<T> log(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::log, x, at);
}
/// The logarithm to base 2; exact for powers of two.
template <detail::FloatElement T>
Exp<T> log2(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::log2, x, at);
}
/// The logarithm to base 10.
template <detail::FloatElement T>
Exp<T> log10(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::log10, x, at);
}
/// x in radians, of any size; of infinities NaN.
template <detail::FloatElement T>
Exp<T> sin(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::sin, x, at);
}
/// x in radians, of any size; of infinities NaN.
template <detail::FloatElement T>
Exp<T> cos(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::cos, x, at);
}
/// x in radians, of any size; of infinities NaN.
template <detail::FloatElement T>
Exp<T> tan(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::tan, x, at);
}
/// In [-pi/2, pi/2]; NaN outside of [-1, 1].
template <detail::FloatElement T>
Exp<T> asin(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::asin, x, at);
}
/// In [0, pi]; NaN outside of [-1, 1].
template <detail::FloatElement T>
Exp<T> acos(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::acos, x, at);
}
/// In [-pi/2, pi/2].
template <detail::FloatElement T>
Exp<T> atan(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::atan, x, at);
}
template <detail::FloatElement T>
Exp<T> sinh(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::sinh, x, at);
}
template <detail::FloatElement T>
Exp<T> cosh(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::cosh, x, at);
}
template <detail::FloatElement T>
Exp<T> tanh(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::tanh, x, at);
}
template <detail::FloatElement T>
Exp<T> asinh(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::asinh, x, at);
}
/// NaN below 1.
template <detail::FloatElement T>
Exp<T> acosh(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::acosh, x, at);
}
/// Of 1 and -1 the infinities; NaN outside of [-1, 1].
template <detail::FloatElement T>
Exp<T> atanh(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::atanh, x, at);
}
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
template <detail::FloatElement T>
Exp<T> erf(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::erf, x, at);
}
/// The cube root, also of negative numbers.
template <detail::FloatElement T>
Exp<T> cbrt(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::cbrt, x, at);
}
/// 1 / sqrt(x).
template <detail::FloatElement T>
Exp<T> rsqrt(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::rsqrt, x, at);
}

/// x^y. Of a negative x and a y that is no integer: NaN.
template <detail::FloatElement T>
Exp<T> pow(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::primitive(detail::Primitive::pow, {x.handle(), y.handle()}, at)};
}
template <detail::FloatElement T>
Exp<T> pow(const Exp<T>& x, const std::type_identity_t<Located<T>>& y) {
  return pow(x, y.value(), y.place());
}
template <detail::FloatElement T>
Exp<T> pow(const std::type_identity_t<Located<T>>& x, const Exp<T>& y) {
  return pow(x.value(), y, x.place());
}

/// The angle of the point (x, y), in [-pi, pi].
template <detail::FloatElement T>
Exp<T> atan2(const Exp<T>& y, const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::primitive(detail::Primitive::atan2, {y.handle(), x.handle()}, at)};
}
template <detail::FloatElement T>
Exp<T> atan2(const Exp<T>& y, const std::type_identity_t<Located<T>>& x) {
  return atan2(y, x.value(), x.place());
}
template <detail::FloatElement T>
Exp<T> atan2(const std::type_identity_t<Located<T>>& y, const Exp<T>& x) {
  return atan2(y.value(), x, y.place());
}

/// sqrt(x^2 + y^2), without overflow on the way.
template <detail::FloatElement T>
Exp<T> hypot(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::primitive(detail::Primitive::hypot, {x.handle(), y.handle()}, at)};
}
template <detail::FloatElement T>
Exp<T> hypot(const Exp<T>& x, const std::type_identity_t<Located<T>>& y) {
  return hypot(x, y.value(), y.place());
}
template <detail::FloatElement T>
Exp<T> hypot(const std::type_identity_t<Located<T>>& x, const Exp<T>& y) {
  return hypot(x.value(), y, x.place());
}

}  // namespace anabranch
