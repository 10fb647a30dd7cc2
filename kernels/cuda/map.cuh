#pragma once

#include "failure.cuh"
#include "in_order.cuh"
#include "items.cuh"

/// The map skeleton: every output position is computed on its own,
/// neighbouring threads at neighbouring positions.
///
/// A kernel K has: the constants `segmented`; `in_place`, whether it overwrites what it reads; and `unroll`,
/// positions that a thread computes before it stores the first of them; Value, one scalar per component;
/// start(item), the item's first position; item_of(position); enter(item, position), which sets what depends on
/// the item and on the index in it; element(); store(value) at `out_at`; `failure`.
namespace anabranch {

constexpr int map_threads = 256;
constexpr i32 map_tile = 1024;

/// While computing positions a thread only records whether any check failed. If one did, it computes each
/// position again to determine the first failure: `enter(n)` makes the kernel enter the n-th, and returns the
/// position or -1 for none.
template <class K, class Enter>
ANABRANCH_DEVICE void examine(K& k, int count, Enter enter) {
  k.good = true;
#pragma unroll 1
  for (int n = 0; n < count; ++n) {
    k.failure = Failure();
    const i64 position = enter(n);
    if (position < 0) continue;
    k.examine();
    if (!k.failure.any()) continue;
    report(k.a.error, static_cast<u64>(position), k.failure);
    return;
  }
}

/// Some of a tile's positions: `first`, which is one before `count`, and others `map_threads` apart. Several
/// are computed before any is stored, so that their reads are in flight together; threads without a position
/// compute the last one once more, unless it may have been overwritten. `item_at(p)` is the item of the tile's
/// position p.
template <class K, class ItemAt>
ANABRANCH_DEVICE void map_some(K& k, i64 begin, i32 first, i32 count, ItemAt item_at) {
  typename K::Value values[K::unroll];
  i64 places[K::unroll];
  const auto enter = [&](int n) {
    const i32 at = static_cast<i32>(lesser(first + n * map_threads, count - 1));
    k.enter(item_at(at), begin + at);
    return begin + at;
  };
#pragma unroll
  for (int u = 0; u < K::unroll; ++u) {
    if constexpr (K::in_place)
      if (first + u * map_threads >= count) continue;
    enter(u);
    values[u] = k.element();
    places[u] = k.out_at;
  }
#pragma unroll
  for (int u = 0; u < K::unroll; ++u) {
    k.out_at = places[u];
    if (first + u * map_threads < count) k.store(values[u]);
  }
  if constexpr (K::checked)
    if (!k.good) examine(k, K::unroll, enter);
}

template <class K, class ItemAt>
ANABRANCH_DEVICE void map_a_tile(K& k, i64 begin, i32 count, ItemAt item_at) {
#pragma unroll 1
  for (i32 first = static_cast<i32>(threadIdx.x); first < count; first += K::unroll * map_threads)
    map_some(k, begin, first, count, item_at);
}

/// Domains in which the item follows from the position alone, or is not needed.
template <class K, class A>
ANABRANCH_DEVICE void map_positions(const A& a) {
  K k(a);
  for (i64 begin = static_cast<i64>(blockIdx.x) * map_tile; begin < a.positions;
       begin += static_cast<i64>(gridDim.x) * map_tile) {
    const i32 count = static_cast<i32>(lesser(map_tile, a.positions - begin));
    map_a_tile(k, begin, count, [&](i32 at) { return k.item_of(begin + at); });
  }
}

/// Domains of items that differ in size.
template <class K, class A>
ANABRANCH_DEVICE void map_segments(const A& a) {
  __shared__ ItemTile<map_tile> tile;
  K k(a);
  for (i64 begin = static_cast<i64>(blockIdx.x) * map_tile; begin < a.positions;
       begin += static_cast<i64>(gridDim.x) * map_tile) {
    const i32 count = static_cast<i32>(lesser(map_tile, a.positions - begin));
    find_items(tile, k, a.items, begin, count);
    map_a_tile(k, begin, count, [&](i32 at) { return tile.first + tile.number[at]; });
    __syncthreads();
  }
}

/// Kernels that read only elements at the position they write, and what all positions share. K also has:
/// `ahead`, positions that a thread takes at a time; load_quad(n, origin, at, range, even) and element_of_four(n) as
/// in fold_tiles.cuh; store_four(values, at, range, even).
template <class K, class A>
ANABRANCH_DEVICE void map_in_order(const A& a) {
  K k(a);
  k.enter(0, 0);
  const Quad fours(k);
  const Range range{k.out_at, k.out_at + a.positions};
  constexpr i64 step = static_cast<i64>(map_threads) * four;
  for (i64 tile = fours.of(range.begin) + static_cast<i64>(blockIdx.x) * (K::ahead * map_threads);
       tile < range.end; tile += static_cast<i64>(gridDim.x) * (K::ahead * map_threads)) {
    const i64 first = tile + static_cast<i64>(threadIdx.x) * four;
    // All reads are issued before any value is used.
#pragma unroll
    for (int n = 0; n < K::ahead; n += four)
      if (first + n / four * step < range.end) k.load_quad(n, 0, first + n / four * step, range, fours.even);
#pragma unroll
    for (int n = 0; n < K::ahead; n += four) {
      const i64 at = first + n / four * step;
      if (at >= range.end) break;
      typename K::Value values[four];
#pragma unroll
      for (int i = 0; i < four; ++i) values[i] = k.element_of_four(n + i);
      k.store_four(values, at, range, fours.even);
    }
    if constexpr (K::checked)
      if (!k.good)
        examine(k, K::ahead, [&](int n) {
          const i64 at = first + n / four * step + n % four;
          if (!range.has(at)) return -1ll;
          k.enter(0, at - range.begin);
          return at - range.begin;
        });
  }
}

}  // namespace anabranch
