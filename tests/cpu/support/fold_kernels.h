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
    if constexpr (std::is_same_v<T, half>)
      v = half(
          std::ldexp(1.0 + static_cast<double>(random() % 20001) / 7e4, static_cast<int>(random() % 8) - 6) *
          (random() % 2 == 0 ? 1 : -1));
    else if constexpr (anabranch::detail::FloatValue<T>)
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
  KernelBuilder k(kernel::Reduce{}, true, rows);
  const int off = k.buffer(offsets);
  const int val = k.buffer(random_values<T>(static_cast<std::size_t>(offsets.back()), 3));
  const auto length = KernelBuilder::ragged_extent(off);
  const ir::Ref v = k.array(kernel::Form::segmented, {type}, {length}, val, off);
  k.output(kernel::Form::regular, {type}, {}, rows);
  auto& kernel = k.kernel();
  kernel.body = {ir::index(v, row_in(kernel).index, {}, true)};
  row_in(kernel).length = length;
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  reduction_in(kernel).combine = {
      ir::primitive(op, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]})};
  if (seeded) reduction_in(kernel).seed = {ir::literal(T(3))};
  row_in(kernel).work_offsets = off;
  return k;
}

/// The elements of rows_of.
template <class T>
T* elements_of_rows(KernelBuilder& k) {
  return static_cast<T*>(k.data(1)) + first_element;
}

/// x / 3 + y, which is neither associative nor commutative.
inline void make_ordered(kernel::Kernel& kernel) {
  reduce_in(kernel).order = ir::fold_order::OperatorClass::ordered;
  const ir::Ref third =
      ir::primitive(ir::Primitive::divide, {reduction_in(kernel).left[0], ir::literal(3.0)});
  reduction_in(kernel).combine = {ir::primitive(ir::Primitive::add, {third, reduction_in(kernel).right[0]})};
}

/// Rows of n elements: of a dense array of this outer shape,
/// of which there is one for each of three items or one alone.
inline KernelBuilder dense_rows(bool over_items, const std::vector<std::int64_t>& shape, std::int64_t n) {
  const std::int64_t items = over_items ? 3 : 1;
  KernelBuilder k(kernel::Reduce{}, over_items, items);
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
  ix.push_back(row_in(kernel).index);
  const ir::Ref at = ix.size() == 1 ? ix[0] : ir::tuple(ix);
  const bool in_bounds = n % 2 == 0;
  kernel.body = {
      ir::primitive(ir::Primitive::multiply, {ir::index(v, at, {}, in_bounds), ir::literal(1.1f)})};
  row_in(kernel).length = all.back();
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  reduction_in(kernel).combine = {
      ir::primitive(ir::Primitive::add, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]})};
  reduction_in(kernel).seed = {ir::literal(0.0f)};
  return k;
}

/// Products of matrices of n x length and length x m, of which there is one of each for each of three items or one alone;
/// `of_both`: the sums of the products and their maxima, which start from -1.
template <class T>
KernelBuilder products(bool over_items, std::int64_t n, std::int64_t m, std::int64_t length,
                       bool of_both = false) {
  const std::int64_t items = over_items ? 3 : 1;
  constexpr ScalarType type = anabranch::detail::scalar_type<T>;
  KernelBuilder k(kernel::Reduce{}, over_items, items);
  const int left = k.buffer(random_values<T>(static_cast<std::size_t>(items * n * length), 4));
  const int right = k.buffer(random_values<T>(static_cast<std::size_t>(items * length * m), 5));
  const auto rows = k.uniform_extent(n), columns = k.uniform_extent(m), inner = k.uniform_extent(length);
  const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
  const ir::Ref a = k.array(form, {type}, {rows, inner}, left);
  const ir::Ref b = k.array(form, {type}, {inner, columns}, right);
  const std::vector<ScalarType> types(of_both ? 2 : 1, type);
  k.output(form, types, {rows, columns}, items * n * m);
  auto& kernel = k.kernel();
  const ir::Ref at = row_in(kernel).index;
  const ir::Ref product =
      ir::primitive(ir::Primitive::multiply, {ir::index(a, ir::tuple({kernel.index[0], at}), {}, true),
                                              ir::index(b, ir::tuple({at, kernel.index[1]}), {}, true)});
  kernel.body.assign(types.size(), product);
  row_in(kernel).length = inner;
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  kernel::Reduction& all = reduction_in(kernel);
  all.combine = {ir::primitive(ir::Primitive::add, {all.left[0], all.right[0]})};
  all.seed = {ir::literal(T(0))};
  if (of_both) {
    all.combine.push_back(ir::primitive(ir::Primitive::maximum, {all.left[1], all.right[1]}));
    all.seed.push_back(ir::literal(T(-1)));
  }
  return k;
}

