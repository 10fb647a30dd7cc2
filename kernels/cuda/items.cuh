#pragma once

#include "block.cuh"

/// Which item an output position belongs to. Where items have different sizes, a block of threads finds the
/// items of a whole tile of positions at once: one search for the first and the last item, then each
/// item that begins in the tile writes its number at its first position, and a running maximum propagates the
/// numbers.
namespace anabranch {

/// Largest i in [low, high) with start(i) <= position.
template <class K>
ANABRANCH_DEVICE i64 search_item(const K& k, i64 low, i64 high, i64 position) {
  while (high - low > 1) {
    const i64 middle = low + (high - low) / 2;
    if (k.start(middle) <= position)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The same, by a warp, which probes 32 items at a time: each probe waits for memory.
template <class K>
ANABRANCH_DEVICE i64 search_item_by_warp(const K& k, i64 low, i64 high, i64 position) {
  while (high - low > 1) {
    const i64 step = (high - low + warp_size - 1) / warp_size;
    const i64 item = low + lane_in_warp() * step;
    const u32 beyond = ballot(item >= high || (item > low && k.start(item) > position));
    const i64 first = beyond == 0 ? warp_size : __ffs(static_cast<int>(beyond)) - 1;
    high = lesser(high, low + first * step);
    low += (first - 1) * step;
  }
  return low;
}

/// Items of the positions [begin, begin + count), count <= size. In shared memory.
template <int size>
struct ItemTile {
  u32 number[size];  ///< of the position's item, counted from `first`
  i64 first, last;   ///< items of the tile's first and last position
};

/// With more items than this per position, nearly all of them empty, a binary search per position is faster.
constexpr i64 items_per_position = 8;

/// Called by the whole block.
template <int size, class K>
ANABRANCH_DEVICE void find_items(ItemTile<size>& tile, const K& k, i64 items, i64 begin, i32 count) {
  const i32 thread = static_cast<i32>(threadIdx.x), threads = static_cast<i32>(blockDim.x);
  for (i32 end = thread / warp_size; end < 2;
       end += threads / warp_size) {  // both by different warps, if there are
    const i64 item = search_item_by_warp(k, 0, items, begin + (end == 0 ? 0 : count - 1));
    if (lane_in_warp() == 0) (end == 0 ? tile.first : tile.last) = item;
  }
  for (i32 at = thread; at < size; at += threads) tile.number[at] = 0;
  __syncthreads();
  const i64 first = tile.first, last = tile.last;
  if (last - first > items_per_position * size) {
    for (i32 at = thread; at < count; at += threads)
      tile.number[at] = static_cast<u32>(search_item(k, first, last + 1, begin + at) - first);
    __syncthreads();
    return;
  }
  // Of items that begin at one place all but the last are empty.
  for (i64 item = first + 1 + thread; item <= last; item += threads) {
    const i64 start = k.start(item);
    if (k.start(item + 1) > start) tile.number[start - begin] = static_cast<u32>(item - first);
  }
  __syncthreads();
  // Each thread processes a contiguous part, before and after the scan of the threads' maxima.
  const i32 each = (size + threads - 1) / threads;
  const i32 from = lesser(thread * each, size), to = lesser(from + each, size);
  u32 largest = 0;
  for (i32 at = from; at < to; ++at)
    if (tile.number[at] > largest) largest = tile.number[at];
  largest = block_max_before(largest);
  for (i32 at = from; at < to; ++at) {
    if (tile.number[at] > largest) largest = tile.number[at];
    tile.number[at] = largest;
  }
  __syncthreads();
}

}  // namespace anabranch
