#pragma once

#include <tuple>
#include <utility>

#include <anabranch/acc.h>
#include <anabranch/detail/given.h>
#include <anabranch/detail/side.h>
#include <anabranch/index.h>

/// Arrays made element by element: from a function of the index, from the elements of other arrays at equal
/// positions. They cost what their functions cost, and are computed inside what reads them.
namespace anabranch {

namespace detail {
/// Of the shape (n): a function of the number.
template <class F>
auto by_number(const F& f) {
  constexpr bool fits = takes<F, Exp<std::int64_t>&>();
  static_assert(fits,
                "anabranch: with a length the function takes a number, an Exp<int64_t>; with a shape, as in "
                "generate(Index{n}, f), an index");
  return [f](const Exp<Index<1>>& ix) {
    if constexpr (fits) {
      Exp<std::int64_t> number = ix[0];
      return f(number);
    } else {
      return ix;
    }
  };
}
}  // namespace detail

/// Element at ix is f(ix). `shape` may be an Index<N>, an Exp<Index<N>>, or, for a vector, a length: then f
/// takes an Exp<int64_t>.
template <int N, class F>
auto generate(const Exp<Index<N>>& shape, F f, detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<Index<N>>(f, at);
  using T = typename decltype(result)::value_type;
  return detail::acc<N, T>(detail::generate(shape.handle(), function, at, {}));
}
template <int N, class F>
auto generate(const Index<N>& shape, F f, detail::Loc at = detail::Loc::current()) {
  return generate(Exp<Index<N>>(shape, at), std::move(f), at);
}
template <class F>
auto generate(const Position& length, const F& f, detail::Loc at = detail::Loc::current()) {
  return generate(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()), detail::by_number(f), at);
}
/// Every element the same, an Exp or a plain value.
template <int N, class X>
auto fill(const Exp<Index<N>>& shape, const X& value, detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<Index<N>>([&](auto) { return value; }, at);
  using T = typename decltype(result)::value_type;
  return detail::acc<N, T>(detail::generate(shape.handle(), function, at, "fill"));
}
template <int N, class X>
auto fill(const Index<N>& shape, const X& value, detail::Loc at = detail::Loc::current()) {
  return fill(Exp<Index<N>>(shape, at), value, at);
}
template <class X>
auto fill(const Position& length, const X& value, detail::Loc at = detail::Loc::current()) {
  return fill(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()), value, at);
}

namespace detail {
/// A shape: an Index, an Exp of one, or, for a vector, a length.
template <class X>
concept ShapeLike = IndexLike<X> || std::convertible_to<const X&, Position>;
template <ShapeLike S>
auto as_shape(const S& shape, Loc at) {
  if constexpr (IndexLike<S>)
    return as_exp(shape, at);
  else
    return Exp<Index<1>>(FromHandle{}, Position(shape, at).value().handle());
}
}  // namespace detail

/// The row-major position of each element, 0, 1, 2, ..., as a T. `shape` as generate takes it.
template <detail::NumberElement T = std::int64_t, detail::ShapeLike S>
auto iota(const S& shape, detail::Loc at = detail::Loc::current()) {
  const auto extents = detail::as_shape(shape, at);
  constexpr int N = detail::index_rank<std::remove_const_t<decltype(extents)>>;
  const auto position = [&](const Exp<Index<N>>& ix) { return cast<T>(to_linear(extents, ix, at), at); };
  auto [function, result] = detail::trace_function<Index<N>>(position, at);
  return detail::acc<N, T>(detail::generate(extents.handle(), function, at, "iota"));
}
/// first, first + step, first + 2 * step, ... in row-major order. `first` and `step` are Exps or plain values of
/// one type of numbers. Of floats the position is rounded to their type, and its multiple fused with the sum, as in
/// x * y + z, so that nothing adds up; of half that is done in float, and the result rounded.
template <detail::ShapeLike S, class X, class Y>
auto enum_from_step(const S& shape, const X& first, const Y& step, detail::Loc at = detail::Loc::current()) {
  using T = typename detail::SideType<X, Y>::type;
  const auto a = detail::side<T>(first, at), s = detail::side<T>(step, at);
  const auto extents = detail::as_shape(shape, at);
  constexpr int N = detail::index_rank<std::remove_const_t<decltype(extents)>>;
  using Wide = std::conditional_t<std::same_as<T, half>, float, T>;
  const auto element = [&](const Exp<Index<N>>& ix) {
    return cast<T>(cast<Wide>(to_linear(extents, ix, at), at) * cast<Wide>(s, at) + cast<Wide>(a, at), at);
  };
  auto [function, result] = detail::trace_function<Index<N>>(element, at);
  return detail::acc<N, T>(detail::generate(extents.handle(), function, at, "enum_from_step"));
}

/// f of every element.
template <class F, int N, class T>
auto map(F f, const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<T>(f, at);
  using U = typename decltype(result)::value_type;
  return detail::acc<N, U>(detail::map(function, {a.handle()}, at, {}));
}

