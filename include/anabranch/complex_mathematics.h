#pragma once

#include <limits>

#include <anabranch/complex.h>
#include <anabranch/mathematics.h>
#include <anabranch/rounding.h>

/// Mathematical functions of complex numbers, written in the language over the real ones, so with the same
/// bits everywhere. Each is within some units in the last place of the result's absolute value (a part that
/// is much smaller than the other may be less exact); results in range do not overflow on the way, but for
/// exp, sin and cos beyond exp's own range. Zeros keep their signs, which choose the side of the cut along
/// the negative real numbers.
namespace anabranch {

namespace detail {

template <class T>
concept ComplexPart = FloatElement<T> && is_complex<std::complex<T>>;

/// x y, rounded on its own: a sum with it is not contracted.
template <FloatElement T>
Exp<T> rounded_product(const Exp<T>& x, const Exp<T>& y, std::source_location at) {
  return fma(x, y, Exp<T>(T(-0.0), at), at);
}

}  // namespace detail

/// The absolute value: hypot of the parts.
template <detail::ComplexPart T>
Exp<T> abs(const Exp<std::complex<T>>& z, std::source_location at = std::source_location::current()) {
  return hypot(get<0>(z, at), get<1>(z, at), at);
}
/// The angle from the positive real numbers, in [-pi, pi].
template <detail::ComplexPart T>
Exp<T> arg(const Exp<std::complex<T>>& z, std::source_location at = std::source_location::current()) {
  return atan2(get<1>(z, at), get<0>(z, at), at);
}

/// The complex number of this absolute value and angle; a plain number may stand for one of them.
template <detail::ComplexPart T>
Exp<std::complex<T>> polar(const Exp<T>& size, const Exp<T>& angle,
                           std::source_location at = std::source_location::current()) {
  return detail::complex_of(detail::rounded_product(size, cos(angle, at), at),
                            detail::rounded_product(size, sin(angle, at), at), at);
}
template <detail::ComplexPart T>
Exp<std::complex<T>> polar(const Exp<T>& size, const std::type_identity_t<Located<T>>& angle) {
  return polar(size, angle.value(), angle.place());
}
template <detail::ComplexPart T>
Exp<std::complex<T>> polar(const std::type_identity_t<Located<T>>& size, const Exp<T>& angle) {
  return polar(size.value(), angle, size.place());
}

/// e^z: polar(exp(real(z)), imag(z)), with no imaginary part where z has none.
template <detail::ComplexPart T>
Exp<std::complex<T>> exp(const Exp<std::complex<T>>& z,
                         std::source_location at = std::source_location::current()) {
  const detail::ComplexParts<T> a(z.handle(), at);
  const Exp<T> size = exp(a.re, at);
  return detail::complex_of(detail::rounded_product(size, cos(a.im, at), at),
                            cond(a.im == T(0), a.im, detail::rounded_product(size, sin(a.im, at), at), at),
                            at);
}

/// The logarithm whose imaginary part is arg(z); of 0 its real part is -infinity. Near 1, too, it loses
/// nothing.
template <detail::ComplexPart T>
Exp<std::complex<T>> log(const Exp<std::complex<T>>& z,
                         std::source_location at = std::source_location::current()) {
  const detail::ComplexParts<T> a(z.handle(), at);
  const Exp<T> re = abs(a.re, at), im = abs(a.im, at);
  const Exp<T> larger = max(re, im, at), smaller = min(re, im, at);
  // |z|^2 is 1 + u, or larger^2 (1 + u); log(1 + u) / 2 is atanh(u / (2 + u)).
  const Exp<bool> near = larger >= T(0.5) && larger <= T(2);
  const Exp<T> ratio = smaller / larger;
  const Exp<T> square = cond(larger == T(0) || is_inf(larger, at), T(0), ratio * ratio, at);
  const Exp<T> u = cond(near, fma(larger - T(1), larger + T(1), smaller * smaller, at), square, at);
  const Exp<T> rest = atanh(u / (u + T(2)), at);
  return detail::complex_of(cond(near, rest, log(larger, at) + rest, at), arg(z, at), at);
}

/// The root whose real part is not negative.
template <detail::ComplexPart T>
Exp<std::complex<T>> sqrt(const Exp<std::complex<T>>& z,
                          std::source_location at = std::source_location::current()) {
  using Limits = std::numeric_limits<T>;
  constexpr T tiny = Limits::min() / Limits::epsilon(), huge = Limits::max() / 4;
  constexpr T up = sizeof(T) == 4 ? T(0x1p24) : T(0x1p54), up_root = sizeof(T) == 4 ? T(0x1p12) : T(0x1p27);
  const detail::ComplexParts<T> a(z.handle(), at);
  const Exp<T> larger = max(abs(a.re, at), abs(a.im, at), at);
  // Scaled by an even power of two, so that |z| has all its places and does not overflow.
  const Exp<bool> is_huge = larger > huge, is_tiny = larger < tiny;
  const Exp<T> scale = cond(is_huge, T(0.25), cond(is_tiny, Exp<T>(up, at), T(1), at), at);
  const Exp<T> back = cond(is_huge, T(2), cond(is_tiny, Exp<T>(1 / up_root, at), T(1), at), at);
  const Exp<T> re = a.re * scale, im = a.im * scale;
  const Exp<T> first = sqrt((abs(re, at) + hypot(re, im, at)) * T(0.5), at);
  const Exp<T> other = cond(first == T(0), abs(im, at), abs(im, at) / (first * T(2)), at);
  const Exp<bool> right = a.re >= T(0);
  const Exp<T> root_re = cond(right, first, other, at) * back;
  const Exp<T> root_im = copysign(cond(right, other, first, at) * back, a.im, at);
  const Exp<bool> infinite = is_inf(a.im, at);
  return detail::complex_of(cond(infinite, abs(a.im, at), root_re, at), cond(infinite, a.im, root_im, at),
                            at);
}

/// sin a cosh b + i cos a sinh b, z being a + bi.
template <detail::ComplexPart T>
Exp<std::complex<T>> sin(const Exp<std::complex<T>>& z,
                         std::source_location at = std::source_location::current()) {
  const detail::ComplexParts<T> a(z.handle(), at);
  const Exp<T> re = detail::rounded_product(sin(a.re, at), cosh(a.im, at), at);
  const Exp<T> im = detail::rounded_product(cos(a.re, at), sinh(a.im, at), at);
  return detail::complex_of(cond(a.re == T(0), a.re, re, at), im, at);
}
/// cos a cosh b - i sin a sinh b, z being a + bi.
template <detail::ComplexPart T>
Exp<std::complex<T>> cos(const Exp<std::complex<T>>& z,
                         std::source_location at = std::source_location::current()) {
  const detail::ComplexParts<T> a(z.handle(), at);
  const Exp<T> of_real = cond(a.im < T(0), a.re, -a.re, at);
  const Exp<T> re = detail::rounded_product(cos(a.re, at), cosh(a.im, at), at);
  const Exp<T> im = detail::rounded_product(-sin(a.re, at), sinh(a.im, at), at);
  return detail::complex_of(re, cond(a.re == T(0), of_real, im, at), at);
}

}  // namespace anabranch
