#pragma once

#include <optional>

#include <anabranch/acc.h>
#include <anabranch/detail/side.h>

/// std::optional<T> as an element: a bool, and a T that is zero where there is no value, so that equal
/// elements have equal bytes (but for 0.0 and -0.0). None is smaller than every value.
namespace anabranch {

namespace detail {

template <class T>
  requires(Element<T>::is_element)
struct Element<std::optional<T>> {
  static constexpr bool is_element = true;
  static constexpr bool is_scalar = false;
  static constexpr auto scalars = join(std::array{ScalarType::boolean}, Element<T>::scalars);
  template <class V, class F>
  static constexpr void visit(V& value, F&& f) {
    std::conditional_t<std::is_const_v<V>, const bool, bool> there = value.has_value();
    std::conditional_t<std::is_const_v<V>, const T, T> inside = there ? *value : all_zero<T>();
    f(there);
    Element<T>::visit(inside, f);
    if constexpr (!std::is_const_v<V>) {
      if (there)
        value = inside;
      else
        value.reset();
    }
  }
};

template <class T>
inline constexpr bool ordered<std::optional<T>> = ordered<T>;

template <class T>
struct Stranger<std::optional<T>> {
  template <class X>
  static constexpr bool refuses_operand = std::same_as<X, std::nullopt_t>;
  template <class X>
  static constexpr bool refuses = refuses_operand<X> || std::same_as<X, T> || std::same_as<X, Exp<T>>;
  template <class X>
  static void answer() {
    static_assert(!refuses_operand<X>,
                  "anabranch: std::nullopt is no element; write none<T>(), and !has_value(o) for o == "
                  "std::nullopt");
    static_assert(refuses_operand<X>, "anabranch: a value is no optional by itself; write some(x)");
  }
};

template <class X>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<Exp<std::optional<T>>> = true;

template <class T>
Exp<bool> has_value_at(const Exp<std::optional<T>>& o, Place at) {
  return {FromHandle{}, project(o.handle(), 0, 1, at)};
}
/// The T inside, zero where there is none.
template <class T>
Exp<T> inside_at(const Exp<std::optional<T>>& o, Place at) {
  return {FromHandle{}, project(o.handle(), 1, components<T>, at)};
}
template <class T>
Exp<std::optional<T>> optional_at(const Exp<bool>& there, const Exp<T>& value, Place at) {
  const Handle inside = cond(there.handle(), value.handle(), zero_of<T>(at), at);
  return {FromHandle{}, tuple({there.handle(), inside}, at)};
}

}  // namespace detail

/// What std::optional has, answered: there is no value yet that could be looked at.
template <class T>
struct ExpOperators<std::optional<T>> : ElementComparisons<std::optional<T>> {
  template <class U = T>
  auto operator*() const {
    return unread<U>();
  }
  template <class U = T>
  auto operator->() const {
    unread<U>();
    return static_cast<const Exp<U>*>(nullptr);
  }
  template <class U = T>
  auto value() const {
    return unread<U>();
  }
  template <class X>
  auto value_or(const X&) const {
    return unread<T, X>();
  }
  template <class U = T>
  auto has_value() const {
    static_assert(detail::always_false<U>, "anabranch: o.has_value() is has_value(o) of an Exp");
    return detail::refused<Exp<bool>>();
  }

 private:
  template <class U, class X = U>
  static auto unread() {
    static_assert(detail::always_false<X>,
                  "anabranch: an optional has no value while the program is being built; take it apart with "
                  "match or value_or");
    return detail::refused<Exp<U>>();
  }
};

/// An optional with a value: some(x) : Exp<std::optional<T>>, of an Exp<T> or a plain value.
template <IsElement T>
Exp<std::optional<T>> some(const Exp<T>& value, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{},
          detail::tuple({detail::constant(ScalarType::boolean, 1, at), value.handle()}, at)};
}
template <IsElement T>
Exp<std::optional<T>> some(const T& value, std::source_location at = std::source_location::current()) {
  return some(Exp<T>(value, at), at);
}

/// An optional without a value: none<float>().
template <IsElement T>
Exp<std::optional<T>> none(std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{},
          detail::tuple({detail::constant(ScalarType::boolean, 0, at), detail::zero_of<T>(at)}, at)};
}

/// The value where the condition holds, else none; then the value is not evaluated (no error of it appears).
template <IsElement T>
Exp<std::optional<T>> optional_if(const Exp<bool>& condition, const Exp<T>& value,
                                  std::source_location at = std::source_location::current()) {
  return detail::optional_at(condition, value, at);
}
template <IsElement T>
Exp<std::optional<T>> optional_if(const Exp<bool>& condition, const T& value,
                                  std::source_location at = std::source_location::current()) {
  return detail::optional_at(condition, Exp<T>(value, at), at);
}
template <class X>
  requires(std::invocable<const X&> && !IsElement<X>)
