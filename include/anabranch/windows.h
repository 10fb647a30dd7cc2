#pragma once

#include <anabranch/segments.h>
#include <anabranch/seq.h>
#include <anabranch/transform.h>

/// Arrays, and signals that never end, cut into pieces: windows that may overlap, tiles, slices. What is cut is read where
/// it lies.
namespace anabranch {

namespace detail {

/// How many windows there are in n elements; negative, which is no number of items, where the size or the hop is none.
inline Exp<std::int64_t> number_of_windows(const Exp<std::int64_t>& n, const Exp<std::int64_t>& size,
                                           const Exp<std::int64_t>& hop) {
  return cond(min(size, hop) < 1, std::int64_t{-1}, cond(n < size, std::int64_t{0}, (n - size) / hop + 1));
}

}  // namespace detail

/// Elements [k * hop, k * hop + size) of a vector for k = 0, 1, ..., as far as there are `size` of them. Regular. A size or hop
/// below 1 is a RunError.
template <class T>
Seq<Vector<T>> windows(const Acc<Vector<T>>& a, const Position& size, const Position& hop,
                       detail::Loc at = detail::Loc::current()) {
  const Exp<std::int64_t> length = size.value(), step = hop.value();
  return detail::produce_labelled(
      detail::number_of_windows(anabranch::size(a, at), length, step),
      [&](const Exp<std::int64_t>& k) {
        return detail::acc<1, T>(
            detail::part(length.handle(), a.handle(), (k * step).handle(), false, at, "windows"));
      },
      "windows", at);
}

/// Rows [k * hop, k * hop + size) of an array, along its outermost dimension, for k = 0, 1, ...: of a matrix of frames of
/// several channels the windows of these.
template <int N, class T>
  requires(N >= 2)
Seq<Array<N, T>> windows(const Acc<Array<N, T>>& a, const Position& size, const Position& hop,
                         detail::Loc at = detail::Loc::current()) {
  const Exp<std::int64_t> length = size.value(), step = hop.value(), rows = extent(a, 0, at);
  // Where there is a window the array has as many rows.
  const Exp<std::int64_t> rows_of_window = max(min(length, rows), 0);
  return detail::produce_labelled(
      detail::number_of_windows(rows, length, step),
      [&](const Exp<std::int64_t>& k) {
        return detail::reordered_along(
            "windows", a, 0, rows_of_window, [&](const Exp<std::int64_t>& i) { return k * step + i; },
            {.injective = true, .in_bounds = true}, at);
      },
      "windows", at);
}

/// Windows of different places and lengths: elements [starts[k], starts[k] + lengths[k]), one for each element of the shorter
/// of the two vectors. A position out of range is a RunError, a negative length too.
template <class T, detail::IntegerElement I, detail::IntegerElement L>
Seq<Vector<T>> windows(const Acc<Vector<T>>& a, const Acc<Vector<I>>& starts, const Acc<Vector<L>>& lengths,
                       detail::Loc at = detail::Loc::current()) {
  return detail::produce_labelled(
      min(anabranch::size(starts, at), anabranch::size(lengths, at)),
      [&](const Exp<std::int64_t>& k) {
        const auto start = cast<std::int64_t>(starts[k], at);
        return detail::generated<1>(
            "windows", {cast<std::int64_t>(lengths[k], at).handle()},
            [&](const Exp<Index<1>>& ix) {
              return Exp<T>(detail::FromHandle{},
                            detail::index(a.handle(), (ix[0] + start).handle(), at, "windows"));
            },
            at);
      },
      "windows", at);
}

/// The windows of a signal that comes in blocks, the vectors of s, however these are cut: as if all blocks were one vector.
/// The signal need not end. Windows lie over a stretch of the signal, which is copied once, or not at all where it is there.
template <class T>
Seq<Vector<T>> windows(const Seq<Vector<T>>& s, const Position& size, const Position& hop,
                       detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{},
          detail::windows_seq(s.handle(), hop.value().handle(), {size.value().handle()}, at)};
}

