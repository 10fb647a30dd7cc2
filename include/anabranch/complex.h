#pragma once

#include <anabranch/detail/complex_element.h>
#include <anabranch/fold.h>

/// Complex numbers: std::complex<float> and std::complex<double> as elements, and what one calculates with
/// them. Every operation is a fixed sequence of rounded operations on the parts, so it gives the same bits
/// everywhere. auto [re, im] = z takes one apart.
namespace anabranch {

namespace detail {

template <class T>
struct Parts<std::complex<T>> {
  using type = Types<T, T>;
};
template <class T>
inline constexpr bool ordered<std::complex<T>> = false;
template <class T>
inline constexpr bool has_arithmetic<std::complex<T>> = true;
template <class T>
inline constexpr bool mixes<std::complex<T>, T> = true;
template <class T>
inline constexpr bool mixes<T, std::complex<T>> = true;

template <class T>
struct Stranger<std::complex<T>> {
  template <class X>
  static constexpr bool refuses_operand = false;
  template <class X>
  static constexpr bool refuses = NumericValue<X> || std::same_as<X, Exp<T>>;
  template <class X>
  static void answer() {
    static_assert(always_false<X>,
                  "anabranch: a real number is no complex one by itself; write complex(x, 0) of an Exp, and "
                  "std::complex<float>(1.0F) of a plain number");
  }
};

/// What can be a part of a complex number.
template <class X>
inline constexpr bool is_part_of_complex = std::same_as<X, Exp<float>> || std::same_as<X, Exp<double>>;
/// A real number beside an Exp of a complex one.
template <class X, class T>
concept RealBeside = NumericValue<X> || std::same_as<X, Exp<T>>;

template <class T>
struct ComplexParts {
  explicit ComplexParts(const Located<std::complex<T>>& z)
      : ComplexParts(z.value().handle(), Place(z.place())) {}
  ComplexParts(const Handle& z, Place at)
      : re(FromHandle{}, project(z, 0, 1, at)), im(FromHandle{}, project(z, 1, 1, at)) {}
  Exp<T> re, im;
};
template <class T>
Exp<std::complex<T>> complex_of(const Exp<T>& re, const Exp<T>& im, Place at) {
  return {FromHandle{}, tuple({re.handle(), im.handle()}, at)};
}

/// Smith (1962), with his multiplications and additions fused: the larger part of the divisor divides the
/// smaller, so that no square overflows. Where the divisor is 0, each part is divided by it.
template <class T>
Exp<std::complex<T>> quotient(const ComplexParts<T>& a, const ComplexParts<T>& b,
                              const std::source_location& at) {
  const Exp<bool> real_first = abs(b.re, at) >= abs(b.im, at);
  const Exp<T> larger = cond(real_first, b.re, b.im, at), smaller = cond(real_first, b.im, b.re, at);
  const Exp<T> ratio = cond(larger == T(0), larger, smaller / larger, at);
  const Exp<T> divisor = fma(smaller, ratio, larger, at);
  const Exp<T> along = cond(real_first, a.re, a.im, at), across = cond(real_first, a.im, a.re, at);
  const Exp<T> re = fma(across, ratio, along, at) / divisor;
  const Exp<T> im = fma(-along, ratio, across, at) / divisor;
  return complex_of(re, cond(real_first, im, -im, at), at);
}

}  // namespace detail

/// Arithmetic of complex numbers, and of one with a real number, each operation rounded on its own (but a sum
/// with z * x, x real, is contracted part by part, as that of floats: language.md, "Rounding"):
///
///     (a + bi) + (c + di)   a + c, b + d; with a real number c: a + c, b
///     (a + bi) * (c + di)   a * c - b * d, a * d + b * c; with a real number c: a * c, b * c
///     (a + bi) / (c + di)   Smith's method: no square overflows (parts of the divisor beyond half the largest
///                           number may); each part within some ulp of the larger one; with a real number
///                           c: a / c, b / c. Infinite parts may give NaN
///
/// Equal are those whose parts are equal; there is no order.
template <class T>
struct ExpOperators<std::complex<T>> : ElementComparisons<std::complex<T>> {
  /// Refused, with a sentence.
  template <class U = T>
  Exp<U> real() const {
    static_assert(detail::always_false<U>, "anabranch: z.real() is real(z) of an Exp, and z.imag() imag(z)");
    return {detail::FromHandle{}, detail::Handle{}};
  }
  template <class U = T>
  Exp<U> imag() const {
    return real<U>();
  }

 private:
  using Z = Exp<std::complex<T>>;
  using L = Located<std::complex<T>>;
  using Real = Located<T>;
  using C = detail::ComplexParts<T>;

