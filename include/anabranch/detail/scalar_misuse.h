#pragma once

#include <anabranch/detail/misuse.h>

/// The functions of integer.h, bits.h, rounding.h and index.h, of what they do not take (see misuse.h).
namespace anabranch::detail {

template <class X>
concept FloatExp = IsExp<X> && FloatElement<typename std::remove_cvref_t<X>::value_type>;

template <class X>
inline constexpr bool is_integer_exp = IntegerExp<X>;
template <class X>
inline constexpr bool is_float_exp = FloatExp<X>;

/// Two operands, of which one is a computation, that are not of that kind of one type.
template <class A, class B, bool AGood, bool BGood>
concept Unfit =
    AnyComputation<A, B> && (Misfits<A, B> || (Computation<A> && !AGood) || (Computation<B> && !BGood));

template <class X>
concept BoolExp = IsExp<X> && std::same_as<typename std::remove_cvref_t<X>::value_type, bool>;
template <class X>
concept BitlessExp = BoolExp<X> || FloatExp<X>;
/// Two operands of one type, or a number beside one.
template <class A, class B>
concept Alike = (IsExp<A> && (std::same_as<A, B> || NumericValue<B>)) || (NumericValue<A> && IsExp<B>);

/// Numbers, and Exps that are all an E, which is one of floats.
template <class E, class... Xs>
concept FloatsOfOneType = FloatExp<E> && ((std::same_as<E, Xs> || NumericValue<Xs>) && ...);

template <class X>
concept ScalarExp = IsExp<X> && IsScalar<typename std::remove_cvref_t<X>::value_type>;
/// What a refused conversion to U gives.
template <class U>
struct RefusedCast {
  using type = Exp<double>;
};
template <IsElement U>
struct RefusedCast<U> {
  using type = Exp<U>;
};

}  // namespace anabranch::detail

