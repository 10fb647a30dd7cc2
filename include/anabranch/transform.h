#pragma once

#include <anabranch/boundary.h>
#include <anabranch/reorder.h>

/// Arrays cut, joined, moved and enlarged (Accelerator, ASPLOS 2006, section 2, names most of them). As for all
/// reorderings, no memory is touched: readers compute the position, by additions and comparisons.
namespace anabranch {

namespace detail {

/// A number for each dimension of an array: an Index, an Exp of one, of a vector also an integer, of matrices and arrays of three
/// dimensions also numbers in braces.
template <int N>
class PerDimension {
 public:
  PerDimension(const Index<N>& numbers, Loc at = Loc::current()) : numbers_(numbers, at) {}
  PerDimension(const Exp<Index<N>>& numbers, Loc = Loc::current()) : numbers_(numbers) {}
  template <class X>
    requires(N == 1 && std::convertible_to<const X&, Position>)
  PerDimension(const X& number, Loc at = Loc::current())
      : numbers_(FromHandle{}, Position(number, at).value().handle()) {}
  PerDimension(const Position& i, const Position& j)
    requires(N == 2)
      : numbers_(index_of(i.value(), j.value())) {}
  PerDimension(const Position& i, const Position& j, const Position& k)
    requires(N == 3)
      : numbers_(index_of(i.value(), j.value(), k.value())) {}
  Exp<std::int64_t> operator[](int d) const { return numbers_[d]; }

 private:
  Exp<Index<N>> numbers_;
};

/// The element at ix is the one of `a` at from(ix[d], d) in each dimension d; extent_of(d) are the extents.
template <int N, class T, class Extent, class From>
Acc<Array<N, T>> reordered(Symbol label, const Acc<Array<N, T>>& a, Extent extent_of, From from,
                           IndexFacts facts, Place at) {
  Handles extents;
  for (int d = 0; d < N; ++d) extents.push_back(extent_of(d).handle());
  auto [function, result] = trace_function<Index<N>>(
      [&](const Exp<Index<N>>& ix) {
        Handles position;
        for (int d = 0; d < N; ++d) position.push_back(from(ix[d], d).handle());
        return Exp<Index<N>>(FromHandle{}, tuple(std::move(position), at));
      },
      at);
  return acc<N, T>(
      detail::backpermute(tuple(std::move(extents), at), function, a.handle(), facts, at, label));
}
/// The same for one dimension; the others stay.
template <int N, class T, class From>
Acc<Array<N, T>> reordered_along(Symbol label, const Acc<Array<N, T>>& a, int axis,
                                 const Exp<std::int64_t>& length, From from, IndexFacts facts, Place at) {
  return reordered(
      label, a, [&](int d) { return d == axis ? length : extent(a, d); },
      [&](const Exp<std::int64_t>& i, int d) { return d == axis ? from(i) : i; }, facts, at);
}

/// Of these extents, element by element.
template <int N, class Element>
auto generated(Symbol label, Handles extents, Element element, Place at) {
  auto [function, result] = trace_function<Index<N>>(element, at);
  using T = typename decltype(result)::value_type;
  return acc<N, T>(detail::generate(tuple(std::move(extents), at), function, at, label));
}

}  // namespace detail

// ---- Parts along one dimension, by default the innermost --------------------------------------------------

/// The first n, or all where there are fewer. A negative n is a RunError (a negative extent), here and below.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> take(const Position& n, const Acc<Array<N, T>>& a, int axis = N - 1,
                      detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("take", axis, N, at);
  return detail::reordered_along(
      "take", a, axis, min(n.value(), extent(a, axis)), [](const auto& i) { return i; },
      {.injective = true, .in_bounds = true}, at);
}
/// All but the first n, or none where there are fewer.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> drop(const Position& n, const Acc<Array<N, T>>& a, int axis = N - 1,
                      detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("drop", axis, N, at);
  const Exp<std::int64_t> first = n.value(), left = max(extent(a, axis) - first, 0);
  return detail::reordered_along(
      "drop", a, axis, cond(first < 0, first, left), [&](const auto& i) { return i + first; },
      {.injective = true, .in_bounds = true}, at);
}
/// All but the last one; of none, none.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> init(const Acc<Array<N, T>>& a, int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("init", axis, N, at);
  return detail::reordered_along(
      "init", a, axis, max(extent(a, axis) - 1, 0), [](const auto& i) { return i; },
      {.injective = true, .in_bounds = true}, at);
}
/// All but the first one; of none, none.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> tail(const Acc<Array<N, T>>& a, int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("tail", axis, N, at);
  return detail::reordered_along(
      "tail", a, axis, max(extent(a, axis) - 1, 0), [](const auto& i) { return i + 1; },
      {.injective = true, .in_bounds = true}, at);
}
/// n elements from position `begin` on, or those of them that there are: take(n, drop(begin, a)).
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> slit(const Position& begin, const Position& n, const Acc<Array<N, T>>& a, int axis = N - 1,
                      detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("slit", axis, N, at);
  const Exp<std::int64_t> first = begin.value(), left = max(extent(a, axis) - first, 0);
  return detail::reordered_along(
      "slit", a, axis, cond(first < 0, first, min(n.value(), left)), [&](const auto& i) { return i + first; },
      {.injective = true, .in_bounds = true}, at);
}
/// The last first.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> reverse(const Acc<Array<N, T>>& a, int axis = N - 1,
                         detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("reverse", axis, N, at);
  const Exp<std::int64_t> n = extent(a, axis);
  return detail::reordered_along(
      "reverse", a, axis, n, [&](const auto& i) { return n - 1 - i; }, {.injective = true, .in_bounds = true},
      at);
}
/// a, then b; of the other extents the lesser.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> concat(const Acc<Array<N, T>>& a, const Acc<Array<N, T>>& b, int axis = N - 1,
                        detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("concat", axis, N, at);
  const Exp<std::int64_t> length = extent(a, axis);
  detail::Handles extents;
  for (int d = 0; d < N; ++d)
    extents.push_back((d == axis ? length + extent(b, d) : min(extent(a, d), extent(b, d))).handle());
  return detail::generated<N>(
      "concat", std::move(extents),
      [&](const Exp<Index<N>>& ix) {
        detail::Handles behind;
        for (int d = 0; d < N; ++d) behind.push_back((d == axis ? ix[d] - length : ix[d]).handle());
        const Exp<T> left(detail::FromHandle{}, detail::index(a.handle(), ix.handle(), at, "concat"));
        const Exp<T> right(detail::FromHandle{},
                           detail::index(b.handle(), detail::tuple(std::move(behind), at), at, "concat"));
        return cond(ix[axis] < length, left, right);
      },
      at);
}

