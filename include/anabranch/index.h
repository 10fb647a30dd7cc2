#pragma once

#include <anabranch/detail/terms.h>

/// Positions and shapes as numbers. Shapes and indices are an Index<N> or an Exp of one, outermost dimension
/// first, as shape(a) gives them.
namespace anabranch {

namespace detail {
template <class A, class B>
consteval bool of_one_rank() {
  static_assert(index_rank<A> == index_rank<B>,
                "anabranch: the shapes and indices have different ranks; they need as many dimensions");
  return index_rank<A> == index_rank<B>;
}
/// Of which one may have been meant as a shape or an index.
template <class A, class B>
concept NoShapes = Computation<A> || Computation<B> || IndexLike<A> || IndexLike<B>;
template <int N>
Exp<std::int64_t> extent_of(const Exp<Index<N>>& shape, int d, Place at) {
  return {FromHandle{}, project(shape.handle(), d, 1, at)};
}
}  // namespace detail

/// The row-major position of an index in an array of that shape. Nothing is checked: it is the index that is
/// read at, by a[ix] or a.linear(i), that has to be in range.
template <detail::IndexLike S, detail::IndexLike X>
Exp<std::int64_t> to_linear(const S& shape, const X& ix,
                            std::source_location at = std::source_location::current()) {
  using P = detail::Primitive;
  Exp<std::int64_t> position = detail::number<std::int64_t>(0, at);
  if constexpr (detail::of_one_rank<S, X>()) {
    const auto extents = detail::as_exp(shape, at);
    const auto where = detail::as_exp(ix, at);
    for (int d = 0; d < detail::index_rank<S>; ++d) {
      const Exp<std::int64_t> rows =
          detail::binary(P::multiply, position, detail::extent_of(extents, d, at), at);
      position = detail::binary(P::add, rows, detail::extent_of(where, d, at), at);
    }
  }
  return position;
}

/// The index at a row-major position; of a position before 0 or behind the last, an index out of range in the
/// outermost dimension. In a shape with an extent of 0 (the outermost does not count) there is none: a
/// division by zero, which is a RunError with the place.
template <detail::IndexLike S>
auto from_linear(const S& shape, const Position& position) {
  constexpr int rank = detail::index_rank<S>;
  const std::source_location at = position.place();
  const auto extents = detail::as_exp(shape, at);
  detail::Handles parts(static_cast<std::size_t>(rank));
  Exp<std::int64_t> rest = position.value();
  for (int d = rank - 1; d > 0; --d) {
    const auto both = divmod(rest, detail::extent_of(extents, d, at), at);
    parts[static_cast<std::size_t>(d)] = get<1>(both, at).handle();
    rest = get<0>(both, at);
  }
  if constexpr (rank > 0) parts[0] = rest.handle();
  return Exp<Index<rank>>(detail::FromHandle{}, detail::tuple(std::move(parts), at));
}

/// The shape that two shapes have in common: the lesser extent in each dimension.
template <detail::IndexLike A, detail::IndexLike B>
Exp<Index<detail::index_rank<A>>> intersect(const A& a, const B& b,
                                            std::source_location at = std::source_location::current()) {
  const auto left = detail::as_exp(a, at);
  detail::Handles parts;
  if constexpr (detail::of_one_rank<A, B>()) {
    const auto right = detail::as_exp(b, at);
    for (int d = 0; d < detail::index_rank<A>; ++d)
      parts.push_back(min(detail::extent_of(left, d, at), detail::extent_of(right, d, at), at).handle());
    return {detail::FromHandle{}, detail::tuple(std::move(parts), at)};
  } else {
    return left;
  }
}

/// Refused, with a sentence.
#define ANABRANCH_OF_SHAPES                                                                                  \
  "anabranch: to_linear, from_linear and intersect take shapes and indices, as shape(a) and index_of(i, j) " \
  "give them"
template <class S, class X>
  requires(detail::NoShapes<S, X> && !(detail::IndexLike<S> && detail::IndexLike<X>))
Exp<std::int64_t> to_linear(const S&, const X&) {
  static_assert(detail::always_false<S>, ANABRANCH_OF_SHAPES);
  return detail::refused<Exp<std::int64_t>>();
}
template <detail::Computation S, class X>
  requires(!detail::IndexLike<S>)
Exp<Index<1>> from_linear(const S&, const X&) {
  static_assert(detail::always_false<S>, ANABRANCH_OF_SHAPES);
  return detail::refused<Exp<Index<1>>>();
}
template <class A, class B>
  requires(detail::NoShapes<A, B> && !(detail::IndexLike<A> && detail::IndexLike<B>))
auto intersect(const A&, const B&) {
  static_assert(detail::always_false<A>, ANABRANCH_OF_SHAPES);
  return detail::refused<Exp<Index<1>>>();
}
#undef ANABRANCH_OF_SHAPES

}  // namespace anabranch
