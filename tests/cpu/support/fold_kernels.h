#pragma once

#include <cmath>
#include <random>
#include <type_traits>

#include "tests/cpu/support/kernels.h"

/// What the tests of folds on the CPU and in CUDA's text build their kernels from.
namespace anabranch::test {

template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> out(n);
  for (auto& v : out) {
    // Of very different size, so that each order of addition rounds differently.
    if constexpr (std::is_floating_point_v<T>)
      v = std::ldexp(static_cast<T>(random() % 20001) - T(10000), static_cast<int>(random() % 24) - 12) /
          T(7);
    else
      v = static_cast<T>(random());
  }
  return out;
}

/// Where the elements of rows_of begin in their buffer: offsets need not begin at 0, buffers are biased.
inline constexpr std::int64_t first_element = 5;

/// One row per length, reduced by `op`; the elements are the array's own.
template <class T>
KernelBuilder rows_of(const std::vector<std::int64_t>& row_lengths, ir::Primitive op, bool seeded) {
  std::vector<std::int64_t> offsets{first_element};
  for (const auto n : row_lengths) offsets.push_back(offsets.back() + n);
  const auto rows = static_cast<std::int64_t>(row_lengths.size());
  constexpr ScalarType type = anabranch::detail::scalar_type<T>;
  KernelBuilder k(kernel::Skeleton::fold, true, rows);
  const int off = k.buffer(offsets);
  const int val = k.buffer(random_values<T>(static_cast<std::size_t>(offsets.back()), 3));
  const auto length = KernelBuilder::ragged_extent(off);
  const ir::Ref v = k.array(kernel::Form::segmented, {type}, {length}, val, off);
  k.output(kernel::Form::regular, {type}, {}, rows);
  auto& kernel = k.kernel();
  kernel.body = {ir::index(v, kernel.reduction, {}, true)};
  kernel.length = length;
  kernel.order = ir::fold_order::OperatorClass::commutative;
  kernel.combine = {ir::primitive(op, {kernel.left[0], kernel.right[0]})};
  if (seeded) kernel.seed = {ir::literal(T(3))};
  kernel.work_offsets = off;
  return k;
}

/// The elements of rows_of.
template <class T>
T* elements_of_rows(KernelBuilder& k) {
  return static_cast<T*>(k.data(1)) + first_element;
}

/// x / 3 + y, which is neither associative nor commutative.
inline void make_ordered(kernel::Kernel& kernel) {
  kernel.order = ir::fold_order::OperatorClass::ordered;
  const ir::Ref third = ir::primitive(ir::Primitive::divide, {kernel.left[0], ir::literal(3.0)});
  kernel.combine = {ir::primitive(ir::Primitive::add, {third, kernel.right[0]})};
}

/// Rows of n elements: of a dense array of this outer shape,
/// of which there is one for each of three items or one alone.
inline KernelBuilder dense_rows(bool over_items, const std::vector<std::int64_t>& shape, std::int64_t n) {
  const std::int64_t items = over_items ? 3 : 1;
  KernelBuilder k(kernel::Skeleton::fold, over_items, items);
  std::int64_t rows = items;
  for (const auto e : shape) rows *= e;
  const int val = k.buffer(random_values<float>(static_cast<std::size_t>(rows * n), 4));
  std::vector<kernel::KernelExtent> outer;
  for (const auto e : shape) outer.push_back(k.uniform_extent(e));
  auto all = outer;
  all.push_back(k.uniform_extent(n));
  const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
  const ir::Ref v = k.array(form, {ScalarType::float32}, all, val);
  k.output(form, {ScalarType::float32}, outer, rows);
  auto& kernel = k.kernel();
  std::vector<ir::Ref> ix = kernel.index;
  ix.push_back(kernel.reduction);
  const ir::Ref at = ix.size() == 1 ? ix[0] : ir::tuple(ix);
  const bool in_bounds = n % 2 == 0;
  kernel.body = {
      ir::primitive(ir::Primitive::multiply, {ir::index(v, at, {}, in_bounds), ir::literal(1.1f)})};
  kernel.length = all.back();
  kernel.order = ir::fold_order::OperatorClass::commutative;
  kernel.combine = {ir::primitive(ir::Primitive::add, {kernel.left[0], kernel.right[0]})};
  kernel.seed = {ir::literal(0.0f)};
  return k;
}

}  // namespace anabranch::test
