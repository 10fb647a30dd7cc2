#pragma once

#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include <anabranch/exp.h>

/// Products as values: elements that consist of parts (std::pair, std::tuple, Index, std::complex, a user's
/// aggregate). How one is made of expressions, and how two of them compare.
namespace anabranch {

namespace detail {

template <class... Ts>
struct Types {};

/// The parts of a product, in order; `type` is void for all else.
template <class T>
struct Parts {
  using type = void;
};
template <class... Ts>
struct Parts<std::tuple<Ts...>> {
  using type = Types<Ts...>;
};
template <class A, class B>
struct Parts<std::pair<A, B>> {
  using type = Types<A, B>;
};
template <int N>
struct Parts<Index<N>> {
  template <std::size_t... I>
  static Types<std::enable_if_t<(I + 1 > 0), std::int64_t>...> repeated(std::index_sequence<I...>);
  using type = decltype(repeated(std::make_index_sequence<static_cast<std::size_t>(N)>{}));
};
template <class T>
concept Product = !std::is_void_v<typename Parts<T>::type>;

/// A product that std::get does not take apart: its Exp is taken apart here.
template <class T>
concept OwnProduct = Product<T> && !requires { std::tuple_size<T>::value; };

template <std::size_t I, class... Ts>
std::tuple_element_t<I, std::tuple<std::type_identity<Ts>...>> part_at(Types<Ts...>);
/// The type of part I.
template <class T, std::size_t I>
using PartOf = typename decltype(part_at<I>(typename Parts<T>::type{}))::type;
template <class... Ts>
constexpr std::size_t count_parts(Types<Ts...>) {
  return sizeof...(Ts);
}
/// How many parts it has.
template <class T>
inline constexpr std::size_t part_count = count_parts(typename Parts<T>::type{});

/// The first scalar of part I.
template <class T, std::size_t I>
constexpr int first_of_part() {
  int first = 0;
  [&]<std::size_t... J>(std::index_sequence<J...>) {
    ((first += components<PartOf<T, J>>), ...);
  }(std::make_index_sequence<I>{});
  return first;
}

/// Whether values of T have an order: specialised where they have none.
template <class T>
inline constexpr bool ordered = true;
template <class... Ts>
inline constexpr bool ordered<Types<Ts...>> = (ordered<Ts> && ...);
template <Product T>
inline constexpr bool ordered<T> = ordered<typename Parts<T>::type>;

/// How two elements compare, scalar by scalar: the first pair that differs decides, `tie` where none does.
inline Exp<bool> compare_scalars(const Handle& a, const Handle& b, int count, Primitive differing, bool tie,
                                 Place at) {
  Handle result = constant(ScalarType::boolean, tie ? 1 : 0, at);
  for (int c = count; c-- > 0;) {
    const Handle x = project(a, c, 1, at), y = project(b, c, 1, at);
    result = cond(primitive(Primitive::equal, {x, y}, at), result, primitive(differing, {x, y}, at), at);
  }
  return {FromHandle{}, std::move(result)};
}
inline Exp<bool> all_equal(const Handle& a, const Handle& b, int count, Place at) {
  Handle result = constant(ScalarType::boolean, 1, at);
  for (int c = count; c-- > 0;)
    result = cond(primitive(Primitive::equal, {project(a, c, 1, at), project(b, c, 1, at)}, at), result,
                  constant(ScalarType::boolean, 0, at), at);
  return {FromHandle{}, std::move(result)};
}

}  // namespace detail

/// Comparisons of elements of several scalars: equal where all scalars are, as IEEE has it (a NaN equals
/// nothing); smaller as the first scalars that differ are (lexicographic, as std::tuple).
template <class T>
struct ElementComparisons {
 private:
  static constexpr int count = detail::components<T>;
  static Exp<bool> compare(const Located<T>& a, const Located<T>& b, detail::Primitive differing, bool tie,
                           const Place& at) {
    return detail::compare_scalars(a.value().handle(), b.value().handle(), count, differing, tie, at);
  }

