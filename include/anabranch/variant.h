#pragma once

#include <variant>

#include <anabranch/acc.h>
#include <anabranch/detail/side.h>

/// std::variant<Ts...> as an element: the number of the alternative (uint8), and a value of each of them,
/// zero but for the one that is there, so that equal elements have equal bytes (but for 0.0 and -0.0). Size and
/// cost are those of all alternatives together. Variants compare by alternative, then by value.
namespace anabranch {

namespace detail {

template <class... Ts>
  requires(sizeof...(Ts) <= 255 && (Element<Ts>::is_element && ...))
struct Element<std::variant<Ts...>> {
  static constexpr bool is_element = true;
  static constexpr bool is_scalar = false;
  static constexpr auto scalars = join(std::array{ScalarType::uint8}, flatten<Ts...>());

  template <class V, class F>
  static constexpr void visit(V& value, F&& f) {
    constexpr bool reads = std::is_const_v<V>;
    std::conditional_t<reads, const std::uint8_t, std::uint8_t> tag =
        static_cast<std::uint8_t>(value.index());
    f(tag);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visit_alternative<I>(value, tag == I, f), ...);
    }(std::index_sequence_for<Ts...>{});
  }

 private:
  /// `after`: it shall be there, if the value can be changed.
  template <std::size_t I, class V, class F>
  static constexpr void visit_alternative(V& value, bool after, F& f) {
    using T = std::variant_alternative_t<I, std::remove_const_t<V>>;
    std::conditional_t<std::is_const_v<V>, const T, T> inside =
        value.index() == I ? *std::get_if<I>(&value) : all_zero<T>();
    Element<T>::visit(inside, f);
    if constexpr (!std::is_const_v<V>) {
      if (after) value.template emplace<I>(inside);
    }
  }
};

/// Nothing, as the alternative that holds none.
template <>
struct Element<std::monostate> : ProductElement<> {};

template <class... Ts>
inline constexpr bool ordered<std::variant<Ts...>> = (ordered<Ts> && ...);

template <class X>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<Exp<std::variant<Ts...>>> = true;

template <class V>
inline constexpr std::size_t alternatives = 0;
template <class... Ts>
inline constexpr std::size_t alternatives<std::variant<Ts...>> = sizeof...(Ts);
template <class V, std::size_t I>
using Alternative = std::variant_alternative_t<(I < alternatives<V> ? I : 0), V>;

/// The number of the one alternative of type T, or that of alternatives where there is none or several.
template <class T, class... Ts>
constexpr std::size_t alternative_of(std::type_identity<std::variant<Ts...>>) {
  std::size_t found = sizeof...(Ts), at = 0, times = 0;
  ((std::same_as<T, Ts> ? (void)(found = at, ++times) : void(), ++at), ...);
  return times == 1 ? found : sizeof...(Ts);
}

template <class V, std::size_t I>
Exp<V> variant_at(const Handle& value, Place at) {
  Handles parts{constant(ScalarType::uint8, I, at)};
  [&]<std::size_t... J>(std::index_sequence<J...>) {
    (parts.push_back(I == J ? value : zero_of<Alternative<V, J>>(at)), ...);
  }(std::make_index_sequence<std::variant_size_v<V>>{});
  return {FromHandle{}, tuple(std::move(parts), at)};
}

/// Whether it holds alternative I.
template <class... Ts>
Handle holds_at(const Exp<std::variant<Ts...>>& v, std::size_t i, Place at) {
  return equals_number(project(v.handle(), 0, 1, at), ScalarType::uint8, i, at);
}
/// Alternative I, zero where it is not there.
template <std::size_t I, class... Ts>
auto alternative_at(const Exp<std::variant<Ts...>>& v, Place at) {
  using T = std::tuple_element_t<I, std::tuple<Ts...>>;
  return Exp<T>(FromHandle{},
                project(v.handle(), 1 + first_component<std::tuple<Ts...>, I>(), components<T>, at));
}

}  // namespace detail

/// A variant that holds alternative I: make_variant<V, 1>(x), of an Exp or a plain value. Without I the type
/// of x says which, where one alternative has it: make_variant<V>(x).
template <class V, std::size_t I>
  requires(I < detail::alternatives<V>)
Exp<V> make_variant(const Located<detail::Alternative<V, I>>& value) {
  return detail::variant_at<V, I>(value.value().handle(), value.place());
}
template <class V, class X>
  requires detail::is_variant<Exp<V>>
Exp<V> make_variant(const X& value, std::source_location at = std::source_location::current()) {
  using T = typename decltype(detail::as_exp(value))::value_type;
  constexpr std::size_t i = detail::alternative_of<T>(std::type_identity<V>{});
  static_assert(
      i < std::variant_size_v<V>,
      "anabranch: make_variant<V>(x) takes a value whose type is that of one alternative; say which "
      "alternative it is, as in make_variant<V, 0>(x), or convert it with cast<T>(x)");
  return detail::variant_at<V, i % std::variant_size_v<V>>(detail::as_exp(value, at).handle(), at);
}

/// Refused, with a sentence.
template <class V, class X>
  requires(!detail::is_variant<Exp<V>>)
auto make_variant(const X&) {
  static_assert(detail::always_false<V>,
                "anabranch: make_variant<V>(x) makes a std::variant, V, as in "
                "make_variant<std::variant<int32_t, float>>(x)");
  return detail::refused<Exp<double>>();
}
template <class V, std::size_t I, class X>
  requires(I >= detail::alternatives<V>)
