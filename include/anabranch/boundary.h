#pragma once

#include <anabranch/acc.h>
#include <anabranch/detail/terms.h>

/// What is read beyond the borders of an array, by shift and by stencils: `clamp`, `wrap`, `mirror`,
/// `constant(v)`, or a function that gives the element at an index, an Exp<Index<N>>, which lies outside.
namespace anabranch {

/// The nearest element: a a | a b c | c c. As a function of numbers, clamp(x, low, high) is
/// min(max(x, low), high).
struct Clamp {
  template <detail::NumberElement T>
  Exp<T> operator()(const Exp<T>& x, const std::type_identity_t<Located<T>>& low,
                    const std::type_identity_t<Located<T>>& high) const {
    return min(max(x, low.value(), low.place()), high.value(), low.place());
  }
};
inline constexpr Clamp clamp{};
/// The array again: b c | a b c | a b.
struct Wrap {};
inline constexpr Wrap wrap{};
/// The array reflected, the edge not repeated: c b | a b c | b a; with one element that one.
struct Mirror {};
inline constexpr Mirror mirror{};
/// The same value everywhere, a plain value or an Exp.
template <class V>
struct Constant {
  V value;
};
template <class V>
Constant<V> constant(const V& value) {
  return {value};
}

namespace detail {

/// A boundary that reads another element of the array.
template <class B>
concept Refolding = std::same_as<B, Clamp> || std::same_as<B, Wrap> || std::same_as<B, Mirror>;
template <class B>
inline constexpr bool is_constant_boundary = false;
template <class V>
inline constexpr bool is_constant_boundary<Constant<V>> = true;
template <class B>
concept NamedBoundary = Refolding<B> || is_constant_boundary<B>;
/// What a boundary may be, of arrays of rank N.
template <class B, int N>
concept Boundary = NamedBoundary<B> || takes<const B, Exp<Index<N>>&>();

/// As far as `by` reaches beyond a dimension with n elements, in either direction, and what is beyond matters: at most n.
/// So that sums with positions do not wrap around.
inline Exp<std::int64_t> within_reach(const Exp<std::int64_t>& by, const Exp<std::int64_t>& n) {
  return max(min(by, n), -n);
}
template <class B>
Exp<std::int64_t> reach(const B&, const Exp<std::int64_t>& by, const Exp<std::int64_t>& n, Place at) {
  if constexpr (std::same_as<B, Wrap>)
    return binary(Primitive::remainder, by, max(n, 1), at);
  else if constexpr (std::same_as<B, Mirror>)
    return binary(Primitive::remainder, by, max(2 * n - 2, 1), at);
  else if constexpr (std::same_as<B, Clamp> || is_constant_boundary<B>)
    return within_reach(by, n);
  else
    return by;  // a function of the index sees it
}

/// Where a position is read that is beyond a dimension with n elements, as far as `reach` allows. With n = 0 nothing is
/// read. Most positions are inside, where all of these give the position: code generators know it from the comparisons.
inline Exp<std::int64_t> refolded(Clamp, const Exp<std::int64_t>& position, const Exp<std::int64_t>& n) {
  return max(min(position, n - 1), 0);
}
inline Exp<std::int64_t> refolded(Wrap, const Exp<std::int64_t>& position, const Exp<std::int64_t>& n) {
  return cond(position < 0, position + n, cond(position < n, position, position - n));
}
inline Exp<std::int64_t> refolded(Mirror, const Exp<std::int64_t>& position, const Exp<std::int64_t>& n) {
  // The reflection at 0 is the absolute value; after 2 n - 2 positions all is the same again.
  const Exp<std::int64_t> size = abs(position);
  return cond(size < n, size, abs(max(2 * n - 2, 1) - size));
}

/// Whether both hold, without a branch.
inline Exp<bool> both(const Exp<bool>& a, const Exp<bool>& b, Place at) {
  return {FromHandle{}, primitive(Primitive::bit_and, {a.handle(), b.handle()}, at)};
}

/// The element at a position that may lie outside, of a boundary that says which element that is.
template <class B, int N, class T>
Exp<T> element_or(const B& boundary, const Acc<Array<N, T>>& a, const Exp<Index<N>>& position, Symbol label,
                  Place at) {
  const Exp<Index<N>> extents = shape(a);
  Exp<bool> inside(true);
  for (int d = 0; d < N; ++d) {
    const Exp<bool> along = both(position[d] >= 0, position[d] < extents[d], at);
    inside = d == 0 ? along : both(inside, along, at);
  }
  const Exp<T> element(FromHandle{}, index(a.handle(), position.handle(), at, label));
  if constexpr (is_constant_boundary<B>) {
    return cond(inside, element, Exp<T>(boundary.value));
  } else {
    const Exp<T> outside = as_exp(boundary(position), at);
    return cond(inside, element, outside);
  }
}

}  // namespace detail

}  // namespace anabranch
