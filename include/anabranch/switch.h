#pragma once

#include <anabranch/detail/callable.h>
#include <anabranch/detail/side.h>

/// Choice by a number.
namespace anabranch {

namespace detail {

template <auto Number, class X>
struct Case {
  X side;
};
template <class X>
inline constexpr bool is_case = false;
template <auto Number, class X>
inline constexpr bool is_case<Case<Number, X>> = true;

/// The value of a side: an Exp, a plain value, or what a function without arguments gives.
template <class X>
auto value_of_side(const X& x) {
  static_assert(Computation<X> || std::invocable<const X&> || !HasCallOperator<X>,
                "anabranch: the function of a case takes no parameters");
  if constexpr (!Computation<X> && std::invocable<const X&>)
    return x();
  else
    return x;
}
template <auto Number, class X>
auto value_of_side(const Case<Number, X>& c) {
  return value_of_side(c.side);
}
template <class... Xs>
using ValuesOfSides = std::tuple<decltype(value_of_side(std::declval<const Xs&>()))...>;

/// Case numbers, which may be enumerators, as numbers of type T.
template <class T, auto Number>
constexpr bool case_fits() {
  if constexpr (std::is_enum_v<decltype(Number)>)
    return std::in_range<T>(+static_cast<std::underlying_type_t<decltype(Number)>>(Number));
  else
    return std::in_range<T>(+Number);
}
template <class... Xs>
constexpr bool cases_then_default() {
  constexpr std::size_t cases = (std::size_t{0} + ... + (is_case<Xs> ? 1 : 0));
  using Last = std::tuple_element_t<sizeof...(Xs) - 1, std::tuple<std::type_identity<Xs>...>>;
  return cases + 1 == sizeof...(Xs) && !is_case<typename Last::type>;
}

template <class T, class X>
struct CaseNumber {  // of the default: none
  static constexpr bool fits = true;
  static constexpr bool is(std::uint64_t) { return false; }
};
template <class T, auto Number, class X>
struct CaseNumber<T, Case<Number, X>> {
  static constexpr bool fits = case_fits<T, Number>();
  static constexpr std::uint64_t bits = bits_of(static_cast<T>(Number));
  static constexpr bool is(std::uint64_t other) { return bits == other; }
};
template <class T, class... Xs>
constexpr bool distinct_cases() {
  const auto times = []<class X>(std::type_identity<X>) {
    if constexpr (is_case<X>)
      return (0 + ... + (CaseNumber<T, Xs>::is(CaseNumber<T, X>::bits) ? 1 : 0));
    else
      return 1;
  };
  return ((times(std::type_identity<Xs>{}) == 1) && ...);
}

template <class T, class... Xs>
auto switch_at(const Exp<T>& x, const Xs&... sides) {
  constexpr bool fit = (CaseNumber<T, Xs>::fits && ...);
  static_assert(fit, "anabranch: the number of a case is out of range for the integer that switch_ looks at");
  constexpr bool distinct = !fit || distinct_cases<T, Xs...>();
  static_assert(distinct, "anabranch: two cases of switch_ have the same number");
  using Sides = ValuesOfSides<Xs...>;
  static_assert(one_type<Sides>(), ANABRANCH_SIDES_OF("switch_"));
  if constexpr (fit && distinct && one_type<Sides>()) {
    Handles conditions;
    const auto add = [&]<class X>(std::type_identity<X>) {
      if constexpr (is_case<X>)
        conditions.push_back(equals_number(x.handle(), scalar_type<T>, CaseNumber<T, X>::bits, {}));
    };
    (add(std::type_identity<Xs>{}), ...);
    return choose(conditions, Sides{value_of_side(sides)...}, {});
  } else {
    return Exp<double>(FromHandle{}, Handle{});
  }
}

}  // namespace detail

/// One case of switch_: an integer or an enumerator, and an Exp, a plain value, or a function without
/// arguments that gives one.
template <auto Number, class X>
detail::Case<Number, X> case_(X side) {
  return {std::move(side)};
}
/// Refused, with a sentence.
template <class N, class X>
detail::Case<0, X> case_(const N&, const X& side) {
  static_assert(detail::always_false<N>,
                "anabranch: the number of a case is known when the program is compiled: case_<1>(x)");
  return {side};
}
template <auto Number, class X>
  requires std::is_floating_point_v<decltype(Number)>
detail::Case<0, X> case_(X side) {
  static_assert(detail::always_false<X>, "anabranch: the number of a case is an integer or an enumerator");
  return {std::move(side)};
}

/// The side of the case whose number x is, else the last argument. All give elements of one type (some may
/// give plain values); only the one at hand is evaluated: no error of another appears.
///
///     switch_(kind, case_<0>(x), case_<1>([&] { return x / y; }), 0.0F)
///
/// Cost: case i is found after i + 1 comparisons, in the order in which they are written; where all sides are
/// cheap and cannot fail, all are computed, and chosen from without a branch.
template <class X, class... Sides>
auto switch_(const X& x, const Sides&... sides) {
  constexpr bool integer = [] {
    if constexpr (detail::IsExp<X>)
      return detail::IntegerElement<typename X::value_type>;
    else
      return false;
  }();
  static_assert(integer, "anabranch: switch_ looks at an integer, an Exp; of a bool take cond(c, t, e)");
  constexpr bool complete = sizeof...(Sides) >= 1 && detail::cases_then_default<Sides...>();
  static_assert(!integer || complete,
                "anabranch: switch_ takes cases, as in case_<1>(x), and at the end what holds in all others");
  if constexpr (integer && complete)
    return detail::switch_at(x, sides...);
  else
    return Exp<double>(detail::FromHandle{}, detail::Handle{});
}

}  // namespace anabranch
