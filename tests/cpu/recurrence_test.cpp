#include "support/catch.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/scan_kernels.h"

// States along rows in generated code against the oracle, in memory whose borders must not be passed.

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

kernel::Recurrence& recurrence_in(kernel::Kernel& kernel) {
  return std::get<kernel::Recurrence>(kernel.form);
}

/// s * 3 - x, from 7 on.
template <class T>
void subtract_in_turn(kernel::Kernel& kernel, const ir::Ref& element) {
  kernel::Recurrence& form = recurrence_in(kernel);
  const ir::Ref tripled = ir::primitive(Primitive::multiply, {form.state[0], ir::literal(T(3))});
  kernel.body = {ir::primitive(Primitive::subtract, {tripled, element})};
  form.initial = {ir::literal(T(7))};
}

/// One row for each item.
template <class T>
KernelBuilder of_items(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> offsets{5};
  for (const std::int64_t n : lengths) offsets.push_back(offsets.back() + n);
  const auto rows = static_cast<std::int64_t>(lengths.size());
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
KernelBuilder of_matrices(std::int64_t rows, std::int64_t columns, bool over_items, std::int64_t items,
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

}  // namespace

TEMPLATE_TEST_CASE("states of rows of any lengths", "", half, float, double, std::int8_t, std::uint16_t,
                   std::int32_t, std::uint64_t) {
  std::vector<std::int64_t> lengths{0,  1, 5, 300, 17, 16, 15, 18, 17, 17,
                                    16, 0, 0, 0,   33, 20, 20, 21, 19, 20};
  for (std::int64_t i = 0; i < 70; ++i) lengths.push_back(40 + i % 3);
  auto k = of_items<TestType>(lengths);
  CHECK(disagreement(k, {0, 5, 100}) == "");
}

TEST_CASE("states of a few long rows, and of rows without elements") {
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{70'000},
                                                   {20'000, 20'000, 3},
                                                   std::vector<std::int64_t>(40, 0),
                                                   std::vector<std::int64_t>(16, 20'000)}) {
    auto k = of_items<float>(lengths);
    CHECK(disagreement(k) == "");
  }
}

TEST_CASE("states of the rows of matrices, along and across") {
  for (const bool across : {false, true})
    for (const std::int64_t rows : {0, 1, 7, 16, 40}) {
      INFO(rows << " rows, " << (across ? "across" : "along"));
      auto one = of_matrices<double>(rows, 9, false, 1, across);
      CHECK(disagreement(one, {0, 3, 50}) == "");
      auto several = of_matrices<std::int32_t>(rows, 9, true, 5, across);
      CHECK(disagreement(several, {0, 3, 50}) == "");
    }
}
