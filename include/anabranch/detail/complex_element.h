#pragma once

#include <complex>

#include <anabranch/element.h>

/// std::complex<float> and std::complex<double> as elements of two scalars: real part, imaginary part.
namespace anabranch::detail {

template <class T>
  requires(std::same_as<T, float> || std::same_as<T, double>)
struct Element<std::complex<T>> {
  static constexpr bool is_element = true;
  static constexpr bool is_scalar = false;
  static constexpr std::array scalars{Element<T>::scalars[0], Element<T>::scalars[0]};
  template <class V, class F>
  static constexpr void visit(V& value, F&& f) {
    std::conditional_t<std::is_const_v<V>, const T, T> real = value.real(), imaginary = value.imag();
    f(real);
    f(imaginary);
    if constexpr (!std::is_const_v<V>) value = {real, imaginary};
  }
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = IsElement<std::complex<T>>;

}  // namespace anabranch::detail