Exp<V> make_variant(const X&) {
  static_assert(detail::always_false<V>,
                "anabranch: make_variant<V, I> takes the number of an alternative; the variant has fewer of "
                "them (the first one is 0)");
  return {detail::FromHandle{}, detail::Handle{}};
}

/// Whether it holds alternative I: holds<1>(v); or the alternative of type T, where one has it:
/// holds<float>(v).
template <std::size_t I, class... Ts>
Exp<bool> holds(const Exp<std::variant<Ts...>>& v,
                std::source_location at = std::source_location::current()) {
  static_assert(I < sizeof...(Ts),
                "anabranch: holds<I> takes the number of an alternative; the variant has fewer of them (the "
                "first one is 0)");
  return {detail::FromHandle{}, detail::holds_at(v, I, at)};
}
template <class T, class... Ts>
Exp<bool> holds(const Exp<std::variant<Ts...>>& v,
                std::source_location at = std::source_location::current()) {
  constexpr std::size_t i = detail::alternative_of<T>(std::type_identity<std::variant<Ts...>>{});
  static_assert(i < sizeof...(Ts),
                "anabranch: holds<T> takes the type of one alternative; say which one it is by its number, "
                "as in holds<0>(v)");
  return {detail::FromHandle{}, detail::holds_at(v, i, at)};
}

/// Refused, with a sentence.
template <std::size_t I, detail::Computation X>
  requires(!detail::is_variant<X>)
Exp<bool> holds(const X&) {
  static_assert(detail::always_false<X>, "anabranch: holds takes an Exp of a std::variant");
  return detail::refused<Exp<bool>>();
}
template <class T, detail::Computation X>
  requires(!detail::is_variant<X>)
Exp<bool> holds(const X& x) {
  return holds<0>(x);
}
template <std::size_t I, class X>
  requires detail::is_variant<X>
auto get(const X&) {
  static_assert(
      detail::always_false<X>,
      "anabranch: what a variant holds is not known while the program is being built; take it apart "
      "with match");
  return detail::refused<Exp<double>>();
}
template <class T, class X>
  requires detail::is_variant<X>
auto get(const X& v) {
  return get<0>(v);
}

namespace detail {

template <class... Ts, class... Functions>
auto match_variant(const Exp<std::variant<Ts...>>& v, const Functions&... functions) {
  constexpr bool fits = (takes<Functions, Exp<Ts>&>() && ...);
  static_assert(fits,
                "anabranch: function i of match takes alternative i of the variant, an Exp of its type");
  if constexpr (fits) {
    using Sides = std::tuple<decltype(functions(std::declval<Exp<Ts>&>()))...>;
    static_assert(one_type<Sides>(), ANABRANCH_SIDES_OF("match"));
    if constexpr (one_type<Sides>()) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        std::tuple<Exp<Ts>...> values{alternative_at<I>(v, {})...};
        Handles conditions{holds_at(v, I, {})...};
        conditions.pop_back();
        return choose(conditions, Sides{functions(std::get<I>(values))...}, {});
      }(std::index_sequence_for<Ts...>{});
    } else {
      return Exp<double>(FromHandle{}, Handle{});
    }
  } else {
    return Exp<double>(FromHandle{}, Handle{});
  }
}

}  // namespace detail

/// f_i(value), where alternative i is there. One function for each alternative, in order, each called once,
/// while the program is built; of what they give, elements of one type, only that of the alternative at hand
/// is evaluated (no error of the others appears). Some may give plain values.
///
///     match(shape, [](auto circle) { return ...; }, [](auto square) { return ...; })
///
/// Cost: alternative i is found after i + 1 comparisons.
template <class... Ts, class... Functions>
auto match(const Exp<std::variant<Ts...>>& v, const Functions&... functions) {
  static_assert(sizeof...(Functions) == sizeof...(Ts),
                "anabranch: match of a variant takes one function for each alternative, in their order");
  if constexpr (sizeof...(Functions) == sizeof...(Ts))
    return detail::match_variant(v, functions...);
  else
    return Exp<double>(detail::FromHandle{}, detail::Handle{});
}

}  // namespace anabranch

namespace std {
/// Refused, with a sentence (see detail/misuse.h). The parameters that are never there let get of anabranch
/// stand before these where both are visible.
template <size_t I, class X, class... None>
  requires(anabranch::detail::is_variant<X> && sizeof...(None) == 0)
auto get(const X& v, const None&...) {
  return anabranch::get<I>(v);
}
template <class T, class X, class... None>
  requires(anabranch::detail::is_variant<X> && sizeof...(None) == 0)
auto get(const X& v, const None&...) {
  return anabranch::get<T>(v);
}
template <class F, class V, class... Vs>
  requires(anabranch::detail::is_variant<std::remove_cvref_t<V>> ||
           (anabranch::detail::is_variant<std::remove_cvref_t<Vs>> || ...))
auto visit(F&&, V&&, Vs&&...) {
  static_assert(
      anabranch::detail::always_false<V>,
      "anabranch: std::visit takes what is there when it is called; take a variant apart with match, "
      "one function for each alternative");
  return anabranch::detail::refused<anabranch::Exp<double>>();
}
}  // namespace std