namespace detail {
template <class F, int N, class... Ts>
auto zip_with_at(Loc at, Symbol label, F& f, const Acc<Array<N, Ts>>&... arrays) {
  auto [function, result] = trace_function<Ts...>(f, at);
  using U = typename decltype(result)::value_type;
  return acc<N, U>(detail::map(function, {arrays.handle()...}, at, label));
}
inline constexpr auto packing = [](const auto&... parts) { return pack(parts...); };

/// The index of each element, of arrays of that shape.
template <int N>
Acc<Array<N, Index<N>>> indices(const Exp<Index<N>>& shape, Loc at) {
  auto [function, result] = trace_function<Index<N>>([](const Exp<Index<N>>& ix) { return ix; }, at);
  return acc<N, Index<N>>(detail::generate(shape.handle(), function, at, "indices"));
}

template <class X, int N>
concept ArrayOrNone = std::same_as<X, NotGiven> || (IsAcc<X> && X::rank == N);
}  // namespace detail

/// f of the elements at equal positions of two to nine arrays; the result has the intersection of the shapes
/// (minimum per dimension).
template <class F, int N, class A, class B, detail::ArrayOrNone<N> C = detail::NotGiven,
          detail::ArrayOrNone<N> D = detail::NotGiven, detail::ArrayOrNone<N> E = detail::NotGiven,
          detail::ArrayOrNone<N> G = detail::NotGiven, detail::ArrayOrNone<N> H = detail::NotGiven,
          detail::ArrayOrNone<N> I = detail::NotGiven, detail::ArrayOrNone<N> J = detail::NotGiven>
auto zip_with(F f, const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b, const C& c = {}, const D& d = {},
              const E& e = {}, const G& g = {}, const H& h = {}, const I& i = {}, const J& j = {},
              detail::Loc at = detail::Loc::current()) {
  return detail::of_given(
      [&](const auto&... arrays) { return detail::zip_with_at(at, "zip_with", f, arrays...); }, a, b, c, d, e,
      g, h, i, j);
}

/// An array of tuples from two to nine arrays; costs nothing by itself (structure of arrays).
template <int N, class A, class B, detail::ArrayOrNone<N> C = detail::NotGiven,
          detail::ArrayOrNone<N> D = detail::NotGiven, detail::ArrayOrNone<N> E = detail::NotGiven,
          detail::ArrayOrNone<N> G = detail::NotGiven, detail::ArrayOrNone<N> H = detail::NotGiven,
          detail::ArrayOrNone<N> I = detail::NotGiven, detail::ArrayOrNone<N> J = detail::NotGiven>
auto zip(const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b, const C& c = {}, const D& d = {},
         const E& e = {}, const G& g = {}, const H& h = {}, const I& i = {}, const J& j = {},
         detail::Loc at = detail::Loc::current()) {
  return detail::of_given(
      [&](const auto&... arrays) { return detail::zip_with_at(at, "zip", detail::packing, arrays...); }, a, b,
      c, d, e, g, h, i, j);
}

/// f(ix, x) of every element and its index, an Exp<Index<N>>.
template <class F, int N, class T>
auto imap(F f, const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  return detail::zip_with_at(at, "imap", f, detail::indices(shape(a, at), at), a);
}
/// f(ix, x, y, ...) of an index and the elements there; of the arrays' shapes the intersection.
template <class F, int N, class A, class B, detail::ArrayOrNone<N> C = detail::NotGiven,
          detail::ArrayOrNone<N> D = detail::NotGiven, detail::ArrayOrNone<N> E = detail::NotGiven,
          detail::ArrayOrNone<N> G = detail::NotGiven, detail::ArrayOrNone<N> H = detail::NotGiven,
          detail::ArrayOrNone<N> I = detail::NotGiven, detail::ArrayOrNone<N> J = detail::NotGiven>
auto izip_with(F f, const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b, const C& c = {}, const D& d = {},
               const E& e = {}, const G& g = {}, const H& h = {}, const I& i = {}, const J& j = {},
               detail::Loc at = detail::Loc::current()) {
  return detail::of_given(
      [&](const auto&... arrays) {
        return detail::zip_with_at(at, "izip_with", f, detail::indices(shape(a, at), at), arrays...);
      },
      a, b, c, d, e, g, h, i, j);
}

namespace detail {
template <class... Ts, int N, class T>
std::tuple<Acc<Array<N, Ts>>...> unzip_at(Loc at, const Acc<Array<N, T>>& a) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto part = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      auto [function, result] = trace_function<T>([](Exp<T> e) { return get<K>(e); }, at);
      return detail::map(function, {a.handle()}, at, "unzip");
    };
    return std::tuple<Acc<Array<N, Ts>>...>{acc<N, Ts>(part(std::integral_constant<std::size_t, I>{}))...};
  }(std::index_sequence_for<Ts...>{});
}
}  // namespace detail

/// An array of tuples or pairs taken apart; free. auto [x, y] = unzip(a).
template <int N, class... Ts>
std::tuple<Acc<Array<N, Ts>>...> unzip(const Acc<Array<N, std::tuple<Ts...>>>& a,
                                       detail::Loc at = detail::Loc::current()) {
  return detail::unzip_at<Ts...>(at, a);
}
template <int N, class A, class B>
std::tuple<Acc<Array<N, A>>, Acc<Array<N, B>>> unzip(const Acc<Array<N, std::pair<A, B>>>& a,
                                                     detail::Loc at = detail::Loc::current()) {
  return detail::unzip_at<A, B>(at, a);
}

}  // namespace anabranch
