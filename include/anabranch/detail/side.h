#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include <anabranch/exp.h>

/// Functions and values of which one is chosen: the sides of match and switch_.
namespace anabranch::detail {

template <class T>
Handle zero_of(Place at) {
  Handles parts;
  for (const ScalarType scalar : Element<T>::scalars) parts.push_back(constant(scalar, 0, at));
  return parts.size() == 1 ? parts[0] : tuple(std::move(parts), at);
}

/// A value whose scalars are all zero, whatever its fields begin with.
template <class T>
constexpr T all_zero() {
  T value{};
  Element<T>::visit(value, [](auto& scalar) { scalar = std::remove_reference_t<decltype(scalar)>(0); });
  return value;
}

inline Handle equals_number(const Handle& x, ScalarType type, std::uint64_t bits, Place at) {
  return primitive(Primitive::equal, {x, constant(type, bits, at)}, at);
}

/// What the sides have to be; static assertions show it.
#define ANABRANCH_SIDES_OF(what)                                           \
  "anabranch: the sides of " what                                          \
  " give elements of one type; convert one with cast<T>(...), or write a " \
  "number in that type, as in 0.0F"

/// The element that all sides give: that of the first one that is an Exp, else of the first.
template <class First, class... Rest>
struct SideType {
  using type = typename decltype(as_exp(std::declval<First>()))::value_type;
};
template <class First, class... Rest>
  requires(!IsExp<First> && (IsExp<Rest> || ...))
struct SideType<First, Rest...> : SideType<Rest...> {};

/// Whether a side of type X can give an Exp<T>: it is one, or a plain value that T holds.
template <class X, class T>
constexpr bool stands_for() {
  if constexpr (IsExp<X> || !std::convertible_to<const X&, Exp<T>>)
    return std::same_as<std::remove_cvref_t<decltype(as_exp(std::declval<X>()))>, Exp<T>>;
  else
    return true;
}
template <class Sides>
struct OneType;
template <class... Xs>
struct OneType<std::tuple<Xs...>> {
  static constexpr bool holds() {
    if constexpr ((std::is_void_v<Xs> || ...))
      return false;
    else
      return (stands_for<Xs, typename SideType<Xs...>::type>() && ...);
  }
};
/// Whether sides, a std::tuple of Exps, plain values or std::tuples of them, give elements of one type.
template <class Sides>
constexpr bool one_type() {
  return OneType<Sides>::holds();
}

template <class T, class X>
Exp<T> side(const X& x, Place at) {
  if constexpr (!IsExp<X> && std::convertible_to<const X&, Exp<T>>)
    return Exp<T>(x);
  else
    return as_exp(x, at);
}

/// What the side gives whose condition is the first to hold, else the last side; only that one is evaluated.
/// There is a condition for each side but the last.
template <class... Xs>
auto choose(const Handles& conditions, const std::tuple<Xs...>& sides, Place at) {
  using T = typename SideType<Xs...>::type;
  const Handles results =
      std::apply([&](const auto&... x) { return Handles{side<T>(x, at).handle()...}; }, sides);
  Handle chosen = results.back();
  for (std::size_t i = conditions.size(); i-- > 0;) chosen = cond(conditions[i], results[i], chosen, at);
  return Exp<T>(FromHandle{}, std::move(chosen));
}

}  // namespace anabranch::detail

namespace anabranch {

template <detail::Computation X, class... Functions>
auto match(const X&, const Functions&...) {
  static_assert(detail::always_false<X>,
                "anabranch: match takes apart an Exp of a std::optional or a std::variant; of a bool take "
                "cond(c, t, e), of an integer switch_");
  return Exp<double>(detail::FromHandle{}, detail::Handle{});
}

}  // namespace anabranch
