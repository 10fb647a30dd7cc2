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
///      m <= 16           from left to right;
///      otherwise         L lanes (32 if m >= 256, else 8): lane j holds x[j], x[j+L], x[j+2L] ... joined
///                        from left to right, over the floor(m/L) complete groups; lanes are joined by
///                        halving: for h = L/2, L/4 .. 1: lane j = lane j o lane j+h (j < h); the remaining
///                        m mod L elements are reduced by this same rule for their own length, and joined on
///                        the right.
///
/// The seed is joined last, from the left: z o total; an empty row gives z. Blocks and lanes were chosen by
/// measurement (docs/benchmarks.md) and are frozen: changing one changes results.
namespace anabranch::ir::fold_order {

inline constexpr std::int64_t sequential = 16;  ///< longest run taken left to right
inline constexpr std::int64_t narrow_lanes = 8;
inline constexpr std::int64_t wide_lanes = 32;
inline constexpr std::int64_t wide_from = 256;  ///< shortest run in wide lanes
inline constexpr std::int64_t block = 4096;

enum class OperatorClass : std::uint8_t { ordered, commutative };

/// Number of blocks of a row.
constexpr std::int64_t blocks(std::int64_t length) { return (length + block - 1) / block; }

/// One block: elements [begin, begin + count), count >= 1.
/// `at(i)` gives an element, `join(a, b)` reduces two.
template <class At, class Join>
auto reduce_block(std::int64_t begin, std::int64_t count, OperatorClass order, At&& at, Join&& join) {
  const auto left_to_right = [&](std::int64_t from, std::int64_t n) {
    auto total = at(from);
    for (std::int64_t i = 1; i < n; ++i) total = join(std::move(total), at(from + i));
    return total;
  };
  if (order == OperatorClass::ordered || count <= sequential) return left_to_right(begin, count);

  const std::int64_t lanes = count >= wide_from ? wide_lanes : narrow_lanes;
  std::array<decltype(at(begin)), wide_lanes> lane;
  for (std::int64_t j = 0; j < lanes; ++j) lane[static_cast<std::size_t>(j)] = at(begin + j);
  for (std::int64_t group = 1; group < count / lanes; ++group)
    for (std::int64_t j = 0; j < lanes; ++j) {
      auto& mine = lane[static_cast<std::size_t>(j)];
      mine = join(std::move(mine), at(begin + group * lanes + j));
    }
  for (std::int64_t half = lanes / 2; half >= 1; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) {
      auto& mine = lane[static_cast<std::size_t>(j)];
      mine = join(std::move(mine), lane[static_cast<std::size_t>(j + half)]);
    }
  const std::int64_t rest = count % lanes;
  if (rest == 0) return std::move(lane[0]);
  return join(std::move(lane[0]), reduce_block(begin + count - rest, rest, order, at, join));
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