/// The same of a signal whose blocks are arrays of rank 2 or more, cut along the outermost dimension: frames of several
/// channels, say. `shape` is that of a window, how many rows it has and then the extents of a row, as every block has them:
/// windows(blocks, {2048, channels}, 512). A block with rows of other extents is a RunError. Windows are copied.
template <int N, class T>
  requires(N >= 2)
Seq<Array<N, T>> windows(const Seq<Array<N, T>>& s,
                         const std::type_identity_t<detail::PerDimension<N>>& shape, const Position& hop,
                         detail::Loc at = detail::Loc::current()) {
  detail::Handles extents;
  for (int d = 0; d < N; ++d) extents.push_back(shape[d].handle());
  return {detail::FromHandle{},
          detail::windows_seq(s.handle(), hop.value().handle(), std::move(extents), at)};
}

/// The arrays of one rank less that lie along dimension `axis`: slices(a, 0) is rows(a), slices(m, 1) has the columns of m.
template <int N, class T>
  requires(N >= 1)
Seq<Array<N - 1, T>> slices(const Acc<Array<N, T>>& a, int axis, detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("slices", axis, N, at);
  return detail::produce_labelled(
      extent(a, axis),
      [&](const Exp<std::int64_t>& k) {
        detail::Handles extents;
        for (int d = 0; d < N; ++d)
          if (d != axis) extents.push_back(extent(a, d).handle());
        auto [function, result] = detail::trace_function<Index<N - 1>>(
            [&](const Exp<Index<N - 1>>& ix) {
              detail::Handles position;
              for (int d = 0, next = 0; d < N; ++d)
                position.push_back(d == axis ? k.handle() : ix[next++].handle());
              return Exp<Index<N>>(detail::FromHandle{}, detail::tuple(std::move(position), at));
            },
            at);
        return detail::acc<N - 1, T>(detail::backpermute(detail::tuple(std::move(extents), at), function,
                                                         a.handle(), {.injective = true, .in_bounds = true},
                                                         at, "slices"));
      },
      "slices", at);
}

/// The array cut into tiles of this shape, in row-major order of the tiles. Where the shape does not divide the array's, the
/// last tiles along a dimension are smaller: all elements are in exactly one tile. An extent of a tile below 1 is a RunError.
template <int N, class T>
  requires(N >= 1)
Seq<Array<N, T>> tiles(const Acc<Array<N, T>>& a, const std::type_identity_t<detail::PerDimension<N>>& shape,
                       detail::Loc at = detail::Loc::current()) {
  std::vector<Exp<std::int64_t>> along;  // tiles
  Exp<std::int64_t> count = 1, least = 1;
  for (int d = 0; d < N; ++d) {
    least = min(least, shape[d]);
    // Rounded up, also of shapes near the largest integer.
    along.push_back((max(extent(a, d), 1) - 1) / max(shape[d], 1) + min(extent(a, d), 1));
    count = count * along.back();
  }
  return detail::produce_labelled(
      cond(least < 1, std::int64_t{-1}, count),
      [&](const Exp<std::int64_t>& k) {
        std::vector<Exp<std::int64_t>> begin(N, k);
        Exp<std::int64_t> rest = k;
        for (int d = N - 1; d >= 0; --d) {
          const auto i = static_cast<std::size_t>(d);
          begin[i] = (d == 0 ? rest : rest % along[i]) * shape[d];
          rest = rest / along[i];
        }
        return detail::reordered(
            "tiles", a,
            [&](int d) { return min(shape[d], extent(a, d) - begin[static_cast<std::size_t>(d)]); },
            [&](const Exp<std::int64_t>& i, int d) { return begin[static_cast<std::size_t>(d)] + i; },
            {.injective = true, .in_bounds = true}, at);
      },
      "tiles", at);
}

}  // namespace anabranch
