#pragma once

#include "tests/cpu/support/fold_kernels.h"

/// Kernels of states along rows.
namespace anabranch::test {

inline kernel::Recurrence& recurrence_in(kernel::Kernel& kernel) {
  return std::get<kernel::Recurrence>(kernel.form);
}

/// s * 3 - x, from 7 on.
template <class T>
void subtract_in_turn(kernel::Kernel& kernel, const ir::Ref& element) {
  kernel::Recurrence& form = recurrence_in(kernel);
  const ir::Ref tripled = ir::primitive(ir::Primitive::multiply, {form.state[0], ir::literal(T(3))});
  kernel.body = {ir::primitive(ir::Primitive::subtract, {tripled, element})};
  form.initial = {ir::literal(T(7))};
}

/// One row for each item.
template <class T>
KernelBuilder states_of_items(const std::vector<std::int64_t>& row_lengths) {
  std::vector<std::int64_t> offsets{5};
  for (const std::int64_t n : row_lengths) offsets.push_back(offsets.back() + n);
  const auto rows = static_cast<std::int64_t>(row_lengths.size());
  constexpr ScalarType type = anabranch::detail::scalar_type<T>;
  KernelBuilder k(kernel::Recurrence{}, true, rows);
  const int slot = k.buffer(offsets);
  const auto length = KernelBuilder::ragged_extent(slot);
  const int values = k.buffer(random_values<T>(static_cast<std::size_t>(offsets.back()), 11));
  const ir::Ref array = k.array(kernel::Form::segmented, {type}, {length}, values, slot);
  k.output(kernel::Form::regular, {type}, {}, rows);
  auto& kernel = k.kernel();
  row_in(kernel).length = length;
  row_in(kernel).work_offsets = slot;
  subtract_in_turn<T>(kernel, ir::index(array, row_in(kernel).index, {}, true));
  kernel.outputs.clear();
  k.output_elements(kernel::Form::segmented, {type}, 0, offsets.back(), slot);
  return k;
}

/// The rows of matrices, of items or of one.
template <class T>
KernelBuilder states_of_matrices(std::int64_t rows, std::int64_t columns, bool over_items, std::int64_t items,
                                 bool across = false) {
  constexpr ScalarType type = anabranch::detail::scalar_type<T>;
  KernelBuilder k(kernel::Recurrence{}, over_items, items);
  const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
  const auto height = k.uniform_extent(rows), width = k.uniform_extent(columns);
  const int values = k.buffer(random_values<T>(static_cast<std::size_t>(items * rows * columns), 5));
  const ir::Ref array =
      k.array(form, {type}, across ? std::vector{width, height} : std::vector{height, width}, values);
  k.output(form, {type}, {height}, items * rows);
  auto& kernel = k.kernel();
  row_in(kernel).length = width;
  const ir::Ref row = kernel.index[0], column = row_in(kernel).index;
  const ir::Ref at = across ? ir::tuple({column, row}) : ir::tuple({row, column});
  subtract_in_turn<T>(kernel, ir::index(array, at, {}, true));
  kernel.outputs.clear();
  k.output_elements(form, {type}, 0, items * rows * columns);
  return k;
}

}  // namespace anabranch::test
