#pragma once

#include "failure.cuh"
#include "items.cuh"

/// The map skeleton: every output position is computed on its own, neighbouring threads at neighbouring
/// positions.
///
/// A kernel K has: the constants `segmented` and `unroll`, positions that a thread computes before it stores
/// the first of them; Value, one scalar per component; start(item), the item's first position;
/// item_of(position); enter(item, position), what the item and the index in it decide; element(); store(value)
/// at `out_at`; `failure`.
namespace anabranch {

constexpr int map_threads = 256;
constexpr i32 map_tile = 1024;

/// Some of a tile's positions: `first`, which is one before `count`, and others `map_threads` apart. Several
/// are computed before any is stored, so that their reads are in flight together; threads without a position
/// compute the last one once more. `item_at(p)` is the item of the tile's position p.
template <class K, class ItemAt>
ANABRANCH_DEVICE void map_some(K& k, i64 begin, i32 first, i32 count, ItemAt item_at) {
  typename K::Value values[K::unroll];
  i64 places[K::unroll];
  i64 failed = -1;
  k.failure = Failure();
#pragma unroll
  for (int u = 0; u < K::unroll; ++u) {
    const i32 at = lesser(first + u * map_threads, count - 1);
    k.enter(item_at(at), begin + at);
    values[u] = k.element();
    places[u] = k.out_at;
    // Positions rise: the first failure is the lowest.
    if (failed < 0 && k.failure.any()) failed = begin + at;
  }
#pragma unroll
  for (int u = 0; u < K::unroll; ++u) {
    k.out_at = places[u];
    if (first + u * map_threads < count) k.store(values[u]);
  }
  if (failed >= 0) report(k.a.error, static_cast<u64>(failed), k.failure);
}

template <class K, class ItemAt>
ANABRANCH_DEVICE void map_a_tile(K& k, i64 begin, i32 count, ItemAt item_at) {
#pragma unroll 1
  for (i32 first = static_cast<i32>(threadIdx.x); first < count; first += K::unroll * map_threads)
    map_some(k, begin, first, count, item_at);
}

/// Domains in which a position says by itself which item it belongs to, or where no one asks.
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

}  // namespace anabranch
