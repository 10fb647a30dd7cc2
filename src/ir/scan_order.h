#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "ir/fold_order.h"

/// The canonical order of scans: what `scanl` and `scanr` mean, down to the last bit.
///
/// Element i of a scan depends on the elements x[0..i] and on nothing else: not on the row's length, the
/// operator's class, the chunk, the number of threads, the vector width or the back end. So the scan of a
/// prefix is the prefix of the scan. (fold's lanes depend on the length: an element of a scan is not the fold
/// of its prefix, and the total that `scanl_` gives is the last inclusive element, not fold's bits.) The
/// order of operands is kept, so one order serves every associative operator:
///
///  * A row is cut into *blocks* of fold_order::block elements counted from its start, a block into *groups*
///    of `group` elements; the last of each may be shorter.
///  * Within a group, lane j holds x[j], and for h = 1, 2, 4 .. group/2: lane j = lane j-h o lane j, for all
///    j >= h at once (Kogge and Stone 1973). A group's total t is its last lane.
///  * The groups of a block have a running total c: c(0) is the block's carry, c(g+1) = c(g) o t(g). An
///    element of group g is c(g) o its lane. A block's own total is ((t0 o t1) o t2) ..., without the carry.
///  * The carry of block b is seed o tree, where tree joins the totals of the blocks before it as
///    fold_order's counter tree does. Block 0 has the seed as its carry, or none: then its first group's
///    lanes are the elements. The total of a row's last block, on which nothing depends, is not computed.
///
/// So a vector or a warp scans a group in logarithmic time, one pass reads and writes each element once, and
/// blocks of a long row are independent but for their carries, which need no more than their totals.
///
/// The inclusive scan is that; the exclusive one (which needs a seed) is the seed and then the inclusive
/// elements but the last. A scan from the right takes the row in reverse order, with the operator's operands
/// exchanged.
namespace anabranch::ir::scan_order {

inline constexpr std::int64_t group = 32;

/// Calls `put(i, element)` for i = 0 .. length - 1: the inclusive scan of `at(i)`. `seed` may be empty.
template <class Value, class At, class Join, class Put>
void scan_row(std::int64_t length, const std::optional<Value>& seed, At&& at, Join&& join, Put&& put) {
  fold_order::CounterTree<Value> tree;
  std::array<Value, static_cast<std::size_t>(group)> lane;
  const auto join_left = [&](const std::optional<Value>& left, const Value& right) {
    return left ? join(*left, right) : right;
  };
  for (std::int64_t block = 0; block < length; block += fold_order::block) {
    std::optional<Value> carry = seed;
    if (!tree.empty()) carry = join_left(seed, fold_order::CounterTree<Value>(tree).total(join));
    std::optional<Value> total;  // of the block's groups so far
    const std::int64_t block_end = std::min(length, block + fold_order::block);
    const bool is_last = block_end == length;
    for (std::int64_t begin = block; begin < block_end; begin += group) {
      const auto count = static_cast<std::size_t>(std::min(group, block_end - begin));
      for (std::size_t j = 0; j < count; ++j) lane[j] = at(begin + static_cast<std::int64_t>(j));
      for (std::size_t h = 1; h < count; h *= 2)
        for (std::size_t j = count; j-- > h;) lane[j] = join(lane[j - h], lane[j]);
      for (std::size_t j = 0; j < count; ++j)
        put(begin + static_cast<std::int64_t>(j), join_left(carry, lane[j]));
      carry = join_left(carry, lane[count - 1]);
      if (!is_last) total = join_left(total, lane[count - 1]);
    }
    if (!is_last) tree.push(std::move(*total), join);
  }
}

}  // namespace anabranch::ir::scan_order
