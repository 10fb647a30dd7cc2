#pragma once

#include "failure.cuh"
#include "fold_block.cuh"
#include "items.cuh"

/// The fold skeleton: a row is reduced by a thread, by 8 threads or by a warp, as suits the average length.
///
/// Rows longer than one block of the canonical order are left out by these: they are entered in a list, with
/// space for the partial results of their blocks. A second launch computes all listed blocks, a third joins
/// each row's partial results. Where all rows are long and of one length, those two launches do all the work,
/// without a list. Atomics allocate list entries, never values, so no result depends on the order of the
/// threads.
///
/// A kernel K has, besides what a map's has: Value, one scalar per component; length(); begin_row(), what
/// all elements of the row share (only if it has any); element(r), and where `checked` examine(r);
/// join(x, y); finish(total), the seed joined; seed(); identity() where the operator is commutative;
/// store(value); shuffles, and put / get of a Value into 8-byte cells.
namespace anabranch {

constexpr int fold_threads = 256;

// Long rows -------------------------------------------------------------------------------------------------

struct LongRow {
  i64 position, item;
  i64 first;  ///< number of its first partial result
  i64 blocks;
};

/// In the workspace: one word that counts rows and partial results together, so that rows in the order of the
/// list have their results in that order too; the rows; the partial results.
struct LongRows {
  static constexpr int count_bits =
      32;  ///< of the word, for partial results: as many rows as that, of 4096 elements and more
  static constexpr i64 header = 64;  ///< bytes

  u64* counts;
  LongRow* rows;
  u64* cells;
  i64 capacity;

  template <class A>
  explicit ANABRANCH_DEVICE LongRows(const A& a)
      : counts(reinterpret_cast<u64*>(a.workspace)),
        rows(reinterpret_cast<LongRow*>(a.workspace + header)),
        cells(reinterpret_cast<u64*>(a.workspace + header) + a.long_rows * 4),
        capacity(a.long_rows) {}

  ANABRANCH_DEVICE i64 listed() const { return static_cast<i64>(*counts >> count_bits); }
  ANABRANCH_DEVICE i64 results() const { return static_cast<i64>(*counts & ((1ull << count_bits) - 1)); }

  ANABRANCH_DEVICE void enter(i64 position, i64 item, i64 length) {
    const i64 blocks = (length + fold_order::block - 1) / fold_order::block;
    const u64 before = atomicAdd(counts, (1ull << count_bits) + static_cast<u64>(blocks));
    const i64 row = static_cast<i64>(before >> count_bits);
    if (row < capacity)
      rows[row] = LongRow{position, item, static_cast<i64>(before & ((1ull << count_bits) - 1)), blocks};
  }

  /// The row that partial result `cell` belongs to.
  ANABRANCH_DEVICE LongRow of(i64 cell) const {
    i64 low = 0, high = listed();
    while (high - low > 1) {
      const i64 middle = low + (high - low) / 2;
      if (rows[middle].first <= cell)
        low = middle;
      else
        high = middle;
    }
    return rows[low];
  }
};

/// A row where all rows are long and of one length.
template <class K, class A>
ANABRANCH_DEVICE LongRow long_row_of(const K& k, const A& a, i64 position) {
  return LongRow{position, k.item_of(position), position * a.row_blocks, a.row_blocks};
}

/// The row that partial result `cell` belongs to.
template <class K, class A>
ANABRANCH_DEVICE LongRow row_of_cell(const K& k, const A& a, i64 cell) {
  return a.row_blocks > 0 ? long_row_of(k, a, cell / a.row_blocks) : LongRows(a).of(cell);
}

template <class A>
ANABRANCH_DEVICE i64 partial_results(const A& a) {
  return a.row_blocks > 0 ? a.positions * a.row_blocks : LongRows(a).results();
}

/// The counter tree of ir/fold_order.h: partial results are pushed in order.
template <class K>
struct CounterTree {
  typename K::Value stack[48];
  int depth = 0;
  u64 count = 0;

