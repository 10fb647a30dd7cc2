#pragma once

#include "block.cuh"
#include "fold_order.cuh"

/// One block of a row, reduced in the canonical order of ir/fold_order.h by a warp, or a short row by 8
/// threads.
///
/// Groups of a warp work side by side and shuffle together, so control flow around shuffles is the same for
/// all of a warp's threads. Every lane and every partial total starts from the operator's exact identity:
/// joining it changes no bit, so lanes without an element need no special case. Results are in the group's
/// first thread; `t` is a thread's number in its group. Elements are counted from the row's start.
namespace anabranch {

/// `count` elements, of which number u is `at(u)`. Everything that a stage reads for all of them is under way
/// before the next stage uses the first.
template <class K, int count, class At>
ANABRANCH_DEVICE void compute(K& k, typename K::Value (&e)[count], At at) {
  if constexpr (K::staged) {
    typename K::Fetched fetched[count];
    typename K::Gathered gathered[count];
#pragma unroll
    for (int u = 0; u < count; ++u) fetched[u] = k.fetch(at(u));
#pragma unroll
    for (int u = 0; u < count; ++u) gathered[u] = k.gather(at(u), fetched[u]);
#pragma unroll
    for (int u = 0; u < count; ++u) e[u] = k.combine(at(u), gathered[u]);
  } else {
#pragma unroll
    for (int u = 0; u < count; ++u) e[u] = k.element(at(u));
  }
}

/// Elements first, first + step, ... that lie before `end`, and the identity for the others. Threads without
/// an element read the last one once more: without a branch the reads of several elements are in flight
/// together. Index: i64, or i32 where rows are known to be short.
template <int step, class K, int count, class Index>
ANABRANCH_DEVICE void elements_or_identity(K& k, typename K::Value (&e)[count], Index first, Index end) {
  compute<K, count>(k, e, [&](int u) { return static_cast<Index>(lesser(first + u * step, end - 1)); });
#pragma unroll
  for (int u = 0; u < count; ++u)
    if (first + u * step >= end) e[u] = K::identity();
}

/// Elements i, i + step, ... before `end`, from left to right. Several are computed before they are joined.
template <int step, class K, class Index>
ANABRANCH_DEVICE typename K::Value strided(K& k, Index i, Index end) {
  typename K::Value total = K::identity();
#pragma unroll 1
  for (; i < end; i += K::unroll * step) {
    typename K::Value e[K::unroll];
    elements_or_identity<step>(k, e, i, end);
#pragma unroll
    for (int u = 0; u < K::unroll; ++u) total = k.join(total, e[u]);
  }
  return total;
}

/// Lane j = lane j o lane j + h, for h = lanes / 2 ... 1. The result is in the group's first lane.
template <int lanes, class K>
ANABRANCH_DEVICE typename K::Value halve(K& k, typename K::Value v) {
#pragma unroll
  for (int half = lanes / 2; half >= 1; half /= 2) v = k.join(v, K::shuffle_down(v, half, lanes));
  return v;
}

/// Narrow lanes by a warp: each round reads 32 elements, which are joined to their lanes in order.
template <class K, class Index>
ANABRANCH_DEVICE typename K::Value narrow_by_warp(K& k, Index begin, Index end, int t) {
  constexpr int lanes = static_cast<int>(fold_order::narrow_lanes);
  typename K::Value lane = K::identity();
#pragma unroll 1
  for (; begin < end; begin += K::unroll * warp_size) {
    typename K::Value e[K::unroll];
    elements_or_identity<warp_size, K, K::unroll, Index>(k, e, begin + t, end);
#pragma unroll
    for (int u = 0; u < K::unroll; ++u)
#pragma unroll
      for (int from = 0; from < warp_size; from += lanes)
        lane = k.join(lane, K::shuffle(e[u], from + t % lanes, warp_size));
  }
  return halve<lanes>(k, lane);
}

/// Elements [begin, begin + count), 1 <= count <= fold_order::block, by a warp.
template <class K, class Index>
ANABRANCH_DEVICE typename K::Value reduce_block(K& k, Index begin, Index count, int t) {
  static_assert(fold_order::wide_lanes == warp_size);
  const Index end = begin + count;
  if (count < fold_order::wide_from) return narrow_by_warp(k, begin, end, t);
  return halve<warp_size>(k, strided<warp_size>(k, begin + t, end));
}

/// Rows of fewer than fold_order::wide_from elements by groups of 8 threads, each of which has two narrow
/// lanes.
template <class K, class Index>
ANABRANCH_DEVICE typename K::Value reduce_by_eight(K& k, Index count, int t) {
  constexpr int pairs = K::unroll > 2 ? 2 : 1;
  typename K::Value low = K::identity(), high = K::identity();
#pragma unroll 1
  for (Index i = t; i < count; i += pairs * fold_order::narrow_lanes) {
    typename K::Value e[2 * pairs];
    elements_or_identity<8>(k, e, i, count);
#pragma unroll
    for (int u = 0; u < pairs; ++u) {
      low = k.join(low, e[2 * u]);
      high = k.join(high, e[2 * u + 1]);
    }
  }
  return halve<8>(k, k.join(low, high));
}

/// A row in `lanes` lanes by one thread. With half as many lanes as the order has, a row of two groups gives
/// the same bits: lane j is then joined with lane j + lanes first, as halving would.
template <int lanes, class K, class Index>
ANABRANCH_DEVICE typename K::Value reduce_in_lanes(K& k, Index count) {
  // A large body is emitted once; of others no more elements are computed together than elsewhere.
  constexpr int together = K::unroll < lanes ? K::unroll : lanes;
  constexpr int copies = K::unroll > 1 ? lanes / together : 1;
  typename K::Value lane[lanes];
#pragma unroll
  for (int j = 0; j < lanes; ++j) lane[j] = K::identity();
#pragma unroll 1
  for (Index begin = 0; begin < count; begin += lanes)
#pragma unroll copies
    for (int first = 0; first < lanes; first += together) {
      if (begin + first >= count) break;
      typename K::Value e[together];
      elements_or_identity<1, K, together, Index>(k, e, begin + first, count);
#pragma unroll
      for (int j = 0; j < together; ++j) lane[first + j] = k.join(lane[first + j], e[j]);
    }
#pragma unroll
  for (int half = lanes / 2; half >= 1; half /= 2)
#pragma unroll
    for (int j = 0; j < half; ++j) lane[j] = k.join(lane[j], lane[j + half]);
  return lane[0];
}

/// Narrow lane `lane` and those `step`, 2 step ... after it, joined by halving, of a row of at least as many
/// elements as there are lanes: one lane after the other, so that few values are alive at a time.
template <int lane, int step, class K, class Index>
ANABRANCH_DEVICE typename K::Value join_narrow_lanes(K& k, Index count) {
  if constexpr (step == fold_order::narrow_lanes) {
    return strided<step, K, Index>(k, lane, count);
  } else {
    const typename K::Value left = join_narrow_lanes<lane, 2 * step>(k, count);
    return k.join(left, join_narrow_lanes<lane + step, 2 * step>(k, count));
  }
}

/// One row per thread of a warp, of up to `longest` elements, fewer than fold_order::wide_from, perhaps none.
/// The warp's longest row decides whether they keep four lanes.
template <int longest, class K, class Index>
ANABRANCH_DEVICE typename K::Value reduce_by_thread(K& k, Index count) {
  static_assert(longest < fold_order::wide_from && fold_order::narrow_lanes == 16);
  if (ballot(count > 8) == 0) return reduce_in_lanes<4>(k, count);
  if (longest <= 16 || count <= 16) return reduce_in_lanes<8>(k, count);
  return join_narrow_lanes<0, 1>(k, count);
}

/// Ordered operators: strictly from left to right, at least one element.
template <class K>
ANABRANCH_DEVICE typename K::Value left_to_right(K& k, i64 begin, i64 count) {
  typename K::Value e[1];
  compute<K>(k, e, [&](int) { return begin; });
  typename K::Value total = e[0];
#pragma unroll 1
  for (i64 i = 1; i < count; ++i) {
    compute<K>(k, e, [&](int) { return begin + i; });
    total = k.join(total, e[0]);
  }
  return total;
}

}  // namespace anabranch