// ---- All dimensions at once -------------------------------------------------------------------------------
//
// Numbers per dimension are an Index<N> or an Exp of one, as index_of(i, j) makes it; of a vector also an
// integer.

/// Each element `by` positions further: element at ix is a[ix - by], and what that boundary gives where this is
/// outside. The shape stays.
template <int N, class T, class B>
  requires(N >= 1 && detail::Boundary<B, N>)
Acc<Array<N, T>> shift(const Acc<Array<N, T>>& a, const std::type_identity_t<detail::PerDimension<N>>& by,
                       const B& boundary, detail::Loc at = detail::Loc::current()) {
  if constexpr (detail::Refolding<B>) {
    return detail::reordered(
        "shift", a, [&](int d) { return extent(a, d); },
        [&](const auto& i, int d) {
          const Exp<std::int64_t> n = extent(a, d);
          return detail::refolded(boundary, i - detail::reach(boundary, by[d], n, at), n);
        },
        {.injective = std::same_as<B, Wrap>, .in_bounds = true}, at);
  } else {
    detail::Handles extents;
    for (int d = 0; d < N; ++d) extents.push_back(extent(a, d).handle());
    return detail::generated<N>(
        "shift", std::move(extents),
        [&](const Exp<Index<N>>& ix) {
          detail::Handles from;
          for (int d = 0; d < N; ++d)
            from.push_back((ix[d] - detail::reach(boundary, by[d], extent(a, d), at)).handle());
          const Exp<Index<N>> position(detail::FromHandle{}, detail::tuple(std::move(from), at));
          return detail::element_or(boundary, a, position, "shift", at);
        },
        at);
  }
}
/// The same with what leaves at one end coming in at the other: shift(a, by, wrap).
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> rotate(const Acc<Array<N, T>>& a, const std::type_identity_t<detail::PerDimension<N>>& by,
                        detail::Loc at = detail::Loc::current()) {
  return detail::reordered(
      "rotate", a, [&](int d) { return extent(a, d); },
      [&](const auto& i, int d) {
        const Exp<std::int64_t> n = extent(a, d);
        return detail::refolded(wrap, i - detail::reach(wrap, by[d], n, at), n);
      },
      {.injective = true, .in_bounds = true}, at);
}
/// `count` elements in each dimension, from `begin` on, every `step`-th (any integer): element at ix is
/// a[begin + step * ix]; out of range is a RunError.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> section(const Acc<Array<N, T>>& a,
                         const std::type_identity_t<detail::PerDimension<N>>& begin,
                         const std::type_identity_t<detail::PerDimension<N>>& step,
                         const std::type_identity_t<detail::PerDimension<N>>& count,
                         detail::Loc at = detail::Loc::current()) {
  return detail::reordered(
      "section", a, [&](int d) { return count[d]; },
      [&](const auto& i, int d) { return begin[d] + step[d] * i; }, {}, at);
}
/// The array again and again, up to these extents: element at ix is a[ix modulo shape(a)]. Of an empty array
/// only extents of 0 (RunError).
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> tile(const Acc<Array<N, T>>& a, const std::type_identity_t<detail::PerDimension<N>>& extents,
                      detail::Loc at = detail::Loc::current()) {
  return detail::reordered(
      "tile", a, [&](int d) { return extents[d]; },
      [&](const auto& i, int d) {
        return detail::binary(detail::Primitive::remainder, i, max(extent(a, d), 1), at);
      },
      {}, at);
}
/// `value` around it: so many elements before and after, in each dimension. Negative numbers cut off.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> pad(const Acc<Array<N, T>>& a, const std::type_identity_t<detail::PerDimension<N>>& before,
                     const std::type_identity_t<detail::PerDimension<N>>& after,
                     const std::type_identity_t<Located<T>>& value, detail::Loc at = detail::Loc::current()) {
  // Of numbers that are too large by far sums would wrap around; with these there are too many elements as well.
  const auto moderate = [](const Exp<std::int64_t>& n) {
    return max(min(n, std::int64_t{1} << 61), -(std::int64_t{1} << 61));
  };
  detail::Handles extents;
  for (int d = 0; d < N; ++d)
    extents.push_back((moderate(before[d]) + moderate(extent(a, d)) + moderate(after[d])).handle());
  const Exp<T> outside = value.value();
  return detail::generated<N>(
      "pad", std::move(extents),
      [&](const Exp<Index<N>>& ix) {
        detail::Handles from;
        for (int d = 0; d < N; ++d) from.push_back((ix[d] - before[d]).handle());
        const Exp<Index<N>> position(detail::FromHandle{}, detail::tuple(std::move(from), at));
        return detail::element_or(constant(outside), a, position, "pad", at);
      },
      at);
}

// ---- Dimensions of extent 1 -------------------------------------------------------------------------------

/// A new dimension of extent 1, which is number `axis` of the result.
template <int N, class T>
  requires(N < 4)
Acc<Array<N + 1, T>> expand_dims(const Acc<Array<N, T>>& a, int axis,
                                 detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("expand_dims", axis, N + 1, at);
  detail::Handles extents;
  for (int d = 0, next = 0; d <= N; ++d)
    extents.push_back(d == axis ? Exp<std::int64_t>(std::int64_t{1}, at).handle()
                                : extent(a, next++).handle());
  return detail::acc<N + 1, T>(
      detail::reshape(detail::tuple(std::move(extents), at), a.handle(), at, "expand_dims"));
}
/// Without dimension `axis`, whose extent is 1 (RunError, where the sizes then disagree).
template <int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, T>> drop_dim(const Acc<Array<N, T>>& a, int axis, detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("drop_dim", axis, N, at);
  detail::Handles extents;
  for (int d = 0; d < N; ++d)
    if (d != axis) extents.push_back(extent(a, d).handle());
  return detail::acc<N - 1, T>(
      detail::reshape(detail::tuple(std::move(extents), at), a.handle(), at, "drop_dim"));
}

}  // namespace anabranch
