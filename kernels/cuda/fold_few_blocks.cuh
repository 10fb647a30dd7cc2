#pragma once

#include "tile.cuh"

/// Blocks of long rows where there are few: a block of threads for each. All threads compute its elements into
/// shared memory, so that few blocks have as much under way as many would; then a warp, for ordered operators
/// a thread, reduces them from there in the canonical order.
namespace anabranch {

/// K for the reduction of a block whose elements are in shared memory.
template <class K>
struct TiledBlock : TiledRow<K> {
  static constexpr int unroll = 8;  // a lane adds 128 elements, with nobody to take turns with
  /// Written out: NVRTC before 12.2 takes an inherited one for a host function.
  template <class A>
  ANABRANCH_DEVICE TiledBlock(const A& a, const Tile<typename K::Value>& its_tile, const i32* its_starts)
      : TiledRow<K>(a, its_tile, its_starts) {}
};

/// Computes elements [begin, begin + count) of the row into the tile. Failures are reported; says whether one
/// of this thread's elements failed.
template <class K>
ANABRANCH_DEVICE bool compute_block(TiledBlock<K>& tiled, Tile<typename K::Value>& tile, i64 begin, i32 count,
                                    i64 position) {
  K& k = tiled;
  if constexpr (K::checked) k.good = !k.failure.any();
#pragma unroll 1
  for (i32 first = static_cast<i32>(threadIdx.x); first < count; first += K::unroll * fold_threads) {
    typename K::Value e[K::unroll];
    compute<K>(k, e, [&](int u) { return begin + lesser(first + u * fold_threads, count - 1); });
#pragma unroll
    for (int u = 0; u < K::unroll; ++u)
      if (first + u * fold_threads < count) tile[static_cast<u32>(first + u * fold_threads)] = e[u];
  }
  if constexpr (K::checked) {
    if (k.good) return false;
    k.good = true;
#pragma unroll 1
    for (i32 at = static_cast<i32>(threadIdx.x); at < count && !k.failure.any(); at += fold_threads)
      k.examine(begin + at);
    report_row(k, position);
    return true;
  }
  return false;
}

/// Partial results of all blocks of the long rows, as fold_blocks computes them.
template <class K, class A>
ANABRANCH_DEVICE void fold_few_blocks(const A& a) {
  __shared__ Tile<typename K::Value> tile;
  const LongRows list(a);
  const i64 results = partial_results(a);
  TiledBlock<K> tiled(a, tile, nullptr);
  K& k = tiled;
  for (i64 cell = blockIdx.x; cell < results; cell += gridDim.x) {
    const LongRow row = row_of_cell(k, a, cell);
    k.failure = Failure();
    k.enter(row.item, row.position);
    k.begin_row();
    const i64 begin = (cell - row.first) * fold_order::block;
    const i32 count = static_cast<i32>(lesser(fold_order::block, k.length() - begin));
    const bool failed = compute_block(tiled, tile, begin, count, row.position);
    // What would be reduced from failed elements might never come to an end, and nobody reads the result.
    if (__syncthreads_or(failed) == 0 && threadIdx.x < (K::commutative ? warp_size : 1)) {
      typename K::Value value;
      if constexpr (K::commutative)
        value = reduce_block<TiledBlock<K>, i32>(tiled, 0, count, lane_in_warp());
      else
        value = left_to_right(tiled, 0, count);
      if (threadIdx.x == 0) K::put(list.cells + cell * K::components, value);
      report_row(k, row.position);
    }
    __syncthreads();
  }
}

}  // namespace anabranch