/// For each of m rows of weights the sum of products with as many of n values, from where `begins` says: bands of a spectrum.
template <class T>
KernelBuilder banded_products(bool over_items, const std::vector<std::int64_t>& begins, std::int64_t m,
                              std::int64_t length, std::int64_t n) {
  const std::int64_t items = over_items ? 3 : 1;
  constexpr ScalarType type = anabranch::detail::scalar_type<T>;
  KernelBuilder k(kernel::Reduce{}, over_items, items);
  const int weights = k.buffer(random_values<T>(static_cast<std::size_t>(m * length), 6));
  const int values = k.buffer(random_values<T>(static_cast<std::size_t>(items * n), 7));
  const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
  const auto rows = k.uniform_extent(m), inner = k.uniform_extent(length);
  const ir::Ref w = k.array(kernel::Form::avoided, {type}, {rows, inner}, weights);
  const ir::Ref x = k.array(form, {type}, {k.uniform_extent(n)}, values);
  const ir::Ref first =
      k.array(kernel::Form::avoided, {ScalarType::int64},
              {k.uniform_extent(static_cast<std::int64_t>(begins.size()))}, k.buffer(begins));
  k.output(form, {type}, {rows}, items * m);
  auto& kernel = k.kernel();
  const ir::Ref row = kernel.index[0], at = row_in(kernel).index;
  const ir::Ref place = ir::primitive(ir::Primitive::add, {ir::index(first, row), at});
  kernel.body = {ir::primitive(ir::Primitive::multiply,
                               {ir::index(w, ir::tuple({row, at}), {}, true), ir::index(x, place)})};
  row_in(kernel).length = inner;
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  kernel::Reduction& all = reduction_in(kernel);
  all.combine = {ir::primitive(ir::Primitive::add, {all.left[0], all.right[0]})};
  all.seed = {ir::literal(T(0))};
  return k;
}

/// Three reductions of rows of one array: sums of doubles, maxima of floats and a quotient or minimum of
/// integers, each with an output of its own. `seeded`: which of them have a seed.
inline KernelBuilder several_reductions(const std::vector<std::int64_t>& row_lengths,
                                        const std::vector<bool>& seeded, bool ordered) {
  const auto rows = static_cast<std::int64_t>(row_lengths.size());
  KernelBuilder k(kernel::Reduce{}, true, rows);
  std::vector<std::int64_t> offsets{0};
  for (const auto n : row_lengths) offsets.push_back(offsets.back() + n);
  const auto n = static_cast<std::size_t>(offsets.back());
  const int off = k.buffer(offsets);
  const int values = k.buffer(random_values<double>(n, 1));
  const auto length = KernelBuilder::ragged_extent(off);
  const ir::Ref v = k.array(kernel::Form::segmented, {ScalarType::float64}, {length}, values, off);
  k.output(kernel::Form::regular, {ScalarType::float64, ScalarType::float32, ScalarType::int32}, {}, rows);
  auto& kernel = k.kernel();
  const ir::Ref element = ir::index(v, row_in(kernel).index, {}, true);
  kernel.body = {element, ir::cast(ScalarType::float32, element), ir::literal(std::int32_t{1})};
  row_in(kernel).length = length;
  row_in(kernel).work_offsets = off;
  kernel::Reduction& all = reduction_in(kernel);
  const auto& [x, y] = std::pair(all.left, all.right);
  using enum ir::Primitive;
  if (ordered) {
    reduce_in(kernel).order = ir::fold_order::OperatorClass::ordered;
    // The quotient fails where something that is no total nor seed is joined.
    all.combine = {ir::primitive(add, {ir::primitive(divide, {x[0], ir::literal(3.0)}), y[0]}),
                   ir::primitive(subtract, {x[1], y[1]}), ir::primitive(divide, {y[2], x[2]})};
  } else {
    reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
    all.combine = {ir::primitive(add, {x[0], y[0]}), ir::primitive(maximum, {x[1], y[1]}),
                   ir::primitive(minimum, {x[2], y[2]})};
  }
  all.seed = {ir::literal(1.5), ir::literal(-5.0f), ir::literal(std::int32_t{1})};
  k.split_output({1, 1, 1});
  for (std::size_t i = 0; i < seeded.size(); ++i)
    if (!seeded[i]) reduce_in(kernel).reductions[i].seed.clear();
  return k;
}

}  // namespace anabranch::test
