#pragma once

#include "failure.cuh"
#include "items.cuh"

/// The map skeleton: every output position is computed on its own, neighbouring threads at neighbouring
/// positions.
///
/// A kernel K has: the constant `segmented`; start(item), the item's first position; item_of(position);
/// enter(item, position), what the item and the index in it decide; store_element(), which computes and
/// stores; `failure`.
namespace anabranch {

template <class K>
ANABRANCH_DEVICE void map_one(K& k, i64 item, i64 position) {
  k.failure = Failure();
  k.enter(item, position);
  k.store_element();
  if (k.failure.any()) report(k.a.error, static_cast<u64>(position), k.failure);
}

/// Domains in which a position says by itself which item it belongs to, or where no one asks.
template <class K, class A>
ANABRANCH_DEVICE void map_positions(const A& a) {
  K k(a);
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 position = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; position < a.positions;
       position += step)
    map_one(k, k.item_of(position), position);
}

constexpr i32 map_tile = 1024;

/// Domains of items that differ in size.
template <class K, class A>
ANABRANCH_DEVICE void map_segments(const A& a) {
  __shared__ ItemTile<map_tile> tile;
  K k(a);
  for (i64 begin = static_cast<i64>(blockIdx.x) * map_tile; begin < a.positions;
       begin += static_cast<i64>(gridDim.x) * map_tile) {
    const i32 count = static_cast<i32>(lesser(map_tile, a.positions - begin));
    find_items(tile, k, a.items, begin, count);
    for (i32 at = static_cast<i32>(threadIdx.x); at < count; at += static_cast<i32>(blockDim.x))
      map_one(k, tile.first + tile.number[at], begin + at);
    __syncthreads();
  }
}

}  // namespace anabranch
