#pragma once

#include "fold.cuh"
#include "in_order.cuh"

/// Short rows whose elements are contiguous in memory, row after row, and depend on nothing of their row.
/// Each block of threads gets rows of about the same total cost. It computes the elements of some of them
/// into shared memory, four neighbouring ones per thread, and reduces the rows from there. So memory is read
/// in order, whatever the rows' lengths, and as much at a time as for a map, and no element needs to know its
/// row. (CSR-stream: Greathouse and Daga, Efficient Sparse Matrix-Vector Multiplication on GPUs using the CSR
/// Storage Format, SC 2014. Work divided by rows and elements together: Merrill and Garland, Merge-based
/// Parallel Sparse Matrix-Vector Multiplication, SC 2016.)
///
/// A kernel K has, besides what a fold's has: `ahead`, elements that a thread fetches before it uses the
/// first; is_aligned(at), for all arrays that are read in order; row_start(position), where the row's
/// elements begin; load_quad(n, at, range, even), which fetches the elements from `at` on that lie in the
/// range, as number n to n + 3; element_of_four(n), the element of that number.
namespace anabranch {

/// Large enough for any row that is not entered in the list.
constexpr int tile_elements = fold_order::block;
/// Rows whose starts a block of threads holds at a time.
constexpr int window_rows = 1024;
/// What a row costs besides its elements, in elements: an offset and a result.
constexpr i64 row_work = 4;
/// Ordered operators take one thread per row: with a longer average most of a block would be idle.
constexpr i64 longest_ordered = 128;

/// Elements in shared memory. One slot is left out after each 128 bytes, so that neighbouring quads, and
/// neighbouring rows of as many elements, are in different banks.
template <class Value>
struct Tile {
  static constexpr u32 line = 128 / sizeof(Value);
  static constexpr u32 most = tile_elements + four;  // a quad may begin before the first row

  Value places[most + most / line];

  ANABRANCH_DEVICE Value& operator[](u32 element) { return places[element + element / line]; }
  ANABRANCH_DEVICE const Value& operator[](u32 element) const { return places[element + element / line]; }
};

/// K for the reduction of rows whose elements are in shared memory. K itself computes those elements.
template <class K>
struct TiledRow : K {
  using Value = typename K::Value;
  static constexpr bool checked = false;  // checked when they were computed
  static constexpr int unroll = 2;        // shared memory has a short latency

  const Tile<Value>& tile;
  const i64* starts;      ///< of the rows from first_row on
  i64 first_element = 0;  ///< of the tile
  i64 first_row = 0;
  u32 row = 0;  ///< the current row's first element in the tile

  template <class A>
  ANABRANCH_DEVICE TiledRow(const A& a, const Tile<Value>& its_tile, const i64* its_starts)
      : K(a), tile(its_tile), starts(its_starts) {}

