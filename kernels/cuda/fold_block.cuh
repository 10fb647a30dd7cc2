#pragma once

#include "block.cuh"
#include "fold_order.cuh"

/// One block of a row, reduced in the canonical order of
/// ir/fold_order.h by a warp, or a short row by 8 threads.
///
/// Groups of a warp work side by side and shuffle together, so all of a warp's threads come through here
/// with the same control flow around shuffles. Every lane and every partial total starts from the operator's
/// exact identity: joining it changes no bit, so lanes without an element need no care. Results are in the
/// group's first thread; `t` is a thread's number in its group. Elements are counted from the row's start.
namespace anabranch {

/// Element i, which must be one before `end`, or the identity. All threads read, those without an element the
/// last one once more: without a branch the reads of several elements are in flight together.
template <class K>
ANABRANCH_DEVICE typename K::Value element_or_identity(K& k, i64 i, i64 end) {
  const typename K::Value e = k.element(lesser(i, end - 1));
  return i < end ? e : K::identity();
}

/// Elements i, i + step, ... before `end`, from left to right. Several are computed before they are joined.
template <int step, class K>
ANABRANCH_DEVICE typename K::Value strided(K& k, i64 i, i64 end) {
  typename K::Value total = K::identity();
#pragma unroll 1
  for (; i < end; i += K::unroll * step) {
    typename K::Value e[K::unroll];
#pragma unroll
    for (int u = 0; u < K::unroll; ++u) e[u] = element_or_identity(k, i + u * step, end);
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

/// How many of a run of elements go into lanes of this number.
ANABRANCH_DEVICE i64 in_wide_lanes(i64 count) {
  return count >= fold_order::wide_from ? count / fold_order::wide_lanes * fold_order::wide_lanes : 0;
}
ANABRANCH_DEVICE i64 in_narrow_lanes(i64 count) {
  return count > fold_order::sequential ? count / fold_order::narrow_lanes * fold_order::narrow_lanes : 0;
}

/// Narrow lanes by a warp: 32 elements a round; the lane of each is joined to them in their order.
template <class K>
ANABRANCH_DEVICE typename K::Value narrow_by_warp(K& k, i64 begin, i64 end, int t) {
  typename K::Value lane = K::identity();
#pragma unroll 1
  for (; begin < end; begin += K::unroll * warp_size) {
    typename K::Value e[K::unroll];
#pragma unroll
    for (int u = 0; u < K::unroll; ++u) e[u] = element_or_identity(k, begin + u * warp_size + t, end);
#pragma unroll
    for (int u = 0; u < K::unroll; ++u)
#pragma unroll
      for (int from = 0; from < warp_size; from += 8)
        lane = k.join(lane, K::shuffle(e[u], from + t % 8, warp_size));
  }
  return halve<8>(k, lane);
}

/// Elements [begin, begin + count), count <= fold_order::block; the identity for none.
template <class K>
ANABRANCH_DEVICE typename K::Value reduce_block(K& k, i64 begin, i64 count, int t) {
  typename K::Value in_wide = K::identity(), in_narrow = K::identity(), one_by_one = K::identity();
  const i64 end = begin + count;
  const i64 wide_end = begin + in_wide_lanes(count);
  const i64 narrow_end = wide_end + in_narrow_lanes(end - wide_end);
  const int rest = static_cast<int>(end - narrow_end);
  // Read first, so that nobody waits for it at the end.
  typename K::Value last = K::identity();
  if (rest > 0) last = element_or_identity(k, narrow_end + t, end);
  if (wide_end > begin) in_wide = halve<32>(k, strided<32>(k, begin + t, wide_end));
  if (narrow_end > wide_end) in_narrow = narrow_by_warp(k, wide_end, narrow_end, t);
  for (int from = 0; from < rest; ++from)
    one_by_one = k.join(one_by_one, K::shuffle(last, from, warp_size));
  return k.join(in_wide, k.join(in_narrow, one_by_one));
}

/// Rows of fewer than fold_order::wide_from elements by groups of 8 threads: the narrow lanes.
template <class K>
ANABRANCH_DEVICE typename K::Value reduce_by_eight(K& k, i64 count, int t) {
  typename K::Value in_narrow = K::identity(), one_by_one = K::identity();
  const i64 narrow = in_narrow_lanes(count);
  // Read first, so that nobody waits for it at the end.
  typename K::Value last = K::identity();
  if (narrow < count) last = element_or_identity(k, narrow + t, count);
  if (ballot(narrow > 0) != 0) in_narrow = halve<8>(k, strided<8>(k, t, narrow));
#pragma unroll 1
  for (i64 begin = narrow; ballot(begin < count) != 0; begin += 8) {
#pragma unroll
    for (int from = 0; from < 8; ++from) one_by_one = k.join(one_by_one, K::shuffle(last, from, 8));
    last = K::identity();
    if (begin + 8 < count) last = element_or_identity(k, begin + 8 + t, count);
  }
  return k.join(in_narrow, one_by_one);
}

/// Ordered operators: strictly from left to right, at least one element.
template <class K>
ANABRANCH_DEVICE typename K::Value left_to_right(K& k, i64 begin, i64 count) {
  typename K::Value total = k.element(begin);
#pragma unroll 1
  for (i64 i = 1; i < count; ++i) total = k.join(total, k.element(begin + i));
  return total;
}

}  // namespace anabranch
