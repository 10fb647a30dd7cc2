#pragma once

#include "scan.cuh"

/// Rows of more than one block of the canonical order, by many warps each: totals of the blocks, the nodes of
/// the counter tree over them, then all blocks, each from its carry. So elements are computed twice.
///
/// A long row has a cell of partial results for each block. The total of the last one is not needed: its cell
/// says whether the row's carries are meaningless since a check failed.
namespace anabranch {

/// A block of a long row.
struct LongBlock {
  LongRow row;
  i64 number;
};

template <class K, class A>
ANABRANCH_DEVICE LongBlock block_of(const K& k, const A& a, i64 cell) {
  LongBlock block;
  block.row = row_of_cell(k, a, cell);
  block.number = cell - block.row.first;
  return block;
}

/// Calls work(cell, its block) for all blocks of all long rows: a warp for each.
template <class K, class A, class Work>
ANABRANCH_DEVICE void each_long_block(const A& a, K& k, Work&& work) {
  const i64 cells = partial_results(a);
  const i64 step = static_cast<i64>(gridDim.x) * blockDim.x / warp_size;
  for (i64 cell = (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) / warp_size; cell < cells;
       cell += step) {
    const LongBlock block = block_of(k, a, cell);
    k.failure = Failure();
    k.enter_row(block.row.item, block.row.position);
    work(cell, block);
    report_row(k, block.row.position);
  }
}

/// The blocks' totals.
template <class K, class A>
ANABRANCH_DEVICE void scan_totals(const A& a) {
  K k(a);
  u64* cells = LongRows(a).cells;
  each_long_block(a, k, [&](i64 cell, const LongBlock& block) {
    k.begin_row();
    const i64 begin = block.number * fold_order::block;
    const i64 end = lesser(begin + fold_order::block, k.length());
    const bool needed = end < k.length();
    if (!needed && !K::checked) return;
    RowState<K> row;
    scan_block<false>(k, row, begin, end, k.length(), needed, end);
    if (needed && lane_in_warp() == 0) K::put(cells + cell * K::components, row.total);
  });
}

/// The tree's nodes, in place: one block of threads per row. The node over the 2^k blocks up to number b is
/// in the cell of block b - 1, if 2^k is the largest power of two that divides b.
template <class K, class A>
ANABRANCH_DEVICE void scan_tree(const A& a) {
  const LongRows list(a);
  const i64 rows = a.row_blocks > 0 ? a.positions : list.listed();
  K k(a);
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const LongRow row = a.row_blocks > 0 ? long_row_of(k, a, r) : list.rows[r];
    u64* cells = list.cells + row.first * K::components;
    const auto cell = [&](i64 block) { return cells + block * K::components; };
    bool meaningless = false;
    if constexpr (K::checked)
      meaningless = __syncthreads_or(static_cast<u64>(row.position) >= lowest_failed(a.error)) != 0;
    k.failure = Failure();
    k.enter_row(row.item, row.position);
    for (i64 half = 1; !meaningless && 2 * half < row.blocks; half *= 2) {
      for (i64 last = (2 * static_cast<i64>(threadIdx.x) + 2) * half - 1; last < row.blocks - 1;
           last += 2 * half * blockDim.x) {
        const typename K::Value left = K::get(cell(last - half));
        K::put(cell(last), k.join(left, K::get(cell(last)), (last + 1) * fold_order::block));
      }
      meaningless = __syncthreads_or(K::checked && k.failure.any()) != 0;
    }
    if (threadIdx.x == 0) *cell(row.blocks - 1) = meaningless;
    report_row(k, row.position);
    __syncthreads();
  }
}

/// All before a block of a row, from the seed on.
template <class K>
ANABRANCH_DEVICE void carry_into(K& k, RowState<K>& row, const u64* cells, i64 block) {
  const typename K::Value seed = row.carry;
  const i64 at = block * fold_order::block;
  row.carry = K::get(cells + (block - 1) * K::components);
  for (i64 rest = block & (block - 1); rest > 0; rest &= rest - 1)
    row.carry = k.join(K::get(cells + (rest - 1) * K::components), row.carry, at);
  if constexpr (K::seeded) row.carry = k.join(seed, row.carry, at);
  row.carried = true;
}

/// The prefixes.
template <class K, class A>
ANABRANCH_DEVICE void scan_blocks(const A& a) {
  K k(a);
  const u64* all = LongRows(a).cells;
  each_long_block(a, k, [&](i64, const LongBlock& block) {
    const u64* cells = all + block.row.first * K::components;
    if (K::checked && cells[(block.row.blocks - 1) * K::components] != 0) return;
    k.begin_row();
    RowState<K> row;
    if constexpr (K::seeded) row.carry = k.seed();
    if (K::seed_first && block.number == 0 && lane_in_warp() == 0) k.store(0, row.carry);
    if (block.number > 0) carry_into(k, row, cells, block.number);
    const i64 begin = block.number * fold_order::block;
    const i64 end = lesser(begin + fold_order::block, k.length());
    if (!scan_block<true>(k, row, begin, end, k.length(), false, end)) return;
    if (K::totals && end == k.length() && lane_in_warp() == 0) k.store_total(row.carry);
  });
}

}  // namespace anabranch