  ANABRANCH_DEVICE void push(K& k, typename K::Value value) {
    for (u64 n = count++; n & 1; n >>= 1) value = k.join(stack[--depth], value);
    stack[depth++] = value;
  }
  ANABRANCH_DEVICE typename K::Value total(K& k) {
    typename K::Value value = stack[--depth];
    while (depth > 0) value = k.join(stack[--depth], value);
    return value;
  }
};

// Rows ------------------------------------------------------------------------------------------------------

/// While computing, elements only record that one of them failed. A thread that finds this set recomputes its
/// part of the row, element by element, to determine the first failure.
template <class K>
ANABRANCH_DEVICE void examine(K& k, i64 begin, i64 end) {
  if constexpr (K::checked) {
    if (k.good) return;
    k.good = true;
#pragma unroll 1
    for (i64 r = begin; r < end; ++r) {
      if (k.failure.any() && k.failure.element <= static_cast<u64>(r)) return;
      k.examine(r);
    }
  }
}

/// Stores a row's total, or records that there is none. Called by the thread that holds it.
template <class K>
ANABRANCH_DEVICE void finish_row(K& k, bool filled, const typename K::Value& total) {
  if (filled)
    k.store(k.finish(total));
  else if (K::seeded)
    k.store(k.seed());
  else
    k.failure.unless(false, K::empty_check, 0, 0, 0);
}

template <class K>
ANABRANCH_DEVICE void report_row(K& k, i64 position) {
  if (k.failure.any()) report(k.a.error, static_cast<u64>(position), k.failure);
}

/// A whole row of any length >= 1, one block after the other: by a warp, for ordered operators by a thread.
template <class K>
ANABRANCH_DEVICE typename K::Value reduce_row(K& k, i64 length, int t) {
  CounterTree<K> tree;
  for (i64 begin = 0;; begin += fold_order::block) {
    const i64 count = lesser(fold_order::block, length - begin);
    typename K::Value value;
    if constexpr (K::commutative)
      value = reduce_block(k, begin, count, t);
    else
      value = left_to_right(k, begin, count);
    examine(k, begin, begin + count);
    if (length <= fold_order::block) return value;
    tree.push(k, value);
    if (length - begin <= fold_order::block) return tree.total(k);
  }
}

/// The longest row that a thread reduces alone.
template <class K>
constexpr int longest_of_thread = 16;

/// One row for each group of a warp's threads. Longer ones are reduced by the whole warp, one after the
/// other, so that the other groups do not wait long. `some`: the group has a row that is not a listed one;
/// else `length` is 0.
template <int group, class K, class Index>
ANABRANCH_DEVICE void compute_rows(K& k, i64 position, Index length, bool some, int t) {
  if constexpr (!K::commutative || group == warp_size) {
    if (!some) return;
    typename K::Value total = {};
    if (length > 0) {
      k.begin_row();
      total = reduce_row(k, length, t);
    }
    if (t == 0) finish_row(k, length > 0, total);
    report_row(k, position);
  } else {
    const bool is_long =
        length > static_cast<Index>(group == 1 ? longest_of_thread<K> : fold_order::wide_from - 1);
    const Index own = is_long ? 0 : length;
    if (own > 0) k.begin_row();
    typename K::Value total;
    if constexpr (group == 1)
      total = reduce_by_thread<longest_of_thread<K>>(k, own);
    else
      total = reduce_by_eight(k, own, t);
    examine(k, 0, own);
    if (some && !is_long) {
      if (t == 0) finish_row(k, length > 0, total);
      report_row(k, position);
    }
    const u32 left = ballot(is_long && t == 0);
    if (left == 0) return;
    const i64 item = k.item;
#pragma unroll 1
    for (int lane = 0; lane < warp_size; lane += group) {
      if ((left >> lane & 1) == 0) continue;
      const i64 row = shuffle(position, lane, warp_size);
      k.failure = Failure();
      k.enter(shuffle(item, lane, warp_size), row);
      k.begin_row();
      const Index count = shuffle(length, lane, warp_size);
      total = reduce_block<K, Index>(k, 0, count, lane_in_warp());
      examine(k, 0, count);
      if (lane_in_warp() == 0) finish_row(k, true, total);
      report_row(k, row);
    }
  }
}

/// All rows except those that are entered in the list.
template <class K, int group, class A>
ANABRANCH_DEVICE void fold_rows(const A& a) {
  constexpr int rows = fold_threads / group;  // of a block of threads at a time
  __shared__ ItemTile<K::segmented ? rows : 1> tile;
  const int t = static_cast<int>(threadIdx.x) % group;
  const int mine = static_cast<int>(threadIdx.x) / group;
  K k(a);
  for (i64 begin = static_cast<i64>(blockIdx.x) * rows; begin < a.positions;
       begin += static_cast<i64>(gridDim.x) * rows) {
    if constexpr (K::segmented)
      find_items(tile, k, a.items, begin, static_cast<i32>(lesser(rows, a.positions - begin)));
    const i64 position = begin + mine;
    bool some = position < a.positions;
    i64 length = 0;
    k.failure = Failure();
    if (some) {
      i64 item = 0;
      if constexpr (K::segmented)
        item = tile.first + tile.number[mine];
      else
        item = k.item_of(position);
      k.enter(item, position);
      length = k.length();
      if (length > fold_order::block && a.long_rows > 0) {
        if (t == 0) LongRows(a).enter(position, item, length);
        some = false;
        length = 0;
      }
    }
    compute_rows<group>(k, position, length, some, t);
    if constexpr (K::segmented) __syncthreads();
  }
}

/// Partial results of all blocks of the long rows: one warp per block, for ordered operators one thread.
template <class K, class A>
ANABRANCH_DEVICE void fold_blocks(const A& a) {
  constexpr int group = K::commutative ? warp_size : 1;
  const LongRows list(a);
  const i64 results = partial_results(a);
  const int t = static_cast<int>(threadIdx.x) % group;
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x / group;
  K k(a);
  for (i64 cell = (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) / group; cell < results;
       cell += step) {
    const LongRow row = row_of_cell(k, a, cell);
    k.failure = Failure();
    k.enter(row.item, row.position);
    k.begin_row();
    const i64 begin = (cell - row.first) * fold_order::block;
    const i64 count = lesser(fold_order::block, k.length() - begin);
    typename K::Value value;
    if constexpr (K::commutative)
      value = reduce_block(k, begin, count, t);
    else
      value = left_to_right(k, begin, count);
    examine(k, begin, begin + count);
    if (t == 0) K::put(list.cells + cell * K::components, value);
    report_row(k, row.position);
  }
}

/// Partial results that a thread reads together and joins before results of different threads are joined.
constexpr int results_per_thread = 8;

/// Joins the first `count` values of `v` as leaves of a binary tree in which right subtrees may be missing.
template <class K>
ANABRANCH_DEVICE void join_own(K& k, typename K::Value (&v)[results_per_thread], i64 count) {
#pragma unroll
  for (int half = 1; half < results_per_thread; half *= 2)
#pragma unroll
    for (int i = 0; i < results_per_thread; i += 2 * half)
      if (i + half < count) v[i] = k.join(v[i], v[i + half]);
}

/// Long rows' totals from the partial results of their blocks: one block of threads per row. The counter tree
/// is a balanced binary tree without what lies beyond the end; the threads join aligned subtrees of it, and a
/// CounterTree joins their results.
template <class K, class A>
ANABRANCH_DEVICE void fold_finish(const A& a) {
  __shared__ u64 of_warp[warp_size][K::components > 0 ? K::components : 1];
  __shared__ bool meaningless;
  const LongRows list(a);
  const i64 rows = a.row_blocks > 0 ? a.positions : list.listed();
  const int thread = static_cast<int>(threadIdx.x), lane = lane_in_warp(), warp = thread / warp_size;
  const i64 chunk = static_cast<i64>(blockDim.x) * results_per_thread;
  K k(a);
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const LongRow row = a.row_blocks > 0 ? long_row_of(k, a, r) : list.rows[r];
    if constexpr (K::checked) {
      // Partial results of rows with failed elements: an operator applied to them might not terminate.
      if (thread == 0) meaningless = static_cast<u64>(row.position) >= lowest_failed(a.error);
      __syncthreads();
      const bool skipped = meaningless;
      __syncthreads();
      if (skipped) continue;
    }
    k.failure = Failure();
    k.enter(row.item, row.position);
    CounterTree<K> tree;
    for (i64 begin = 0; begin < row.blocks; begin += chunk) {
      // How many partial results there are from this thread's first one on.
      const i64 mine = row.blocks - begin - static_cast<i64>(thread) * results_per_thread;
      typename K::Value v[results_per_thread] = {};  // every thread shuffles its first, filled or not
      const u64* from = list.cells + (row.first + row.blocks - mine) * K::components;
#pragma unroll
      for (int i = 0; i < results_per_thread; ++i)
        if (i < mine) v[i] = K::get(from + i * K::components);
      join_own(k, v, mine);
#pragma unroll
      for (int half = 1; half < warp_size; half *= 2) {
        const typename K::Value right = K::shuffle_down(v[0], half, warp_size);
        if (lane % (2 * half) == 0 && static_cast<i64>(half) * results_per_thread < mine)
          v[0] = k.join(v[0], right);
      }
      if (lane == 0 && mine > 0) K::put(of_warp[warp], v[0]);
      __syncthreads();
      if (warp == 0) {
        const int warps = static_cast<int>(blockDim.x) / warp_size;
        const i64 results = static_cast<i64>(warp_size) * results_per_thread;  // of one warp
        const i64 filled = lesser((lesser(chunk, row.blocks - begin) + results - 1) / results, warps);
        typename K::Value whole = {};
        if (lane < filled) whole = K::get(of_warp[lane]);
#pragma unroll
        for (int half = 1; half < warp_size; half *= 2) {
          const typename K::Value right = K::shuffle_down(whole, half, warp_size);
          if (lane % (2 * half) == 0 && lane + half < filled) whole = k.join(whole, right);
        }
        if (lane == 0) tree.push(k, whole);
      }
      __syncthreads();
    }
    if (thread == 0) finish_row(k, true, tree.total(k));
    report_row(k, row.position);
  }
}

}  // namespace anabranch