 public:
  friend Exp<bool> operator==(const Located<T>& a, const Located<T>& b) {
    return detail::all_equal(a.value().handle(), b.value().handle(), count, a.place());
  }
  friend Exp<bool> operator!=(const Located<T>& a, const Located<T>& b) {
    return !detail::all_equal(a.value().handle(), b.value().handle(), count, a.place());
  }
  friend Exp<bool> operator<(const Located<T>& a, const Located<T>& b)
    requires detail::ordered<T>
  {
    return compare(a, b, detail::Primitive::less, false, a.place());
  }
  friend Exp<bool> operator<=(const Located<T>& a, const Located<T>& b)
    requires detail::ordered<T>
  {
    return compare(a, b, detail::Primitive::less, true, a.place());
  }
  friend Exp<bool> operator>(const Located<T>& a, const Located<T>& b)
    requires detail::ordered<T>
  {
    return compare(b, a, detail::Primitive::less, false, a.place());
  }
  friend Exp<bool> operator>=(const Located<T>& a, const Located<T>& b)
    requires detail::ordered<T>
  {
    return compare(b, a, detail::Primitive::less, true, a.place());
  }
};

template <detail::CompositeElement T>
struct ExpOperators<T> : ElementComparisons<T> {};

namespace detail {
/// What p->x goes through.
template <class ExpFields>
struct Arrow {
  ExpFields fields;
  const ExpFields* operator->() const { return &fields; }
};
template <class A, class B>
struct PairFields {
  Exp<A> first;
  Exp<B> second;
};
}  // namespace detail

/// The parts of a pair by their names: p->first, p->second.
template <class A, class B>
struct ExpOperators<std::pair<A, B>> : ElementComparisons<std::pair<A, B>> {
  auto operator->() const {
    const auto& e = static_cast<const Exp<std::pair<A, B>>&>(*this);
    return detail::Arrow<detail::PairFields<A, B>>{{get<0>(e), get<1>(e)}};
  }
};

namespace detail {

template <class T, class List>
struct Make;
template <class T, class... Ps>
struct Make<T, Types<Ps...>> {
  template <class... Xs>
  static constexpr bool fits() {
    if constexpr (sizeof...(Xs) == sizeof...(Ps))
      return (OperandOf<Xs, Ps> && ...);
    else
      return false;
  }

  Exp<T> operator()(const Located<Ps>&... parts) const {
    Place at;
    (void)((at = parts.place(), true) || ...);
    return {FromHandle{}, tuple({parts.value().handle()...}, at)};
  }
  template <class... Xs>
    requires(!fits<Xs...>())
  Exp<T> operator()(const Xs&...) const {
    static_assert(sizeof...(Xs) == sizeof...(Ps),
                  "anabranch: make<T> takes one value for each part of T, in order");
    static_assert(sizeof...(Xs) != sizeof...(Ps),
                  "anabranch: a value given to make<T> has another type than the part; convert it with "
                  "cast<U>(x) (an Index of any integers is index_of(i, j))");
    return {FromHandle{}, Handle{}};
  }
};
template <class T>
struct Make<T, void> {
  template <class... Xs>
  Exp<double> operator()(const Xs&...) const {
    static_assert(
        always_false<T>,
        "anabranch: make<T> makes products: std::pair, std::tuple, Index, std::complex, or a struct "
        "that ANABRANCH_AGGREGATE has named");
    return {FromHandle{}, Handle{}};
  }
};

}  // namespace detail

/// A product from its parts, in order, each an Exp or a plain value: make<std::pair<int32_t, float>>(i, x),
/// make<Point>(x, y).
template <class T>
inline constexpr detail::Make<T, typename detail::Parts<T>::type> make{};

/// Of products by their parts: cond(a < b, std::tuple(a, b), std::tuple(b, a)).
template <class A, class B>
  requires(detail::ProductOfExps<A> || detail::ProductOfExps<B>)
auto cond(const Exp<bool>& condition, const A& then, const B& otherwise,
          std::source_location at = std::source_location::current()) {
  const auto t = detail::as_exp(then, at);
  const auto e = detail::as_exp(otherwise, at);
  constexpr bool fits = std::same_as<decltype(t), decltype(e)>;
  static_assert(
      fits, "anabranch: the two sides of cond have different element types; convert one with cast<T>(...)");
  if constexpr (fits)
    return cond(condition, t, e, at);
  else
    return t;
}

/// while_loop from the parts of a product.
template <class P, class F, detail::ProductOfExps X>
auto while_loop(P p, F f, const X& x, std::source_location at = std::source_location::current()) {
  return while_loop(std::move(p), std::move(f), detail::as_exp(x, at), at);
}

/// Part I of a std::complex or of a user's aggregate: real and imaginary part, fields in the order in which
/// they were named. Structured bindings use it: auto [x, y] = point.
template <std::size_t I, detail::OwnProduct T>
  requires(I < detail::part_count<T>)
auto get(const Exp<T>& e, std::source_location at = std::source_location::current()) {
  using Part = detail::PartOf<T, I>;
  return Exp<Part>(detail::FromHandle{},
                   detail::project(e.handle(), detail::first_of_part<T, I>(), detail::components<Part>, at));
}

}  // namespace anabranch

template <anabranch::detail::OwnProduct T>
struct std::tuple_size<anabranch::Exp<T>>
    : std::integral_constant<std::size_t, anabranch::detail::part_count<T>> {};
template <std::size_t I, anabranch::detail::OwnProduct T>
struct std::tuple_element<I, anabranch::Exp<T>> {
  using type = anabranch::Exp<anabranch::detail::PartOf<T, I>>;
};

namespace anabranch {

/// Refused, with a sentence.
template <std::size_t I, detail::IsExp X>
  requires(I >= std::tuple_size<X>::value)
auto get(const X&) {
  static_assert(
      detail::always_false<X>,
      "anabranch: get<I> takes the number of a part, the first one's is 0; the product has fewer of "
      "them");
  return Exp<double>(detail::FromHandle{}, {});
}
template <std::size_t I, IsScalar T>
auto get(const Exp<T>& e) {
  static_assert(detail::always_false<T>, "anabranch: get<I> takes a part of a product; this is one value");
  return e;
}

}  // namespace anabranch