  ANABRANCH_DEVICE void enter(i64 item, i64 position) {
    K::enter(item, position);
    row = static_cast<u32>(starts[position - first_row] - first_element);
  }
  ANABRANCH_DEVICE void begin_row() {}
  ANABRANCH_DEVICE Value element(i64 r) const { return tile[row + static_cast<u32>(r)]; }
};

/// A thread needs no shuffles and does not wait for memory. Longer rows would keep the others of the warp
/// waiting, so the whole warp reduces them.
template <class K>
constexpr int longest_of_thread<TiledRow<K>> = 63;

/// The last of the rows [low, high) that begins at or before an element.
ANABRANCH_DEVICE i32 row_of(const i64* starts, i32 low, i32 high, i64 element) {
  while (high - low > 1) {
    const i32 middle = (low + high) / 2;
    if (starts[middle] <= element)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The first of `rows` rows with at least `work` before it, counted in rows and elements. By a warp, which
/// probes 32 positions at a time.
template <class K>
ANABRANCH_DEVICE i64 row_after(const K& k, i64 rows, i64 work) {
  const i64 origin = k.row_start(0);
  i64 low = 0, high = rows;
  while (low < high) {
    const i64 step = (high - low + warp_size - 1) / warp_size;
    const i64 row = low + lane_in_warp() * step;
    const u32 beyond = ballot(row >= high || k.row_start(row) - origin + row * row_work >= work);
    const i64 first = beyond == 0 ? warp_size : __ffs(static_cast<int>(beyond)) - 1;
    high = lesser(high, low + first * step);
    if (first > 0) low += (first - 1) * step + 1;
  }
  return low;
}

/// Finds out which of a thread's elements failed first, and why. Returns the number of its row, or `next`.
template <class K>
ANABRANCH_DEVICE i32 examine_elements(K& k, const TiledRow<K>& tiled, i64 first, Range range, i32 row,
                                      i32 next) {
  k.good = true;
#pragma unroll 1
  for (i64 at = first; at < range.end; at += fold_threads * four)
#pragma unroll 1
    for (i64 element = at; element < at + four; ++element) {
      if (!range.has(element)) continue;
      const i32 number = row_of(tiled.starts, row, next, element);
      const i64 position = tiled.first_row + number;
      k.failure = Failure();
      k.enter(k.item_of(position), position);
      k.begin_row();
      k.examine(element - tiled.starts[number]);
      if (!k.failure.any()) continue;
      report_row(k, position);
      return number;
    }
  return next;
}

/// Computes the elements of the rows [row, next), which fit, into the tile. Failures are reported, and
/// `failed` is lowered to the number of the first row with a failed element.
template <class K>
ANABRANCH_DEVICE void compute_elements(TiledRow<K>& tiled, Tile<typename K::Value>& tile, i32& failed,
                                       const Quad& fours, i32 row, i32 next) {
  K& k = tiled;
  const Range range{tiled.starts[row], tiled.starts[next]};
  const i64 first = tiled.first_element + static_cast<i64>(threadIdx.x) * four;
  if (range.begin == range.end || first >= range.end) return;
  k.failure = Failure();
  k.begin_row();
  if constexpr (K::checked) k.good = !k.failure.any();
  constexpr i64 step = fold_threads * four;
#pragma unroll 1
  for (i64 turn = first; turn < range.end; turn += step * (K::ahead / four)) {
    // All reads are issued before any value is used.
#pragma unroll
    for (int n = 0; n < K::ahead; n += four)
      if (turn + n / four * step < range.end) k.load_quad(n, turn + n / four * step, range, fours.even);
#pragma unroll
    for (int n = 0; n < K::ahead; n += four) {
      const i64 at = turn + n / four * step;
      if (at >= range.end) break;
      typename K::Value values[four];
#pragma unroll
      for (int i = 0; i < four; ++i) values[i] = k.element_of_four(n + i);
#pragma unroll
      for (int i = 0; i < four; ++i) tile[static_cast<u32>(at - tiled.first_element) + i] = values[i];
    }
  }
  if constexpr (K::checked)
    if (!k.good) atomicMin(&failed, examine_elements(k, tiled, first, range, row, next));
}

/// Reduces the rows [row, next) from the elements in the tile.
template <int group, class K>
ANABRANCH_DEVICE void reduce_tile(TiledRow<K>& k, i32 row, i32 next) {
  const int t = static_cast<int>(threadIdx.x) % group;
#pragma unroll 1
  for (i32 first = row; first < next; first += fold_threads / group) {
    const i32 mine = first + static_cast<i32>(threadIdx.x) / group;
    const bool some = mine < next;
    k.failure = Failure();
    i64 length = 0;
    if (some) {
      k.enter(k.item_of(k.first_row + mine), k.first_row + mine);
      length = k.starts[mine + 1] - k.starts[mine];
    }
    compute_rows<group>(k, k.first_row + mine, length, some, t);
  }
}

/// A row longer than a block of the canonical order: entered in the list, or, where there is none, which
/// happens for ordered operators only, computed by one thread.
template <class K, class A>
ANABRANCH_DEVICE void long_row(K& k, const A& a, i64 position, i64 length) {
  if (threadIdx.x != 0) return;
  const i64 item = k.item_of(position);
  if (a.long_rows > 0) {
    LongRows(a).enter(position, item, length);
  } else if constexpr (!K::commutative) {
    k.failure = Failure();
    k.enter(item, position);
    k.begin_row();
    finish_row(k, true, reduce_row(k, length, 0));
    report_row(k, position);
  }
}

/// All rows except those that are entered in the list.
template <class K, int group, class A>
ANABRANCH_DEVICE void fold_tiles(const A& a) {
  __shared__ Tile<typename K::Value> tile;
  __shared__ i64 starts[window_rows + 1];
  __shared__ i64 share[2];
  __shared__ i32 failed;  // the first row with a failed element: rows from it on are not reduced
  static_assert(sizeof(tile) + sizeof(starts) + 64 <= 48 * 1024, "what a block of threads can share");

  TiledRow<K> k(a, tile, starts);
  const i64 elements = k.row_start(a.positions) - k.row_start(0);
  if constexpr (!K::commutative)
    if (elements > a.positions * longest_ordered) return fold_rows<K, 1>(a);
  const i64 work = elements + a.positions * row_work;
  const i64 each = (work + gridDim.x - 1) / gridDim.x;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  if (warp < 2) {
    const i64 row = row_after(k, a.positions, lesser((blockIdx.x + warp) * each, work));
    if (lane_in_warp() == 0) share[warp] = row;
  }
  __syncthreads();

  const Quad fours(k);
  const i64 end = share[1];
#pragma unroll 1
  for (i64 begin = share[0]; begin < end; begin += window_rows) {
    const i32 rows = static_cast<i32>(lesser(window_rows, end - begin));
    k.first_row = begin;
    __syncthreads();  // all threads are done with the rows before these
    if (threadIdx.x == 0) failed = rows;
    for (i32 i = static_cast<i32>(threadIdx.x); i <= rows; i += fold_threads)
      starts[i] = k.row_start(begin + i);
    __syncthreads();
#pragma unroll 1
    for (i32 row = 0; row < rows;) {
      k.first_element = fours.of(starts[row]);
      const i32 next = row_of(starts, row, rows + 1, starts[row] + tile_elements);
      if (next == row) {
        long_row(static_cast<K&>(k), a, begin + row, starts[row + 1] - starts[row]);
        ++row;
        continue;
      }
      compute_elements(k, tile, failed, fours, row, next);
      __syncthreads();
      reduce_tile<group>(k, row, K::checked && failed < next ? failed : next);
      __syncthreads();
      row = next;
    }
  }
}

}  // namespace anabranch