 public:
  friend Z operator+(const L& x, const L& y) {
    const C a(x), b(y);
    return detail::complex_of(a.re + b.re, a.im + b.im, x.place());
  }
  friend Z operator-(const L& x, const L& y) {
    const C a(x), b(y);
    return detail::complex_of(a.re - b.re, a.im - b.im, x.place());
  }
  friend Z operator*(const L& x, const L& y) {
    const C a(x), b(y);
    // A difference is not contracted (language.md, "Rounding"), so that z * conj(z) has the imaginary part 0.
    return detail::complex_of(a.re * b.re - a.im * b.im, a.re * b.im - -a.im * b.re, x.place());
  }
  friend Z operator/(const L& x, const L& y) { return detail::quotient(C(x), C(y), x.place()); }
  friend Z operator-(const L& x) {
    const C a(x);
    return detail::complex_of(-a.re, -a.im, x.place());
  }

  friend Z operator+(const L& x, const Real& y) {
    const C a(x);
    return detail::complex_of(a.re + y, a.im, x.place());
  }
  friend Z operator+(const Real& x, const L& y) {
    const C b(y);
    return detail::complex_of(x + b.re, b.im, x.place());
  }
  friend Z operator-(const L& x, const Real& y) {
    const C a(x);
    return detail::complex_of(a.re - y, a.im, x.place());
  }
  friend Z operator-(const Real& x, const L& y) {
    const C b(y);
    return detail::complex_of(x - b.re, -b.im, x.place());
  }
  friend Z operator*(const L& x, const Real& y) {
    const C a(x);
    return detail::complex_of(a.re * y, a.im * y, x.place());
  }
  friend Z operator*(const Real& x, const L& y) {
    const C b(y);
    return detail::complex_of(x * b.re, x * b.im, x.place());
  }
  friend Z operator/(const L& x, const Real& y) {
    const C a(x);
    return detail::complex_of(a.re / y, a.im / y, x.place());
  }
  friend Z operator/(const Real& x, const L& y) {
    const Exp<T> zero(T(0), x.place());
    return detail::quotient(C(detail::complex_of(x.value(), zero, x.place())), C(y), x.place());
  }
};

/// The complex number re + im i; a plain number may stand for one of them.
template <detail::FloatElement T>
  requires detail::is_complex<std::complex<T>>
Exp<std::complex<T>> complex(const Exp<T>& re, const Exp<T>& im,
                             std::source_location at = std::source_location::current()) {
  return detail::complex_of(re, im, at);
}
template <detail::FloatElement T>
  requires detail::is_complex<std::complex<T>>
Exp<std::complex<T>> complex(const Exp<T>& re, const std::type_identity_t<Located<T>>& im) {
  return detail::complex_of(re, im.value(), im.place());
}
template <detail::FloatElement T>
  requires detail::is_complex<std::complex<T>>
Exp<std::complex<T>> complex(const std::type_identity_t<Located<T>>& re, const Exp<T>& im) {
  return detail::complex_of(re.value(), im, re.place());
}

/// Real part, imaginary part.
template <class T>
Exp<T> real(const Exp<std::complex<T>>& z, std::source_location at = std::source_location::current()) {
  return get<0>(z, at);
}
template <class T>
Exp<T> imag(const Exp<std::complex<T>>& z, std::source_location at = std::source_location::current()) {
  return get<1>(z, at);
}
/// re - im i.
template <class T>
Exp<std::complex<T>> conj(const Exp<std::complex<T>>& z,
                          std::source_location at = std::source_location::current()) {
  return detail::complex_of(get<0>(z, at), -get<1>(z, at), at);
}
/// re * re + im * im, each operation rounded on its own. It overflows where |z| is beyond the root of the
/// largest number.
template <class T>
Exp<T> norm(const Exp<std::complex<T>>& z, std::source_location at = std::source_location::current()) {
  const detail::ComplexParts<T> a(z.handle(), at);
  return a.re * a.re - -a.im * a.im;
}

/// Refused, with a sentence.
template <class A, class B>
  requires detail::Unfit<A, B, detail::is_part_of_complex<A>, detail::is_part_of_complex<B>>
auto complex(const A&, const B&) {
  detail::check_single_values<A, B>();
  static_assert(
      detail::Answered<A> || detail::Answered<B>,
      "anabranch: complex(re, im) takes two of float or two of double; convert with cast<double>(x)");
  return detail::refused<Exp<std::complex<double>>>();
}
template <detail::NumericValue A, detail::NumericValue B>
auto complex(const A&, const B&) {
  static_assert(
      detail::always_false<A>,
      "anabranch: complex(re, im) takes an Exp; of plain numbers write std::complex<float>(re, im)");
  return detail::refused<Exp<std::complex<double>>>();
}
template <class A, class B>
  requires detail::Unfit<A, B, detail::is_part_of_complex<A>, detail::is_part_of_complex<B>>
auto polar(const A&, const B&) {
  detail::check_single_values<A, B>();
  static_assert(detail::Answered<A> || detail::Answered<B>,
                "anabranch: polar(size, angle) takes two of float or two of double; convert with "
                "cast<double>(x)");
  return detail::refused<Exp<std::complex<double>>>();
}

#define ANABRANCH_REFUSE_TYPES(op)                                                                   \
  template <class T, class U>                                                                        \
    requires(!std::same_as<T, U>)                                                                    \
  Exp<std::complex<T>> operator op(const Exp<std::complex<T>>& z, const std::complex<U>&) {          \
    static_assert(                                                                                   \
        detail::always_false<U>,                                                                     \
        "anabranch: the complex numbers have different element types; write it in that of the Exp, " \
        "as in std::complex<float>(1, 2)");                                                          \
    return z;                                                                                        \
  }                                                                                                  \
  template <class T, class U>                                                                        \
    requires(!std::same_as<T, U>)                                                                    \
  Exp<std::complex<T>> operator op(const std::complex<U>& w, const Exp<std::complex<T>>& z) {        \
    return z op w;                                                                                   \
  }
ANABRANCH_REFUSE_TYPES(+)
ANABRANCH_REFUSE_TYPES(-)
ANABRANCH_REFUSE_TYPES(*)
ANABRANCH_REFUSE_TYPES(/)
#undef ANABRANCH_REFUSE_TYPES
#define ANABRANCH_OF_COMPLEX_ONLY(name)                                                                     \
  template <IsScalar T>                                                                                     \
  auto name(const Exp<T>&) {                                                                                \
    static_assert(detail::always_false<T>,                                                                  \
                  "anabranch: " #name " takes a complex number; of a real one make it with complex(x, 0)"); \
    return detail::refused<Exp<double>>();                                                                  \
  }
ANABRANCH_OF_COMPLEX_ONLY(real)
ANABRANCH_OF_COMPLEX_ONLY(imag)
ANABRANCH_OF_COMPLEX_ONLY(conj)
ANABRANCH_OF_COMPLEX_ONLY(arg)
#undef ANABRANCH_OF_COMPLEX_ONLY

#define ANABRANCH_REFUSE_COMPARISON(op)                                                                     \
  template <class T, detail::RealBeside<T> X>                                                               \
  Exp<bool> operator op(const Exp<std::complex<T>>&, const X&) {                                            \
    static_assert(detail::always_false<X>,                                                                  \
                  "anabranch: a complex number and a real one do not compare; compare with complex(x, 0), " \
                  "or the real part, real(z)");                                                             \
    return detail::refused<Exp<bool>>();                                                                    \
  }                                                                                                         \
  template <class T, detail::RealBeside<T> X>                                                               \
  Exp<bool> operator op(const X & x, const Exp<std::complex<T>>& z) {                                       \
    return z op x;                                                                                          \
  }
ANABRANCH_REFUSE_COMPARISON(==)
ANABRANCH_REFUSE_COMPARISON(!=)
ANABRANCH_REFUSE_COMPARISON(<)
ANABRANCH_REFUSE_COMPARISON(<=)
ANABRANCH_REFUSE_COMPARISON(>)
ANABRANCH_REFUSE_COMPARISON(>=)
#undef ANABRANCH_REFUSE_COMPARISON

#define ANABRANCH_REFUSE_ORDER(op)                                                             \
  template <class T>                                                                           \
  Exp<bool> operator op(const Exp<std::complex<T>>&, const Exp<std::complex<T>>&) {            \
    static_assert(detail::always_false<T>,                                                     \
                  "anabranch: complex numbers have no order; compare norm(z), or real parts"); \
    return {detail::FromHandle{}, detail::Handle{}};                                           \
  }
ANABRANCH_REFUSE_ORDER(<)
ANABRANCH_REFUSE_ORDER(<=)
ANABRANCH_REFUSE_ORDER(>)
ANABRANCH_REFUSE_ORDER(>=)
#undef ANABRANCH_REFUSE_ORDER

/// Sum and product along one dimension, in the order of `fold`. Empty sums are 0, products 1.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, std::complex<T>>> sum(const Acc<Array<N, std::complex<T>>>& a, int axis = N - 1,
                                       detail::Loc at = detail::Loc::current()) {
  return detail::named_fold("sum", plus, detail::constant_of<std::complex<T>>(T(0), at), a, axis, at);
}
template <int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, std::complex<T>>> product(const Acc<Array<N, std::complex<T>>>& a, int axis = N - 1,
                                           detail::Loc at = detail::Loc::current()) {
  return detail::named_fold("product", times, detail::constant_of<std::complex<T>>(T(1), at), a, axis, at);
}
/// Arrays of the real and of the imaginary parts; free. auto [re, im] = unzip(a).
template <int N, class T>
std::tuple<Acc<Array<N, T>>, Acc<Array<N, T>>> unzip(const Acc<Array<N, std::complex<T>>>& a,
                                                     detail::Loc at = detail::Loc::current()) {
  return detail::unzip_at<T, T>(at, a);
}
/// The same of a host array; they share its elements.
template <int N, class T>
std::tuple<Array<N, T>, Array<N, T>> unzip(const Array<N, std::complex<T>>& a) {
  return detail::unzip_host<T, T>(a);
}

}  // namespace anabranch
