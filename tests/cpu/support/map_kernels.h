#pragma once

#include "tests/cpu/support/kernels.h"

/// What the tests of maps on the CPU and in CUDA's text build their kernels from.
namespace anabranch::test {

inline ir::Ref plus(const ir::Ref& x, const ir::Ref& y) { return ir::primitive(ir::Primitive::add, {x, y}); }
inline ir::Ref minus(const ir::Ref& x, const ir::Ref& y) {
  return ir::primitive(ir::Primitive::subtract, {x, y});
}
inline ir::Ref times(const ir::Ref& x, const ir::Ref& y) {
  return ir::primitive(ir::Primitive::multiply, {x, y});
}
inline ir::Ref less(const ir::Ref& x, const ir::Ref& y) { return ir::primitive(ir::Primitive::less, {x, y}); }
inline ir::Ref all_of(const std::vector<ir::Ref>& ix) { return ix.size() == 1 ? ix[0] : ir::tuple(ix); }

inline std::vector<double> doubles(std::int64_t n) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>((i * 37) % 101) / 7 - 5);
  return out;
}

/// Items of these lengths: segmented values, an int64 per item, and an avoided vector of 100.
struct Ragged {
  /// Offsets need not begin at 0: buffers are biased.
  explicit Ragged(const std::vector<std::int64_t>& rows, std::int64_t first = 11)
      : k(kernel::Map{}, true, static_cast<std::int64_t>(rows.size())) {
    offsets.push_back(first);
    for (const auto n : rows) offsets.push_back(offsets.back() + n);
    off = k.buffer(offsets);
    extent = KernelBuilder::ragged_extent(off);
    const auto n = offsets.back();
    values = k.array(kernel::Form::segmented, {ScalarType::float64}, {extent}, k.buffer(doubles(n)), off);
    std::vector<std::int64_t> each;
    for (std::size_t i = 0; i < rows.size(); ++i) each.push_back(static_cast<std::int64_t>(i * 7 % 13));
    item = k.array(kernel::Form::regular, {ScalarType::int64}, {}, k.buffer(each));
    x = k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(100)},
                k.buffer(doubles(100)));
  }
  void segmented_output(ScalarType type) {
    k.output(kernel::Form::segmented, {type}, {extent}, offsets.back(), off);
  }

  KernelBuilder k;
  std::vector<std::int64_t> offsets;
  int off = 0;
  kernel::KernelExtent extent;
  ir::Ref values, item, x;
};

/// What items of one element read by their numbers, of which the first is 40: side by side, backwards, and three apart. The
/// last is out of range in the 36th item.
inline KernelBuilder read_by_number(std::int64_t items) {
  Ragged r(std::vector<std::int64_t>(static_cast<std::size_t>(items), 2));
  r.k.output(kernel::Form::regular, {ScalarType::float64}, {}, items);
  const ir::Ref number = r.k.scalar_parameter(r.k.number_extent(40));
  const ir::Ref beside = ir::index(r.x, minus(number, ir::int64(38)));
  const ir::Ref backwards = ir::index(r.x, minus(ir::int64(99), minus(number, ir::int64(40))));
  const ir::Ref apart = ir::index(r.x, minus(times(number, ir::int64(3)), ir::int64(125)));
  r.k.kernel().body = {plus(plus(beside, times(backwards, apart)), ir::cast(ScalarType::float64, number))};
  return std::move(r.k);
}

/// The elements of ragged rows times their items' numbers.
inline KernelBuilder scaled_by_number(const std::vector<std::int64_t>& rows) {
  Ragged r(rows);
  r.segmented_output(ScalarType::float64);
  const ir::Ref number = r.k.scalar_parameter(r.k.number_extent(std::int64_t{1} << 40));
  r.k.kernel().body = {
      times(ir::index(r.values, r.k.kernel().index[0], {}, true), ir::cast(ScalarType::float64, number))};
  return std::move(r.k);
}

}  // namespace anabranch::test
