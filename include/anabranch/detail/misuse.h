#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <anabranch/exp.h>

/// What a program cannot say, answered with a sentence instead of a page of candidates. Every function here
/// is a last resort of overload resolution, and none can be called: a static_assert is its body. Nothing here
/// is part of the language.
namespace anabranch::detail {

/// A computation: an Exp, Acc, Seq or Terminal.
template <class X>
concept Computation = IsExp<X> || Collective<std::remove_cvref_t<X>>;
template <class... Xs>
concept AnyComputation = (Computation<Xs> || ...);

template <class X>
concept IsHostArray = requires(const X& x) {
  { x.erased() } -> std::same_as<const std::shared_ptr<ArrayData>&>;
};

/// Whether operators take an Exp<A> with an Exp<B>: true for complex and real numbers.
template <class A, class B>
inline constexpr bool mixes = false;
template <class A, class B>
inline constexpr bool mixing = false;
template <class A, class B>
inline constexpr bool mixing<Exp<A>, Exp<B>> = mixes<A, B>;

/// Operands of one operator that cannot meet.
template <class A, class B>
concept Misfits = (IsExp<A> && IsExp<B> && !std::same_as<A, B> && !mixing<A, B>) || Collective<A> ||
                  Collective<B> || (IsExp<A> && IsHostArray<B>) || (IsHostArray<A> && IsExp<B>);

/// An element that operators of numbers do not take: a product, an optional, a variant.
template <class X>
inline constexpr bool not_a_number = false;
template <CompositeElement T>
inline constexpr bool not_a_number<Exp<T>> = !has_arithmetic<T>;
template <class A, class B>
concept NoArithmetic = Misfits<A, B> || not_a_number<A> || not_a_number<B>;
template <class A, class B>
concept NoComparison =
    Misfits<A, B> || (not_a_number<A> && NumericValue<B>) || (NumericValue<A> && not_a_number<B>);

/// What a refused operation gives, so that the code around it is not refused too.
template <class First, class... Rest>
struct RefusedAs : RefusedAs<Rest...> {};
template <IsExp E, class... Rest>
struct RefusedAs<E, Rest...> {
  using type = std::remove_cvref_t<E>;
};
template <class Last>
struct RefusedAs<Last> {
  using type = Exp<double>;
};
template <IsExp Last>
struct RefusedAs<Last> {
  using type = std::remove_cvref_t<Last>;
};
template <class... Xs>
using Refused = typename RefusedAs<Xs...>::type;
template <class R>
R refused() {
  return R(FromHandle{}, Handle{});
}

template <class A, class B>
void check_operands() {
  constexpr bool numbers = !not_a_number<A> && !not_a_number<B>;
  static_assert(numbers,
                "anabranch: an operator works on numbers; take an optional or a variant apart with match or "
                "value_or, a product with get<I>(e) or auto [a, b] = e");
  static_assert(!numbers || !(IsExp<A> && IsExp<B>),
                "anabranch: the operands have different element types; convert one with cast<T>(...)");
  static_assert(!IsHostArray<A> && !IsHostArray<B>,
                "anabranch: a host array becomes part of a program by use(array); then take elements of it, "
                "or use map and zip_with");
  static_assert(!numbers || (IsExp<A> && IsExp<B>) || IsHostArray<A> || IsHostArray<B>,
                "anabranch: an operator works on single values; take a[i] or the(a) of an array, or use map "
                "and zip_with on whole arrays (a sequence has to be consumed first)");
}

/// Operands of a comparison.
template <class A, class B>
void check_comparison() {
  constexpr bool scalars = Collective<A> || Collective<B> || (!not_a_number<A> && !not_a_number<B>);
  static_assert(scalars,
                "anabranch: what is compared is of one type; write some(x) beside an optional, "
                "make_variant<V>(x) beside a variant, make<T>(a, b) beside a product");
  if constexpr (scalars) check_operands<A, B>();
}

template <class X>
concept Truth = std::same_as<X, Exp<bool>> || std::same_as<X, bool>;

template <class X>
concept IntegerExp = IsExp<X> && IntegerElement<typename std::remove_cvref_t<X>::value_type>;
template <class X>
concept IntegerOrExp =
    IntegerExp<X> || (IntegerValue<std::remove_cvref_t<X>> && !std::same_as<std::remove_cvref_t<X>, bool>);
/// Operands of << and >> whose types are right.
template <class A, class B>
concept ShiftsWell = IntegerOrExp<A> && IntegerOrExp<B>;

/// An element that mathematical functions do not take: a product, an optional, a variant, a complex number.
template <class X>
inline constexpr bool is_composite = false;
template <CompositeElement T>
inline constexpr bool is_composite<Exp<T>> = true;

template <class... Xs>
void check_single_values() {
  static_assert(!(Collective<Xs> || ...),
                "anabranch: this function works on single values; take a[i] or the(a) of an array, or map it "
                "over the array");
  static_assert(
      !(not_a_number<Xs> || ...),
      "anabranch: this function works on numbers; take an optional or a variant apart with match or "
      "value_or, a product with get<I>(e) or auto [a, b] = e");
  static_assert(((!is_composite<Xs> || not_a_number<Xs>) && ...),
                "anabranch: this function works on real numbers; of complex ones there are real imag abs arg "
                "norm conj exp log sqrt sin cos");
}

/// What check_single_values has answered. Argument-dependent lookup finds the declarations in std, too, of
/// elements that come from there: so what they ask for is said again, beside more.
template <class X>
concept Answered = Collective<X> || is_composite<std::remove_cvref_t<X>>;
template <class... Xs>
concept Refusable = AnyComputation<Xs...> && (sizeof...(Xs) > 0);

}  // namespace anabranch::detail

