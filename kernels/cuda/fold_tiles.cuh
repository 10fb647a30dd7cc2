#pragma once

#include "tile.cuh"

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
/// elements begin; prefetch_starts(begin, end) and prefetch_elements(begin, end), which bring row_start and
/// elements closer; load_quad(n, origin, at, range, even), which fetches the elements from `at` on that lie in the
/// range, all counted from `origin`, as number n to n + 3; element_of_four(n), the element of that number.
namespace anabranch {

/// Rows whose starts a block of threads holds at a time.
constexpr int window_rows = 1024;
/// Elements of a window before this one are counted in 32 bits. Rows beyond it wait for the next window.
constexpr i32 window_elements = 64 * tile_elements;
/// What a row costs besides its elements, in elements: an offset and a result.
constexpr i64 row_work = 4;
/// Ordered operators take one thread per row: with a longer average most of a block would be idle.
constexpr i64 longest_ordered = 128;

/// The last of the rows [low, high) that begins at or before an element; `low` does.
ANABRANCH_DEVICE i32 row_of(const i32* starts, i32 low, i32 high, i32 element) {
  while (high - low > 1) {
    const i32 middle = (low + high) / 2;
    if (starts[middle] <= element)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The same by a warp, which probes 32 rows at a time.
ANABRANCH_DEVICE i32 row_by_warp(const i32* starts, i32 low, i32 high, i32 element) {
  while (high - low > 1) {
    const i32 step = (high - low + warp_size - 1) / warp_size;
    const i32 row = low + lane_in_warp() * step;
    const u32 before = ballot(row < high && starts[row] <= element);
    low += (warp_size - 1 - __clz(static_cast<int>(before))) * step;
    high = static_cast<i32>(lesser(high, low + step));
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
ANABRANCH_DEVICE i32 examine_elements(K& k, const TiledRow<K>& tiled, RangeOf<i32> range, i32 row, i32 next) {
  k.good = true;
#pragma unroll 1
  for (i32 at = static_cast<i32>(threadIdx.x) * four; at < range.end; at += fold_threads * four)
#pragma unroll 1
    for (i32 element = at; element < at + four; ++element) {
      if (!range.has(element)) continue;
      const i32 number = row_of(tiled.starts, row, next, tiled.first_element + element);
      const i64 position = tiled.first_row + number;
      k.failure = Failure();
      k.enter(k.item_of(position), position);
      k.begin_row();
      k.examine(tiled.first_element + element - tiled.starts[number]);
      if (!k.failure.any()) continue;
      report_row(k, position);
      return number;
    }
  return next;
}

/// Those that were fetched as number n to n + 3: gathers of all four are under way before one is used.
template <class K>
ANABRANCH_DEVICE void compute_four(K& k, int n, typename K::Value (&values)[four]) {
  if constexpr (K::staged) {
    typename K::GatheredOfFour gathered[four];
#pragma unroll
    for (int i = 0; i < four; ++i) gathered[i] = k.gather_of_four(n + i);
#pragma unroll
    for (int i = 0; i < four; ++i) values[i] = k.combine_of_four(n + i, gathered[i]);
  } else {
#pragma unroll
    for (int i = 0; i < four; ++i) values[i] = k.element_of_four(n + i);
  }
}

/// Computes the elements of the rows [row, next), which fit, into the tile. Failures are reported, and
/// `failed` is lowered to the number of the first row with a failed element.
template <class K>
ANABRANCH_DEVICE void compute_elements(TiledRow<K>& tiled, Tile<typename K::Value>& tile, i32& failed,
                                       const Quad& fours, i32 row, i32 next) {
  K& k = tiled;
  const i64 origin = tiled.origin + tiled.first_element;
  const RangeOf<i32> range{tiled.starts[row] - tiled.first_element, tiled.starts[next] - tiled.first_element};
  const i32 first = static_cast<i32>(threadIdx.x) * four;
  if (range.begin == range.end || first >= range.end) return;
  k.failure = Failure();
  k.begin_row();
  if constexpr (K::checked) k.good = !k.failure.any();
  constexpr i32 step = fold_threads * four;
#pragma unroll 1
  for (i32 turn = first; turn < range.end; turn += step * (K::ahead / four)) {
    // All reads are issued before any value is used.
#pragma unroll
    for (int n = 0; n < K::ahead; n += four)
      if (turn + n / four * step < range.end)
        k.load_quad(n, origin, turn + n / four * step, range, fours.even);
#pragma unroll
    for (int n = 0; n < K::ahead; n += four) {
      const i32 at = turn + n / four * step;
      if (at >= range.end) break;
      typename K::Value values[four];
      compute_four(k, n, values);
#pragma unroll
      for (int i = 0; i < four; ++i) tile[static_cast<u32>(at) + i] = values[i];
    }
  }
  if constexpr (K::checked)
    if (!k.good) atomicMin(&failed, examine_elements(k, tiled, range, row, next));
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
    i32 length = 0;
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

/// So many of `left` rows make a window: the last two are of about one size.
ANABRANCH_DEVICE i32 rows_of_window(i64 left) {
  if (left >= 2 * window_rows) return window_rows;
  const i32 rows = static_cast<i32>(left);
  return rows <= window_rows ? rows : (rows + 1) / 2;
}

/// Where the tile that begins with a row ends, of a window's `rows`; that row itself if it is too long. The
/// elements end where the last quad of the tile does, so that no thread takes one more. `last`: no rows come
/// after the window, so its tiles are of about one size.
template <class K>
ANABRANCH_DEVICE i32 tile_end(const TiledRow<K>& k, i32 row, i32 rows, bool last) {
  const i32 begin = k.starts[row], left = k.starts[rows] - begin;
  const i32 end = k.first_element + tile_elements;
  if (k.starts[rows] <= end) return rows;
  if (last) {
    const u32 tiles = (static_cast<u32>(left) + tile_elements - four - 1) / (tile_elements - four);
    const i32 share = static_cast<i32>((static_cast<u32>(left) + tiles - 1) / tiles);
    const i32 next = row_by_warp(k.starts, row, rows, begin + share - 1) + 1;
    if (k.starts[next] <= end) return next;
  }
  const i32 next = row_by_warp(k.starts, row, rows + 1, end);
  return next == row && k.starts[row + 1] - begin <= tile_elements ? row + 1 : next;
}

/// All rows except those that are entered in the list.
template <class K, int group, class A>
ANABRANCH_DEVICE void fold_tiles(const A& a) {
  __shared__ Tile<typename K::Value> tile;
  __shared__ i32 starts[window_rows + 1];
  __shared__ i64 share[2];
  __shared__ i64 last_element;
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
    if (lane_in_warp() == 0) {
      share[warp] = row;
      if (warp == 1) last_element = k.row_start(row);
    }
  }
  __syncthreads();

  const Quad fours(k);
#pragma unroll 1
  for (i64 begin = share[0]; begin < share[1];) {
    i32 rows = rows_of_window(share[1] - begin);
    k.first_row = begin;
    k.origin = k.row_start(begin);
    __syncthreads();  // all threads are done with the rows before these
    if (threadIdx.x == 0) failed = rows;
    for (i32 i = static_cast<i32>(threadIdx.x); i <= rows; i += fold_threads)
      starts[i] = static_cast<i32>(lesser(k.row_start(begin + i) - k.origin, window_elements));
    __syncthreads();
    if (starts[rows] == window_elements) {
      rows = row_by_warp(starts, 0, rows + 1, window_elements - 1);
      if (rows == 0) {
        long_row(static_cast<K&>(k), a, begin, k.row_start(begin + 1) - k.origin);
        ++begin;
        continue;
      }
    }
    const bool last = begin + rows == share[1];
    k.prefetch_starts(begin + rows, lesser(begin + rows + window_rows, share[1]));
    i32 row = 0;
#pragma unroll 1
    while (row < rows) {
      k.first_element = static_cast<i32>(fours.of(k.origin + starts[row]) - k.origin);
      const i32 next = tile_end(k, row, rows, last);
      if (next == row) {
        long_row(static_cast<K&>(k), a, begin + row, starts[row + 1] - starts[row]);
        ++row;
        continue;
      }
      // What does not fill a tile is the next window's first.
      if (next == rows && !last && row > 0 && starts[rows] - starts[row] < tile_elements - four) break;
      const i64 next_element = k.origin + starts[next];
      k.prefetch_elements(next_element, lesser(next_element + tile_elements, last_element));
      compute_elements(k, tile, failed, fours, row, next);
      __syncthreads();
      reduce_tile<group>(k, row, K::checked && failed < next ? failed : next);
      __syncthreads();
      row = next;
    }
    begin += row;
  }
}

}  // namespace anabranch
