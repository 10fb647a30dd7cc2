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

}  // namespace anabranch::test