namespace anabranch {

#define ANABRANCH_REFUSE_OPERATOR(op)                     \
  template <class A, class B>                             \
    requires detail::NoArithmetic<A, B>                   \
  detail::Refused<A, B> operator op(const A&, const B&) { \
    detail::check_operands<A, B>();                       \
    return detail::refused<detail::Refused<A, B>>();      \
  }
ANABRANCH_REFUSE_OPERATOR(+)
ANABRANCH_REFUSE_OPERATOR(-)
ANABRANCH_REFUSE_OPERATOR(*)
ANABRANCH_REFUSE_OPERATOR(/)
ANABRANCH_REFUSE_OPERATOR(%)
ANABRANCH_REFUSE_OPERATOR(&)
ANABRANCH_REFUSE_OPERATOR(|)
ANABRANCH_REFUSE_OPERATOR(^)
#undef ANABRANCH_REFUSE_OPERATOR
#define ANABRANCH_REFUSE_OPERATOR(op)         \
  template <class A, class B>                 \
    requires detail::NoComparison<A, B>       \
  Exp<bool> operator op(const A&, const B&) { \
    detail::check_comparison<A, B>();         \
    return detail::refused<Exp<bool>>();      \
  }
ANABRANCH_REFUSE_OPERATOR(==)
ANABRANCH_REFUSE_OPERATOR(!=)
ANABRANCH_REFUSE_OPERATOR(<)
ANABRANCH_REFUSE_OPERATOR(<=)
ANABRANCH_REFUSE_OPERATOR(>)
ANABRANCH_REFUSE_OPERATOR(>=)
#undef ANABRANCH_REFUSE_OPERATOR
#define ANABRANCH_REFUSE_OPERATOR(op)                                                                      \
  template <class A, class B>                                                                              \
    requires(detail::AnyComputation<A, B> && !(detail::Truth<A> && detail::Truth<B>))                      \
  Exp<bool> operator op(const A&, const B&) {                                                              \
    static_assert(detail::always_false<A>, "anabranch: && and || take bool; compare first, as in x != 0"); \
    return detail::refused<Exp<bool>>();                                                                   \
  }
ANABRANCH_REFUSE_OPERATOR(&&)
ANABRANCH_REFUSE_OPERATOR(||)
#undef ANABRANCH_REFUSE_OPERATOR

#define ANABRANCH_REFUSE_OPERATOR(op)                                                                \
  template <class A, class B>                                                                        \
    requires detail::Computation<A>                                                                  \
  A&& operator op(A && a, const B&) {                                                                \
    static_assert(                                                                                   \
        detail::always_false<A>,                                                                     \
        "anabranch: a computation is a value and cannot be changed; write x = x + y for a variable " \
        "of yours, and map or generate for the elements of an array");                               \
    return std::forward<A>(a);                                                                       \
  }
ANABRANCH_REFUSE_OPERATOR(+=)
ANABRANCH_REFUSE_OPERATOR(-=)
ANABRANCH_REFUSE_OPERATOR(*=)
ANABRANCH_REFUSE_OPERATOR(/=)
ANABRANCH_REFUSE_OPERATOR(%=)
ANABRANCH_REFUSE_OPERATOR(&=)
ANABRANCH_REFUSE_OPERATOR(|=)
ANABRANCH_REFUSE_OPERATOR(^=)
ANABRANCH_REFUSE_OPERATOR(<<=)
ANABRANCH_REFUSE_OPERATOR(>>=)
#undef ANABRANCH_REFUSE_OPERATOR
#define ANABRANCH_REFUSE_OPERATOR(op)                                                               \
  template <class A>                                                                                \
    requires detail::Computation<A>                                                                 \
  A&& operator op(A && a) {                                                                         \
    static_assert(                                                                                  \
        detail::always_false<A>,                                                                    \
        "anabranch: a computation is a value and cannot be changed; write x = x + 1 or x = x - 1"); \
    return std::forward<A>(a);                                                                      \
  }                                                                                                 \
  template <class A>                                                                                \
    requires detail::Computation<A>                                                                 \
  A&& operator op(A && a, int) {                                                                    \
    return op std::forward<A>(a);                                                                   \
  }
ANABRANCH_REFUSE_OPERATOR(++)
ANABRANCH_REFUSE_OPERATOR(--)
#undef ANABRANCH_REFUSE_OPERATOR

#define ANABRANCH_REFUSE_OPERATOR(op)                                                               \
  template <class A, class B>                                                                       \
    requires(detail::AnyComputation<A, B> && !detail::ShiftsWell<A, B>)                             \
  A&& operator op(A && a, const B&) {                                                               \
    detail::check_single_values<std::remove_cvref_t<A>>();                                          \
    static_assert(!detail::IsExp<A>,                                                                \
                  "anabranch: << and >> shift the bits of an integer by an integer; convert with "  \
                  "cast<int32_t>(x), or multiply by a power of two");                               \
    static_assert(                                                                                  \
        detail::Computation<A>,                                                                     \
        "anabranch: a computation has no value while the program is being built; print what `run` " \
        "gives");                                                                                   \
    return std::forward<A>(a);                                                                      \
  }
ANABRANCH_REFUSE_OPERATOR(<<)
ANABRANCH_REFUSE_OPERATOR(>>)
#undef ANABRANCH_REFUSE_OPERATOR

#define ANABRANCH_REFUSE_OPERATOR(op)                                                                        \
  template <class A, class B>                                                                                \
    requires(detail::NumericValue<A> && detail::Computation<B>)                                              \
  A& operator op(A & a, const B&) {                                                                          \
    static_assert(detail::always_false<A>,                                                                   \
                  "anabranch: a function is recorded once, not run for each element, so nothing can add up " \
                  "in a variable of yours; use sum or fold");                                                \
    return a;                                                                                                \
  }
ANABRANCH_REFUSE_OPERATOR(+=)
ANABRANCH_REFUSE_OPERATOR(-=)
ANABRANCH_REFUSE_OPERATOR(*=)
ANABRANCH_REFUSE_OPERATOR(/=)
#undef ANABRANCH_REFUSE_OPERATOR

template <class A>
  requires detail::not_a_number<A>
A operator-(const A& a) {
  detail::check_operands<A, A>();
  return a;
}

template <detail::Computation A>
  requires(!detail::IntegerExp<A>)
detail::Refused<A> operator~(const A&) {
  detail::check_single_values<A>();
  static_assert(detail::Collective<A>, "anabranch: ~ changes the bits of an integer; of a bool, write !x");
  return detail::refused<detail::Refused<A>>();
}

/// Sides of different types, or a condition that is none.
template <class C, class A, class B>
  requires((detail::Computation<C> && !std::same_as<C, Exp<bool>>) || detail::Collective<A> ||
           detail::Collective<B> || (detail::IsExp<A> && detail::IsExp<B> && !std::same_as<A, B>))
detail::Refused<A, B> cond(const C&, const A&, const B&) {
  static_assert(std::same_as<C, Exp<bool>> || std::same_as<C, bool>,
                "anabranch: the condition of cond is an Exp<bool>; compare first, as in x != 0");
  static_assert(!detail::Collective<A> && !detail::Collective<B>,
                "anabranch: cond chooses between single values; take a[i] or the(a) of an array");
  static_assert(
      detail::Collective<A> || detail::Collective<B> || std::same_as<A, B>,
      "anabranch: the two sides of cond have different element types; convert one with cast<T>(...)");
  return detail::refused<detail::Refused<A, B>>();
}

/// Functions, or plain values of two types.
template <class A, class B>
  requires(!detail::Collective<A> && !detail::Collective<B> && !detail::ProductOfExps<A> &&
           !detail::ProductOfExps<B> &&
           ((!detail::IsExp<A> && !detail::IsExp<B> && !std::same_as<A, B>) || std::invocable<const A&> ||
            std::invocable<const B&>))
detail::Refused<A, B> cond(const Exp<bool>&, const A&, const B&) {
  constexpr bool functions = std::invocable<const A&> || std::invocable<const B&>;
  static_assert(!functions,
                "anabranch: cond takes values and evaluates only the one that it takes; no functions are "
                "needed");
  static_assert(
      functions,
      "anabranch: the two sides of cond have different types; write them in one, as in 1.0 and 2.0");
  return detail::refused<detail::Refused<A, B>>();
}

#define ANABRANCH_REFUSE_FUNCTION(name)                                                              \
  template <class X, class Y, class Z>                                                               \
    requires(detail::AnyComputation<X, Y, Z> && (detail::Computation<Z> || detail::NumericValue<Z>)) \
  detail::Refused<X, Y, Z> name(const X&, const Y&, const Z&) {                                      \
    static_assert(detail::always_false<X>,                                                           \
                  "anabranch: " #name " takes two; write " #name "(x, " #name "(y, z)) of three");   \
    return detail::refused<detail::Refused<X, Y, Z>>();                                              \
  }
ANABRANCH_REFUSE_FUNCTION(min)
ANABRANCH_REFUSE_FUNCTION(max)
ANABRANCH_REFUSE_FUNCTION(hypot)
#undef ANABRANCH_REFUSE_FUNCTION

/// What a loop over the elements calls; no range for the rest of the world.
namespace detail {
struct NoIterator {
  Exp<double> operator*() const;
  void operator++();
  bool operator!=(const NoIterator&) const;
};
}  // namespace detail
template <detail::Computation X>
detail::NoIterator begin(const X&) {
  static_assert(detail::always_false<X>,
                "anabranch: a computation has no elements while the program is being built; use map, fold or "
                "generate, auto [a, b] = e for the parts of a product, or a loop over what `run` gives");
  return {};
}
template <detail::Computation X>
detail::NoIterator end(const X&) {
  return {};
}

#define ANABRANCH_REFUSE_FUNCTION(name)              \
  template <class A, class B>                        \
    requires detail::Misfits<A, B>                   \
  detail::Refused<A, B> name(const A&, const B&) {   \
    detail::check_single_values<A, B>();             \
    detail::check_operands<A, B>();                  \
    return detail::refused<detail::Refused<A, B>>(); \
  }
ANABRANCH_REFUSE_FUNCTION(min)
ANABRANCH_REFUSE_FUNCTION(max)
#undef ANABRANCH_REFUSE_FUNCTION

/// What functions return, such as v[0]; variables are exchanged as ever.
template <class A, class B>
  requires(detail::Computation<A> && detail::Computation<B> &&
           !(std::is_lvalue_reference_v<A> && std::is_lvalue_reference_v<B>))
void swap(A&&, B&&) {
  static_assert(detail::always_false<A>,
                "anabranch: this exchanges temporaries and would change nothing: the arrays of a program are "
                "values. Make a new one with backpermute or generate");
}

// The functions there are, of what they do not take.
#define ANABRANCH_REFUSE_FUNCTION(name, sentence)            \
  template <class X>                                         \
    requires(detail::Computation<X> && detail::Refusable<X>) \
  detail::Refused<X> name(const X&) {                        \
    detail::check_single_values<X>();                        \
    static_assert(detail::Answered<X>, sentence);            \
    return detail::refused<detail::Refused<X>>();            \
  }
#define ANABRANCH_FLOATS_ONLY(name)             \
  ANABRANCH_REFUSE_FUNCTION(name,               \
                            "anabranch: " #name \
                            " takes floats (half, float, double); convert the integer with cast<double>(x)")
ANABRANCH_FLOATS_ONLY(sqrt)
ANABRANCH_FLOATS_ONLY(exp)
ANABRANCH_FLOATS_ONLY(exp2)
ANABRANCH_FLOATS_ONLY(log)
ANABRANCH_FLOATS_ONLY(log2)
ANABRANCH_FLOATS_ONLY(log10)
ANABRANCH_FLOATS_ONLY(sin)
ANABRANCH_FLOATS_ONLY(cos)
ANABRANCH_FLOATS_ONLY(tan)
ANABRANCH_FLOATS_ONLY(asin)
ANABRANCH_FLOATS_ONLY(acos)
ANABRANCH_FLOATS_ONLY(atan)
ANABRANCH_FLOATS_ONLY(sinh)
ANABRANCH_FLOATS_ONLY(cosh)
ANABRANCH_FLOATS_ONLY(tanh)
ANABRANCH_FLOATS_ONLY(asinh)
ANABRANCH_FLOATS_ONLY(acosh)
ANABRANCH_FLOATS_ONLY(atanh)
ANABRANCH_FLOATS_ONLY(erf)
ANABRANCH_FLOATS_ONLY(cbrt)
ANABRANCH_FLOATS_ONLY(rsqrt)
ANABRANCH_REFUSE_FUNCTION(abs, "anabranch: abs takes a number; convert a bool with cast<int32_t>(x)")
#undef ANABRANCH_FLOATS_ONLY
#undef ANABRANCH_REFUSE_FUNCTION

// Of plain numbers: here is nothing of the device. (Parameters that are never there: see below.)
#define ANABRANCH_PLAIN_NUMBERS                                                                           \
  "anabranch: of plain numbers only; this function works on an Exp: wrap one, as in Exp<int32_t>(3), or " \
  "compute it with C++ before"
#define ANABRANCH_REFUSE_FUNCTION(name)                              \
  template <detail::NumericValue X, class... None>                   \
    requires(sizeof...(None) == 0)                                   \
  auto name(const X&, const None&...) {                              \
    static_assert(detail::always_false<X>, ANABRANCH_PLAIN_NUMBERS); \
    return Exp<X>(detail::FromHandle{}, detail::Handle{});           \
  }
ANABRANCH_REFUSE_FUNCTION(popcount)
ANABRANCH_REFUSE_FUNCTION(clz)
ANABRANCH_REFUSE_FUNCTION(ctz)
ANABRANCH_REFUSE_FUNCTION(rsqrt)
ANABRANCH_REFUSE_FUNCTION(sign)
ANABRANCH_REFUSE_FUNCTION(is_nan)
ANABRANCH_REFUSE_FUNCTION(is_inf)
#undef ANABRANCH_REFUSE_FUNCTION
#define ANABRANCH_REFUSE_FUNCTION(name)                                    \
  template <detail::NumericValue X, detail::NumericValue Y, class... None> \
    requires(sizeof...(None) == 0)                                         \
  auto name(const X&, const Y&, const None&...) {                          \
    static_assert(detail::always_false<X>, ANABRANCH_PLAIN_NUMBERS);       \
    return Exp<X>(detail::FromHandle{}, detail::Handle{});                 \
  }
ANABRANCH_REFUSE_FUNCTION(min)
ANABRANCH_REFUSE_FUNCTION(max)
ANABRANCH_REFUSE_FUNCTION(gcd)
ANABRANCH_REFUSE_FUNCTION(quot)
ANABRANCH_REFUSE_FUNCTION(mod)
ANABRANCH_REFUSE_FUNCTION(divmod)
#undef ANABRANCH_REFUSE_FUNCTION
#define ANABRANCH_REFUSE_FUNCTION(name)                              \
  template <IsScalar U, detail::NumericValue X, class... None>       \
    requires(sizeof...(None) == 0)                                   \
  auto name(const X&, const None&...) {                              \
    static_assert(detail::always_false<X>, ANABRANCH_PLAIN_NUMBERS); \
    return Exp<U>(detail::FromHandle{}, detail::Handle{});           \
  }
ANABRANCH_REFUSE_FUNCTION(cast)
ANABRANCH_REFUSE_FUNCTION(narrow)
ANABRANCH_REFUSE_FUNCTION(bitcast)
#undef ANABRANCH_REFUSE_FUNCTION

}  // namespace anabranch

// Functions of <cmath>: those that the language does not have yet, and std:: before those it has. A program
// that is right never finds the declarations in std, and they stand behind those of anabranch where both are
// visible; without them the answer to std::exp(x) is a page of candidates that speak of double.
#define ANABRANCH_NOT_THERE(name)                                                                     \
  namespace anabranch {                                                                               \
  template <class X, class... Xs>                                                                     \
    requires detail::AnyComputation<X, Xs...>                                                         \
  detail::Refused<X, Xs...> name(const X&, const Xs&...) {                                            \
    static_assert(detail::always_false<X>,                                                            \
                  "anabranch: " #name " is not in the language yet; docs/language.md lists what is"); \
    return detail::refused<detail::Refused<X, Xs...>>();                                              \
  }                                                                                                   \
  }                                                                                                   \
  namespace std {                                                                                     \
  template <class... Xs>                                                                              \
    requires anabranch::detail::AnyComputation<Xs...>                                                 \
  auto name(const Xs&... xs) {                                                                        \
    return anabranch::name(xs...);                                                                    \
  }                                                                                                   \
  }
ANABRANCH_NOT_THERE(expm1)
ANABRANCH_NOT_THERE(log1p)
ANABRANCH_NOT_THERE(erfc)
ANABRANCH_NOT_THERE(signbit)
ANABRANCH_NOT_THERE(isfinite)
ANABRANCH_NOT_THERE(fmod)
ANABRANCH_NOT_THERE(fabs)
#undef ANABRANCH_NOT_THERE

// (name, arguments, wanted, parameters, template parameters...)
#define ANABRANCH_WITHOUT_STD(name, arguments, wanted, parameters, ...)                                      \
  template <__VA_ARGS__>                                                                                     \
    requires wanted                                                                                          \
  auto name parameters {                                                                                     \
    constexpr bool complex = anabranch::detail::is_composite<X> && !anabranch::detail::not_a_number<X>;      \
    if constexpr (!complex) anabranch::detail::check_single_values<X>();                                     \
    static_assert(!complex && anabranch::detail::Answered<X>,                                                \
                  "anabranch: std::" #name " takes numbers, which an Exp is not yet; write " #name arguments \
                  " without std::");                                                                         \
    return anabranch::detail::refused<anabranch::detail::Refused<X>>();                                      \
  }
#define ANABRANCH_OF_ONE(name) \
  ANABRANCH_WITHOUT_STD(name, "(x)", (anabranch::detail::Computation<X>), (const X&), class X)
// Of one type, too: then that of std would fit as well.
#define ANABRANCH_OF_TWO(name)                                                                              \
  ANABRANCH_WITHOUT_STD(name, "(x, y)", (anabranch::detail::Computation<X>), (const X&, const X&), class X) \
  ANABRANCH_WITHOUT_STD(name, "(x, y)", (anabranch::detail::AnyComputation<X, Y>), (const X&, const Y&),    \
                        class X, class Y)
namespace std {
ANABRANCH_OF_ONE(sqrt)
ANABRANCH_OF_ONE(exp)
ANABRANCH_OF_ONE(exp2)
ANABRANCH_OF_ONE(log)
ANABRANCH_OF_ONE(log2)
ANABRANCH_OF_ONE(log10)
ANABRANCH_OF_ONE(sin)
ANABRANCH_OF_ONE(cos)
ANABRANCH_OF_ONE(tan)
ANABRANCH_OF_ONE(asin)
ANABRANCH_OF_ONE(acos)
ANABRANCH_OF_ONE(atan)
ANABRANCH_OF_ONE(sinh)
ANABRANCH_OF_ONE(cosh)
ANABRANCH_OF_ONE(tanh)
ANABRANCH_OF_ONE(asinh)
ANABRANCH_OF_ONE(acosh)
ANABRANCH_OF_ONE(atanh)
ANABRANCH_OF_ONE(erf)
ANABRANCH_OF_ONE(cbrt)
ANABRANCH_OF_ONE(abs)
ANABRANCH_OF_ONE(floor)
ANABRANCH_OF_ONE(ceil)
ANABRANCH_OF_ONE(round)
ANABRANCH_OF_ONE(trunc)
ANABRANCH_OF_TWO(min)
ANABRANCH_OF_TWO(max)
ANABRANCH_OF_TWO(copysign)
ANABRANCH_OF_TWO(pow)
ANABRANCH_OF_TWO(atan2)
ANABRANCH_OF_TWO(hypot)
ANABRANCH_WITHOUT_STD(fma, "(x, y, z)", (anabranch::detail::AnyComputation<X, Y, Z>),
                      (const X&, const Y&, const Z&), class X, class Y, class Z)
ANABRANCH_WITHOUT_STD(clamp, "(x, low, high)", (anabranch::detail::Computation<X>),
                      (const X&, const X&, const X&), class X)
ANABRANCH_WITHOUT_STD(clamp, "(x, low, high)", (anabranch::detail::AnyComputation<X, Y, Z>),
                      (const X&, const Y&, const Z&), class X, class Y, class Z)
// Those of complex numbers, those beside <cmath>.
ANABRANCH_OF_ONE(real)
ANABRANCH_OF_ONE(imag)
ANABRANCH_OF_ONE(conj)
ANABRANCH_OF_ONE(norm)
ANABRANCH_OF_ONE(arg)
ANABRANCH_OF_ONE(popcount)
ANABRANCH_OF_TWO(gcd)
// Parameters that are never there let functions of anabranch stand before these where both are visible.
template <size_t I, anabranch::detail::IsExp X, class... None>
  requires(sizeof...(None) == 0 && requires { tuple_size<X>::value; })
auto get(const X& e, const None&...) {
  static_assert(
      anabranch::detail::always_false<X>,
      "anabranch: std::get takes what has a value, which an Exp has not yet; write get<I>(e) without "
      "std::");
  return anabranch::get<I>(e);
}
template <class F, anabranch::detail::IsExp X>
auto apply(F&&, X&&) {
  static_assert(anabranch::detail::always_false<F>,
                "anabranch: std::apply does not take an Exp; take it apart, as in auto [a, b] = e, and call "
                "the function");
  return anabranch::detail::refused<anabranch::Exp<double>>();
}
}  // namespace std
#undef ANABRANCH_OF_TWO
#undef ANABRANCH_OF_ONE
#undef ANABRANCH_WITHOUT_STD

#include <anabranch/detail/scalar_misuse.h>
