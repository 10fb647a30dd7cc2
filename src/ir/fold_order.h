#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

/// The canonical order of reduction: what `fold` means, down to the last bit.
///
/// The order is a function of the row's length n and the operator's class, and of nothing else: not of the
/// chunk, the number of threads, the vector width or the back end. The interpreter executes this header; the
/// CPU and CUDA back ends emit code for the same order, so their results are bitwise equal wherever the
/// operator is exactly rounded.
///
/// A row longer than `block` is cut into blocks of `block` elements counted from its own start (the last may
/// be shorter). Each block is reduced on its own (below) and the results b0, b1, ... are joined by the
/// *counter tree*: like incrementing a binary counter, equal-sized complete neighbours are joined at once,
/// and what remains at the end is joined from the right: 5 blocks give ((b0 b1)(b2 b3)) b4. Work is split
/// between threads only at block borders.
///
/// Within a block of m elements:
///  * **ordered** operators (any user function): strictly from left to right.
///  * **commutative** operators (every component one of + * minimum maximum and or xor on its own component):
///    in W lanes, 16 if m < 256, else 32. Lane j holds x[j], x[j+W], x[j+2W] ... joined from left to right;
///    the last of these groups of W may be incomplete, and lanes beyond m are absent. Lanes are joined by
///    halving: for h = W/2, W/4 .. 1: lane j = lane j o lane j+h (j < h), where lane j+h is not absent.
///    Rows of up to 4 or 8 elements thus are joined as 4 or 8 lanes would join them, so that several of them
///    fit one vector; and a vector filled up with the operator's exact identity (-0.0 for sums) gives the
///    same bits.
///
/// The seed is joined last, from the left: z o total; an empty row gives z. Blocks and lanes were chosen by
/// measurement (docs/notebook.md) and are frozen: changing one changes results.
namespace anabranch::ir::fold_order {

inline constexpr std::int64_t narrow_lanes = 16;
inline constexpr std::int64_t wide_lanes = 32;
inline constexpr std::int64_t wide_from = 256;  ///< shortest block in wide lanes
inline constexpr std::int64_t block = 4096;

enum class OperatorClass : std::uint8_t { ordered, commutative };

/// Lanes of a block of `count` elements, of a commutative operator.
constexpr std::int64_t lanes_of(std::int64_t count) { return count < wide_from ? narrow_lanes : wide_lanes; }

/// Number of blocks of a row.
constexpr std::int64_t blocks(std::int64_t length) { return (length + block - 1) / block; }

/// One block: elements [begin, begin + count), count >= 1.
/// `at(i)` gives an element, `join(a, b)` reduces two.
template <class At, class Join>
auto reduce_block(std::int64_t begin, std::int64_t count, OperatorClass order, At&& at, Join&& join) {
  if (order == OperatorClass::ordered) {
    auto total = at(begin);
    for (std::int64_t i = 1; i < count; ++i) total = join(std::move(total), at(begin + i));
    return total;
  }
  const std::int64_t lanes = lanes_of(count);
  std::int64_t present = std::min(count, lanes);
  std::array<decltype(at(begin)), wide_lanes> lane;
  for (std::int64_t i = 0; i < count; ++i) {
    auto& mine = lane[static_cast<std::size_t>(i % lanes)];
    mine = i < lanes ? at(begin + i) : join(std::move(mine), at(begin + i));
  }
  for (std::int64_t half = lanes / 2; half >= 1; half /= 2) {
    for (std::int64_t j = 0; j + half < present; ++j) {
      auto& mine = lane[static_cast<std::size_t>(j)];
      mine = join(std::move(mine), lane[static_cast<std::size_t>(j + half)]);
    }
    present = std::min(present, half);
  }
  return std::move(lane[0]);
}

/// The counter tree: feed results of blocks in order, take the total once. 64 levels hold any length.
template <class Value>
class CounterTree {
 public:
  template <class Join>
  void push(Value value, Join&& join) {
    for (std::uint64_t n = count_++; n & 1; n >>= 1)
      value = join(std::move(stack_[--depth_]), std::move(value));
    stack_[depth_++] = std::move(value);
  }
  template <class Join>
  Value total(Join&& join) {
    Value value = std::move(stack_[--depth_]);
    while (depth_ > 0) value = join(std::move(stack_[--depth_]), std::move(value));
    return value;
  }
  bool empty() const { return count_ == 0; }

 private:
  std::array<Value, 64> stack_{};
  std::size_t depth_ = 0;
  std::uint64_t count_ = 0;
};

/// A whole row of `length` >= 1 elements, without the seed.
template <class At, class Join>
auto reduce_row(std::int64_t length, OperatorClass order, At&& at, Join&& join) {
  CounterTree<decltype(at(std::int64_t{0}))> tree;
  for (std::int64_t begin = 0; begin < length; begin += block)
    tree.push(reduce_block(begin, std::min(block, length - begin), order, at, join), join);
  return tree.total(join);
}

}  // namespace anabranch::ir::fold_order