namespace anabranch {

// (operator, concept of what it does not take, sentence)
#define ANABRANCH_REFUSE_OPERATOR(op, Kind, sentence)                     \
  template <class A, class B>                                             \
    requires(detail::Alike<A, B> && (detail::Kind<A> || detail::Kind<B>)) \
  detail::Refused<A, B> operator op(const A&, const B&) {                 \
    static_assert(detail::always_false<A>, sentence);                     \
    return detail::refused<detail::Refused<A, B>>();                      \
  }
#define ANABRANCH_NUMBERS_ONLY \
  "anabranch: a bool is no number to calculate with; convert it with cast<int32_t>(x), or use &&, || and !"
ANABRANCH_REFUSE_OPERATOR(+, BoolExp, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_OPERATOR(-, BoolExp, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_OPERATOR(*, BoolExp, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_OPERATOR(/, BoolExp, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_OPERATOR(%, BoolExp, ANABRANCH_NUMBERS_ONLY)
#define ANABRANCH_INTEGERS_ONLY                                                                  \
  "anabranch: & | ^ work on the bits of integers; of bools, write && || and !=, and of a float " \
  "bitcast<int32_t>(x) gives the bits"
ANABRANCH_REFUSE_OPERATOR(&, BitlessExp, ANABRANCH_INTEGERS_ONLY)
ANABRANCH_REFUSE_OPERATOR(|, BitlessExp, ANABRANCH_INTEGERS_ONLY)
ANABRANCH_REFUSE_OPERATOR(^, BitlessExp, ANABRANCH_INTEGERS_ONLY)
#undef ANABRANCH_INTEGERS_ONLY
#undef ANABRANCH_REFUSE_OPERATOR

template <detail::BoolExp A>
Exp<bool> operator-(const A& a) {
  static_assert(detail::always_false<A>, ANABRANCH_NUMBERS_ONLY);
  return a;
}
template <detail::IsExp A>
  requires(!detail::BoolExp<A>)
Exp<bool> operator!(const A&) {
  static_assert(detail::always_false<A>, "anabranch: ! takes a bool; compare first, as in x == 0");
  return detail::refused<Exp<bool>>();
}
#define ANABRANCH_REFUSE_FUNCTION(name)                                         \
  template <class A, class B>                                                   \
    requires(detail::Alike<A, B> && (detail::BoolExp<A> || detail::BoolExp<B>)) \
  detail::Refused<A, B> name(const A&, const B&) {                              \
    static_assert(detail::always_false<A>, ANABRANCH_NUMBERS_ONLY);             \
    return detail::refused<detail::Refused<A, B>>();                            \
  }
ANABRANCH_REFUSE_FUNCTION(min)
ANABRANCH_REFUSE_FUNCTION(max)
#undef ANABRANCH_REFUSE_FUNCTION
#undef ANABRANCH_NUMBERS_ONLY

// (name, concept of what it takes, sentence)
#define ANABRANCH_REFUSE_FUNCTION(name, Kind, sentence)                          \
  template <class X>                                                             \
    requires(detail::Computation<X> && detail::Refusable<X> && !detail::Kind<X>) \
  detail::Refused<X> name(const X&) {                                            \
    detail::check_single_values<X>();                                            \
    static_assert(detail::Answered<X>, sentence);                                \
    return detail::refused<detail::Refused<X>>();                                \
  }
#define ANABRANCH_FLOATS_ONLY                                                                           \
  "anabranch: floor, ceil, round, trunc, is_nan, is_inf and copysign take floats; an integer is whole " \
  "already"
ANABRANCH_REFUSE_FUNCTION(floor, FloatExp, ANABRANCH_FLOATS_ONLY)
ANABRANCH_REFUSE_FUNCTION(ceil, FloatExp, ANABRANCH_FLOATS_ONLY)
ANABRANCH_REFUSE_FUNCTION(round, FloatExp, ANABRANCH_FLOATS_ONLY)
ANABRANCH_REFUSE_FUNCTION(trunc, FloatExp, ANABRANCH_FLOATS_ONLY)
ANABRANCH_REFUSE_FUNCTION(is_nan, FloatExp, ANABRANCH_FLOATS_ONLY)
ANABRANCH_REFUSE_FUNCTION(is_inf, FloatExp, ANABRANCH_FLOATS_ONLY)
#define ANABRANCH_BITS_ONLY                                                                     \
  "anabranch: popcount, clz, ctz, rotl, rotr, test_bit and set_bit take integers; of a float, " \
  "bitcast<int32_t>(x) gives the bits"
ANABRANCH_REFUSE_FUNCTION(popcount, IntegerExp, ANABRANCH_BITS_ONLY)
ANABRANCH_REFUSE_FUNCTION(clz, IntegerExp, ANABRANCH_BITS_ONLY)
ANABRANCH_REFUSE_FUNCTION(ctz, IntegerExp, ANABRANCH_BITS_ONLY)
#undef ANABRANCH_REFUSE_FUNCTION

template <class X>
  requires(detail::Computation<X> && !detail::IntegerExp<X> && !detail::FloatExp<X>)
detail::Refused<X> sign(const X&) {
  detail::check_single_values<X>();
  static_assert(detail::Answered<X>, "anabranch: sign takes a number; convert a bool with cast<int32_t>(x)");
  return detail::refused<detail::Refused<X>>();
}

#define ANABRANCH_REFUSE_FUNCTION(name)                                                     \
  template <class X, class B>                                                               \
    requires(detail::AnyComputation<X, B> && !detail::IntegerExp<X>)                        \
  detail::Refused<X> name(const X&, const B&) {                                             \
    detail::check_single_values<X>();                                                       \
    static_assert(!detail::IntegerValue<X>,                                                 \
                  "anabranch: the operand is an Exp of an integer, as in Exp<int32_t>(5)"); \
    static_assert(detail::Answered<X> || detail::IntegerValue<X>, ANABRANCH_BITS_ONLY);     \
    return detail::refused<detail::Refused<X>>();                                           \
  }
ANABRANCH_REFUSE_FUNCTION(rotl)
ANABRANCH_REFUSE_FUNCTION(rotr)
ANABRANCH_REFUSE_FUNCTION(test_bit)
ANABRANCH_REFUSE_FUNCTION(set_bit)
#undef ANABRANCH_REFUSE_FUNCTION
#undef ANABRANCH_BITS_ONLY

#define ANABRANCH_REFUSE_FUNCTION(name, is_good, sentence)                                        \
  template <class A, class B>                                                                     \
    requires detail::Unfit<A, B, detail::is_good<A>, detail::is_good<B>>                          \
  detail::Refused<A, B> name(const A&, const B&) {                                                \
    detail::check_single_values<A, B>();                                                          \
    if constexpr (detail::Misfits<A, B>) detail::check_operands<A, B>();                          \
    static_assert(detail::Misfits<A, B> || detail::Answered<A> || detail::Answered<B>, sentence); \
    return detail::refused<detail::Refused<A, B>>();                                              \
  }
#define ANABRANCH_INTEGERS_ONLY                                                                         \
  "anabranch: quot, rem, div, mod, divmod and gcd take integers; of floats there are x / y, x % y and " \
  "floor(x / y)"
ANABRANCH_REFUSE_FUNCTION(quot, is_integer_exp, ANABRANCH_INTEGERS_ONLY)
ANABRANCH_REFUSE_FUNCTION(rem, is_integer_exp, ANABRANCH_INTEGERS_ONLY)
ANABRANCH_REFUSE_FUNCTION(div, is_integer_exp, ANABRANCH_INTEGERS_ONLY)
ANABRANCH_REFUSE_FUNCTION(mod, is_integer_exp, ANABRANCH_INTEGERS_ONLY)
ANABRANCH_REFUSE_FUNCTION(gcd, is_integer_exp, ANABRANCH_INTEGERS_ONLY)
ANABRANCH_REFUSE_FUNCTION(copysign, is_float_exp, ANABRANCH_FLOATS_ONLY)
#define ANABRANCH_TWO_FLOATS \
  "anabranch: atan2 and hypot take two of float or of double; convert what is not with cast<double>(x)"
ANABRANCH_REFUSE_FUNCTION(atan2, is_float_exp, ANABRANCH_TWO_FLOATS)
ANABRANCH_REFUSE_FUNCTION(hypot, is_float_exp, ANABRANCH_TWO_FLOATS)
#undef ANABRANCH_TWO_FLOATS
#undef ANABRANCH_REFUSE_FUNCTION
#undef ANABRANCH_INTEGERS_ONLY
#undef ANABRANCH_FLOATS_ONLY

template <class U, class X>
  requires(detail::Computation<X> && !(IsScalar<U> && detail::ScalarExp<X>))
typename detail::RefusedCast<U>::type cast(const X&) {
  detail::check_single_values<X>();
  static_assert(detail::Answered<X>,
                "anabranch: cast<T>(x) gives a bool or a number, int8_t to uint64_t, half, float or double; "
                "make<T>(a, b) makes a product, complex(x, 0) a complex number, some(x) an optional");
  return detail::refused<typename detail::RefusedCast<U>::type>();
}

/// Three, of which one is a computation, that are not floats of one type and numbers.
template <class A, class B, class C>
  requires(detail::AnyComputation<A, B, C> && !detail::FloatsOfOneType<detail::Refused<A, B, C>, A, B, C>)
detail::Refused<A, B, C> fma(const A&, const B&, const C&) {
  detail::check_single_values<A, B, C>();
  constexpr bool answered = detail::Answered<A> || detail::Answered<B> || detail::Answered<C>;
  static_assert(answered,
                "anabranch: fma takes three floats of one type, or numbers that it holds; convert with "
                "cast<double>(x)");
  return detail::refused<detail::Refused<A, B, C>>();
}

/// Two values at once, so that structured bindings of it say nothing more.
template <class A, class B>
  requires detail::Unfit<A, B, detail::is_integer_exp<A>, detail::is_integer_exp<B>>
auto divmod(const A& a, const B& b) {
  const auto part = div(a, b);
  return pack(part, part);
}

template <class X, class N>
  requires(detail::Refusable<X, N> && !(detail::IntegerExp<X> && detail::IntegerOrExp<N>) &&
           !(detail::FloatExp<X> && (std::same_as<X, N> || detail::NumericValue<N>)) &&
           !(detail::NumericValue<X> && detail::FloatExp<N>))
detail::Refused<X, N> pow(const X&, const N&) {
  detail::check_single_values<X, N>();
  constexpr bool of_arrays = detail::Answered<X> || detail::Answered<N>;
  constexpr bool of_two_types = detail::IsExp<X> && detail::IsExp<N>;
  if constexpr (of_two_types) detail::check_operands<X, N>();
  static_assert(of_arrays || of_two_types || !detail::IntegerExp<N>,
                "anabranch: the first operand of pow is an Exp of an integer, as in pow(Exp<int64_t>(2), n)");
  static_assert(of_arrays || of_two_types || detail::IntegerExp<N>,
                "anabranch: pow takes two integers or two floats; convert one with cast<double>(x)");
  return detail::refused<detail::Refused<X, N>>();
}

// What C++ calls otherwise.
#define ANABRANCH_IS_CALLED(name, here)                                                          \
  namespace anabranch {                                                                          \
  template <detail::Computation X>                                                               \
  Exp<bool> name(const X&) {                                                                     \
    static_assert(detail::always_false<X>, "anabranch: " #name "(x) is " #here "(x) of an Exp"); \
    return detail::refused<Exp<bool>>();                                                         \
  }                                                                                              \
  }                                                                                              \
  namespace std {                                                                                \
  template <anabranch::detail::Computation X>                                                    \
  auto name(const X& x) {                                                                        \
    return anabranch::name(x);                                                                   \
  }                                                                                              \
  }
}  // namespace anabranch
ANABRANCH_IS_CALLED(isnan, is_nan)
ANABRANCH_IS_CALLED(isinf, is_inf)
#undef ANABRANCH_IS_CALLED
