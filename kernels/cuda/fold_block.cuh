#pragma once

#include "block.cuh"
#include "fold_order.cuh"

/// One block of a row, reduced in the canonical order of ir/fold_order.h by a group of 8 or 32 threads.
///
/// Groups of a warp work side by side and shuffle together, so all of a warp's threads come through here
/// with the same control flow around shuffles. Every lane and every partial total starts from the operator's
/// exact identity: joining it changes no bit, so lanes without an element need no care.
namespace anabranch {

/// Elements i, i + step, ... before `end`, from left to right. Several are computed before they are joined:
/// their reads are in flight together.
template <int step, class K>
ANABRANCH_DEVICE typename K::Value strided(K& k, i64 i, i64 end) {
  typename K::Value total = K::identity();
  if (K::unroll > 1) {
    for (; i + 3 * step < end; i += 4 * step) {
      typename K::Value e[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) e[u] = k.element(i + u * step);
#pragma unroll
      for (int u = 0; u < 4; ++u) total = k.join(total, e[u]);
    }
  }
#pragma unroll 1
  for (; i < end; i += step) total = k.join(total, k.element(i));
  return total;
}

/// Lane j = lane j o lane j + h, for h = lanes / 2 ... 1. The result is in the group's first lane.
template <int lanes, class K>
ANABRANCH_DEVICE typename K::Value halve(K& k, typename K::Value v) {
#pragma unroll
  for (int half = lanes / 2; half >= 1; half /= 2) v = k.join(v, K::shuffle_down(v, half, lanes));
  return v;
}

/// How a group of `group` threads goes about the parts of a block; `t` is the thread's number in the group.
/// Elements are counted from the row's start.
template <int group, class K>
struct Parts;

template <class K>
struct Parts<32, K> {
  using Value = typename K::Value;

  static ANABRANCH_DEVICE Value wide(K& k, i64 begin, i64 end, int t) {
    return halve<32>(k, strided<32>(k, begin + t, end));
  }

  /// 32 elements a round; the lane of each is joined to them in their order.
  static ANABRANCH_DEVICE Value narrow(K& k, i64 begin, i64 end, int t) {
    Value lane = K::identity();
#pragma unroll 1
    for (; begin < end; begin += warp_size) {
      const Value e = begin + t < end ? k.element(begin + t) : K::identity();
#pragma unroll
      for (int from = 0; from < warp_size; from += 8) lane = k.join(lane, K::shuffle(e, from + t % 8, 32));
    }
    return halve<8>(k, lane);
  }

  static ANABRANCH_DEVICE Value few(K& k, i64 begin, int count, int t) {
    const Value e = t < count ? k.element(begin + t) : K::identity();
    Value total = K::identity();
    for (int from = 0; from < count; ++from) total = k.join(total, K::shuffle(e, from, 32));
    return total;
  }
};

template <class K>
struct Parts<8, K> {
  using Value = typename K::Value;

  /// Thread t has the lanes t, t + 8, t + 16, t + 24.
  static ANABRANCH_DEVICE Value wide(K& k, i64 begin, i64 end, int t) {
    Value lane[4] = {K::identity(), K::identity(), K::identity(), K::identity()};
    if (K::unroll > 1) {
      for (i64 i = begin + t; i < end; i += 32) {
        Value e[4];
#pragma unroll
        for (int u = 0; u < 4; ++u) e[u] = k.element(i + 8 * u);
#pragma unroll
        for (int u = 0; u < 4; ++u) lane[u] = k.join(lane[u], e[u]);
      }
    } else {
      // One copy of a large body; four rounds turn the lanes round to where they were.
#pragma unroll 1
      for (i64 i = begin + t; i < end; i += 8) {
        const Value next = k.join(lane[0], k.element(i));
        lane[0] = lane[1];
        lane[1] = lane[2];
        lane[2] = lane[3];
        lane[3] = next;
      }
    }
    return halve<8>(k, k.join(k.join(lane[0], lane[2]), k.join(lane[1], lane[3])));
  }

  static ANABRANCH_DEVICE Value narrow(K& k, i64 begin, i64 end, int t) {
    return halve<8>(k, strided<8>(k, begin + t, end));
  }

  static ANABRANCH_DEVICE Value few(K& k, i64 begin, int count, int t) {
    Value total = K::identity();
#pragma unroll 1
    for (int first = 0; ballot(first < count) != 0; first += 8) {
      const Value e = first + t < count ? k.element(begin + first + t) : K::identity();
#pragma unroll
      for (int from = 0; from < 8; ++from) total = k.join(total, K::shuffle(e, from, 8));
    }
    return total;
  }
};

/// Elements [begin, begin + count), count <= fold_order::block; the identity for none. The result is in the
/// group's first lane.
template <int group, class K>
ANABRANCH_DEVICE typename K::Value reduce_block(K& k, i64 begin, i64 count, int t) {
  using P = Parts<group, K>;
  const i64 wide = count >= fold_order::wide_from ? count / fold_order::wide_lanes * fold_order::wide_lanes : 0;
  const i64 rest = count - wide;
  const i64 narrow = rest > fold_order::sequential ? rest / fold_order::narrow_lanes * fold_order::narrow_lanes : 0;
  // In the order of the elements: a thread remembers the first check that fails.
  typename K::Value in_wide = K::identity(), in_narrow = K::identity();
  if (in_any_lane<group>(wide > 0)) in_wide = P::wide(k, begin, begin + wide, t);
  begin += wide;
  if (in_any_lane<group>(narrow > 0)) in_narrow = P::narrow(k, begin, begin + narrow, t);
  const typename K::Value one_by_one = P::few(k, begin + narrow, static_cast<int>(rest - narrow), t);
  return k.join(in_wide, k.join(in_narrow, one_by_one));
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