auto optional_if(const Exp<bool>&, const X&) {
  static_assert(detail::always_false<X>,
                "anabranch: optional_if takes a value, which is evaluated only where the condition holds; no "
                "function is needed");
  return detail::refused<Exp<std::optional<double>>>();
}
template <class T = void>
  requires std::same_as<T, void>
auto none() {
  static_assert(detail::always_false<T>, "anabranch: none has to know its type, as in none<float>()");
  return detail::refused<Exp<std::optional<double>>>();
}
template <class X>
  requires(!detail::IsExp<X> && !IsElement<X>)
auto some(const X&) {
  static_assert(
      detail::always_false<X>,
      "anabranch: some takes one element, an Exp or a plain value; take a[i] or the(a) of an array");
  return detail::refused<Exp<std::optional<double>>>();
}
template <class C, class X>
  requires((detail::IsExp<C> && !std::same_as<C, Exp<bool>>) ||
           (detail::NumericValue<C> && !std::same_as<C, bool>))
auto optional_if(const C&, const X& value) {
  static_assert(detail::always_false<C>,
                "anabranch: the condition of optional_if is an Exp<bool>; compare first, as in x != 0");
  return none<typename decltype(detail::as_exp(value))::value_type>();
}

/// Whether there is a value.
template <IsElement T>
Exp<bool> has_value(const Exp<std::optional<T>>& o,
                    std::source_location at = std::source_location::current()) {
  return detail::has_value_at(o, at);
}
template <detail::Computation X>
  requires(!detail::is_optional<X>)
Exp<bool> has_value(const X&) {
  static_assert(detail::always_false<X>, "anabranch: has_value takes an Exp of a std::optional");
  return detail::refused<Exp<bool>>();
}

/// The value, or `otherwise` where there is none; it is evaluated only there.
template <IsElement T>
Exp<T> value_or(const Exp<std::optional<T>>& o, const std::type_identity_t<Located<T>>& otherwise) {
  const Place at = otherwise.place();
  return {detail::FromHandle{},
          detail::cond(detail::has_value_at(o, at).handle(), detail::inside_at(o, at).handle(),
                       otherwise.value().handle(), at)};
}

namespace detail {
template <class O, class X>
inline constexpr bool stands_in_for = false;
template <class T, class X>
inline constexpr bool stands_in_for<Exp<std::optional<T>>, X> = OperandOf<X, T>;
}  // namespace detail
template <detail::Computation O, class X>
  requires(!detail::stands_in_for<O, X>)
auto value_or(const O&, const X& otherwise) {
  static_assert(detail::is_optional<O>, "anabranch: value_or takes an Exp of a std::optional, and a value");
  static_assert(!std::invocable<const X&>,
                "anabranch: value_or takes a value, which is evaluated only where it is needed; match takes "
                "functions");
  if constexpr (std::invocable<const X&>)
    return detail::refused<Exp<double>>();
  else {
    static_assert(
        !detail::is_optional<O>,
        "anabranch: the value of the optional and the other one have different element types; convert "
        "one with cast<T>(...)");
    return detail::as_exp(otherwise);
  }
}

namespace detail {

template <class T, class Some, class None>
auto match_optional(const Exp<std::optional<T>>& o, const Some& with_value, const None& without) {
  constexpr bool fits = takes<Some, Exp<T>&>() && std::invocable<const None&>;
  static_assert(
      fits,
      "anabranch: the first function of match takes the value of the optional, an Exp<T>; the second "
      "takes nothing");
  if constexpr (fits) {
    Exp<T> value = inside_at(o, {});
    using Sides = std::tuple<decltype(with_value(value)), decltype(without())>;
    static_assert(one_type<Sides>(), ANABRANCH_SIDES_OF("match"));
    if constexpr (one_type<Sides>())
      return choose({has_value_at(o, {}).handle()}, Sides{with_value(value), without()}, {});
    else
      return Exp<double>(FromHandle{}, Handle{});
  } else {
    return Exp<double>(FromHandle{}, Handle{});
  }
}

}  // namespace detail

/// f(value) where there is a value, else g(). The functions are called once each, while the program is
/// built; of what they give, elements of one type, only that of the case at hand is evaluated (no error of
/// the other appears). One may give a plain value.
///
///     match(o, [](auto x) { return 1 / x; }, [] { return 0.0; })
template <IsElement T, class... Functions>
auto match(const Exp<std::optional<T>>& o, const Functions&... functions) {
  static_assert(sizeof...(Functions) == 2,
                "anabranch: match of an optional takes two functions: of the value, and of nothing");
  if constexpr (sizeof...(Functions) == 2)
    return detail::match_optional(o, functions...);
  else
    return Exp<double>(detail::FromHandle{}, detail::Handle{});
}

}  // namespace anabranch
