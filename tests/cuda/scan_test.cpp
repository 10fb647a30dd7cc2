#include <random>

#include "support/catch.h"
#include "tests/cuda/support/scan_kernels.h"

using namespace anabranch;
using namespace anabranch::test;

namespace {

const std::vector<std::int64_t> around_borders{0,  1,   2,    31, 32,   33,   63,  64,
                                               65, 100, 4095, 3,  4096, 4097, 8193};

/// x - x y / 1e9 + y: each order of joining gives other bits, and so does each order of operands.
void make_unlike(ScanBuilder& k) {
  const ir::Ref &x = k.reduction().left[0], &y = k.reduction().right[0];
  const ir::Ref part = binary(Primitive::divide, binary(Primitive::multiply, x, y), ir::literal(1e9));
  k.reduction().combine = {binary(Primitive::add, binary(Primitive::subtract, x, part), y)};
}

const std::vector<ScanResult> all_results{ScanResult::inclusive, ScanResult::exclusive,
                                          ScanResult::totals,    ScanResult::exclusive_and_totals,
                                          ScanResult::all,       ScanResult::all_and_totals};

}  // namespace

TEST_CASE("cuda: scans keep the canonical order") {
  for (const ScanResult result : all_results) {
    INFO("result " << static_cast<int>(result));
    std::vector<std::int64_t> rows = around_borders;
    if (result == ScanResult::exclusive_and_totals) rows.push_back(100'000);
    auto doubles = rows_scanned<double>(rows, Primitive::add, true, result);
    CHECK(scan_disagreement(doubles) == "");
  }
  auto unseeded = rows_scanned<double>(around_borders, Primitive::add, false, ScanResult::inclusive);
  CHECK(scan_disagreement(unseeded) == "");
  auto integers = rows_scanned<std::int32_t>(around_borders, Primitive::add, true, ScanResult::inclusive);
  CHECK(scan_disagreement(integers) == "");
  auto bytes =
      rows_scanned<std::uint8_t>(around_borders, Primitive::add, true, ScanResult::exclusive_and_totals);
  CHECK(scan_disagreement(bytes) == "");
  auto floats = rows_scanned<float>(around_borders, Primitive::minimum, false, ScanResult::inclusive);
  CHECK(scan_disagreement(floats) == "");
}

TEST_CASE("cuda: scans from the right") {
  for (const ScanResult result : all_results) {
    INFO("result " << static_cast<int>(result));
    auto k = rows_scanned<double>(around_borders, Primitive::add, true, result);
    make_unlike(k);
    k.scan().kind.from_right = true;
    CHECK(scan_disagreement(k) == "");
    auto short_rows = rows_scanned<double>({0, 3, 1, 0, 7, 20, 5, 32, 9}, Primitive::subtract, true, result);
    short_rows.scan().kind.from_right = true;
    CHECK(scan_disagreement(short_rows) == "");
    for (const std::int64_t n : {0, 5, 33, 9000}) {
      if (n == 9000 && result != ScanResult::all && result != ScanResult::exclusive_and_totals) continue;
      auto dense = dense_scan(true, {2, 3}, n, result, n == 33);
      dense.scan().kind.from_right = true;
      CHECK(scan_disagreement(dense) == "");
    }
  }
  auto unseeded = rows_scanned<float>(around_borders, Primitive::add, false, ScanResult::inclusive);
  unseeded.scan().kind.from_right = true;
  CHECK(scan_disagreement(unseeded) == "");
}

TEST_CASE("cuda: scans along an outer dimension") {
  for (const ScanResult result : all_results)
    for (const bool over_items : {false, true})
      for (const std::int64_t n : {0, 5, 40, 4200}) {
        if (n == 4200 &&
            over_items != (result == ScanResult::exclusive_and_totals || result == ScanResult::all))
          continue;
        INFO("result " << static_cast<int>(result) << ", rows of " << n << ", items " << over_items);
        auto matrix = dense_scan(over_items, {7}, n, result, false, 0);
        CHECK(scan_disagreement(matrix) == "");
        auto cube = dense_scan(over_items, {2, 3}, n, result, true, n % 2 ? 0 : 1);
        cube.scan().kind.from_right = n > 5;
        CHECK(scan_disagreement(cube) == "");
      }
}

TEST_CASE("cuda: scans of operators that do not commute") {
  for (const bool seeded : {false, true}) {
    auto k = rows_scanned<double>(around_borders, Primitive::add, seeded, ScanResult::inclusive);
    make_unlike(k);
    CHECK(scan_disagreement(k) == "");
  }
  // Nor associate: what is compared is the order itself.
  auto k = rows_scanned<double>({5, 32, 40, 5000, 9000}, Primitive::subtract, true,
                                ScanResult::exclusive_and_totals);
  CHECK(scan_disagreement(k) == "");
}

TEST_CASE("cuda: many short rows, empty ones among them") {
  std::mt19937 random(1);
  for (const int longest : {0, 1, 3, 8, 20, 40, 70}) {
    std::vector<std::int64_t> rows;
    for (int i = 0; i < (longest > 8 ? 150 : 600); ++i)
      rows.push_back(static_cast<std::int64_t>(random()) % (longest + 1));
    for (const ScanResult result : {ScanResult::inclusive, ScanResult::exclusive_and_totals}) {
      auto k = rows_scanned<double>(rows, Primitive::add, true, result);
      INFO("up to " << longest);
      CHECK(scan_disagreement(k) == "");
    }
  }
}

TEST_CASE("cuda: a giant row among short ones is scanned") {
  std::vector<std::int64_t> rows(300, 3);
  rows[7] = 5;
  rows[100] = 33'000;
  rows[101] = 0;
  rows[250] = 4097;
  auto k = rows_scanned<double>(rows, Primitive::add, true, ScanResult::exclusive_and_totals);
  CHECK(scan_disagreement(k) == "");
  auto plain = rows_scanned<double>({2, 70'000}, Primitive::add, false, ScanResult::inclusive);
  CHECK(scan_disagreement(plain) == "");
}

namespace {

/// The largest element so far and where it is.
ScanBuilder largest_so_far(const std::vector<std::int64_t>& lengths) {
  const ir::Scalars types{ScalarType::int32, ScalarType::int64};
  auto k =
      ragged_rows(lengths, {ScalarType::int32}, ScanResult::inclusive, [](ScanBuilder& b, std::size_t n) {
        std::vector<std::int32_t> values = random_values<std::int32_t>(n, 4);
        for (auto& v : values) v %= 20;  // equal ones, too
        return b.builder().buffer(values);
      });
  // Outputs of both components, in two arrays: the place in an array of its own, the value in two.
  auto& kernel = k.kernel();
  const kernel::Layout prefixes = kernel.outputs[0].array;
  kernel.outputs.clear();
  kernel::Reduction& o = k.reduction();
  o.left.push_back(ir::parameter(ir::Type::element(ScalarType::int64)));
  o.right.push_back(ir::parameter(ir::Type::element(ScalarType::int64)));
  kernel.body.push_back(k.r());
  const ir::Ref larger = binary(Primitive::less, o.left[0], o.right[0]);
  const ir::Ref both =
      ir::cond(larger, ir::tuple({o.right[0], o.right[1]}), ir::tuple({o.left[0], o.left[1]}));
  o.combine = {ir::project(both, 0, 1), ir::project(both, 1, 1)};
  o.seed = {ir::literal(std::int32_t{3}), ir::literal(std::int64_t{-1})};
  std::int64_t elements = 3;
  for (const auto n : lengths) elements += n;
  k.output(Write::element, prefixes, 1, {ScalarType::int64}, elements);
  k.output(Write::element, prefixes, 0, types, elements);
  k.output(Write::position, kernel.domain, 0, types, static_cast<std::int64_t>(lengths.size()));
  return k;
}

}  // namespace

TEST_CASE("cuda: scans of tuples, with several outputs") {
  auto largest = largest_so_far({0, 3, 32, 33, 100, 5000, 1, 8193});
  CHECK(scan_disagreement(largest) == "");
  auto short_rows = largest_so_far({0, 3, 1, 0, 7, 20, 5, 32, 9});
  CHECK(scan_disagreement(short_rows) == "");

  // (a, b) o (c, d) = (a c, b c + d)
  auto k = ragged_rows({7, 0, 40, 4500, 9000}, {ScalarType::float64, ScalarType::float64},
                       ScanResult::exclusive_and_totals, [](ScanBuilder& b, std::size_t n) {
                         std::vector<double> factors = random_values<double>(n, 5);
                         for (auto& f : factors) f = 1 + f * 1e-9;
                         const int first = b.builder().buffer(factors);
                         b.builder().buffer(random_values<double>(n, 6));
                         return first;
                       });
  kernel::Reduction& o = k.reduction();
  o.combine = {binary(Primitive::multiply, o.left[0], o.right[0]),
               binary(Primitive::add, binary(Primitive::multiply, o.left[1], o.right[0]), o.right[1])};
  o.seed = {ir::literal(1.0), ir::literal(0.5)};
  CHECK(scan_disagreement(k) == "");
}

TEST_CASE("cuda: dense scans of every shape") {
  for (const bool over_items : {false, true})
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {5}, {3, 4}, {2, 1, 3}, {0}, {70}})
      for (const std::int64_t n : {0, 1, 5, 17, 33, 300, 4096, 9000}) {
        std::int64_t rows = over_items ? 3 : 1;
        for (const auto e : shape) rows *= e;
        if (n > 1000 && rows * n > 60'000) continue;
        auto k = dense_scan(over_items, shape, n,
                            n % 3 ? ScanResult::inclusive : ScanResult::exclusive_and_totals);
        INFO("rank " << shape.size() << ", row " << n << ", items " << over_items);
        CHECK(scan_disagreement(k) == "");
      }
}

namespace {

/// Item i has rows[i] rows of columns[i] elements; elements, operator and seed know their item and row.
ScanBuilder ragged_matrices(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns,
                            ScanResult result, bool checked) {
  std::vector<std::int64_t> sizes, to_sizes, to_columns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sizes.push_back(rows[i] * columns[i]);
    to_columns.push_back(columns[i] + one_more(result));
    to_sizes.push_back(rows[i] * to_columns[i]);
  }
  const auto offsets = offsets_of(sizes, 9), row_offsets = offsets_of(rows, 4), to = offsets_of(to_sizes, 2);
  ScanBuilder k(true, static_cast<std::int64_t>(rows.size()));
  KernelBuilder& b = k.builder();
  const int off = b.buffer(offsets), row_off = b.buffer(row_offsets);
  const auto height = b.per_item_extent(rows), width = b.per_item_extent(columns);
  const ir::Ref a =
      b.array(kernel::Form::segmented, {ScalarType::float64}, {height, width},
              b.buffer(random_values<double>(static_cast<std::size_t>(offsets.back()), 6)), off);
  k.rows(layout_of(kernel::Form::segmented, {height}, row_off), width, {ScalarType::float64});
  const ir::Ref i = k.kernel().index[0];
  const ir::Ref scale = ir::cast(ScalarType::float64, i);
  const ir::Ref its_width = ir::cast(ScalarType::float64, b.scalar_parameter(width));
  const ir::Ref first = ir::index(a, ir::tuple({i, ir::int64(0)}), {}, !checked);
  k.kernel().body = {binary(Primitive::add, ir::index(a, ir::tuple({i, k.r()}), {}, !checked),
                            binary(Primitive::multiply, scale, first))};
  k.reduction().combine = {binary(
      Primitive::add, binary(Primitive::add, k.reduction().left[0], k.reduction().right[0]), its_width)};
  k.reduction().seed = {scale};
  const auto of_row = one_more(result) ? b.per_item_extent(to_columns) : width;
  add_outputs(k, result, layout_of(kernel::Form::segmented, {height, of_row}, b.buffer(to)), to.back(),
              row_offsets.back(), {ScalarType::float64});
  return k;
}

}  // namespace

TEST_CASE("cuda: scans of rows inside items that differ in size") {
  for (const ScanResult result : {ScanResult::inclusive, ScanResult::exclusive_and_totals, ScanResult::all})
    for (const bool checked : {false, true}) {
      auto k = ragged_matrices({3, 0, 1, 20, 300, 0, 2, 1}, {5, 7, 0, 33, 16, 0, 300, 9000}, result, checked);
      CHECK(scan_disagreement(k) == "");
      auto short_rows =
          ragged_matrices({3, 0, 1, 20, 300, 0, 2, 1}, {5, 7, 0, 3, 4, 0, 9, 40}, result, checked);
      CHECK(scan_disagreement(short_rows) == "");
    }
}

TEST_CASE("cuda: scans of maps over several arrays") {
  auto k = rows_scanned<double>({0, 3, 17, 33, 5000}, Primitive::add, true, ScanResult::inclusive);
  KernelBuilder& b = k.builder();
  auto& kernel = k.kernel();
  const kernel::KernelArray own = kernel.arrays[0];
  const ir::Ref w = b.array(kernel::Form::segmented, {ScalarType::boolean}, own.extents,
                            b.buffer(std::vector<std::uint8_t>(b.sizes()[1] / 8, 1)), own.offsets);
  const ir::Ref table = b.array(kernel::Form::avoided, {ScalarType::float64}, {constant_extent(7)},
                                b.buffer(random_values<double>(7, 8)));
  const ir::Ref place = ir::primitive(Primitive::remainder, {k.r(), ir::int64(7)});
  kernel.body = {ir::cond(ir::index(w, k.r(), {}, true),
                          binary(Primitive::multiply, kernel.body[0], ir::index(table, place)),
                          ir::literal(0.5))};
  CHECK(scan_disagreement(k) == "");
}

TEST_CASE("cuda: scans of elements and operators that cost much") {
  auto k = rows_scanned<double>({0, 5, 33, 300, 4097}, Primitive::add, true, ScanResult::inclusive);
  const ir::Ref x = k.kernel().body[0];
  for (int i = 0; i < 80; ++i)
    k.kernel().body[0] = binary(i % 2 ? Primitive::add : Primitive::multiply, k.kernel().body[0], x);
  CHECK(scan_disagreement(k) == "");
  auto costly =
      rows_scanned<double>({0, 5, 33, 300, 4097}, Primitive::add, true, ScanResult::exclusive_and_totals);
  kernel::Reduction& o = costly.reduction();
  for (int i = 0; i < 80; ++i)
    o.combine[0] =
        binary(Primitive::add, binary(Primitive::divide, o.combine[0], ir::literal(2.0)), o.right[0]);
  CHECK(scan_disagreement(costly) == "");
}

TEST_CASE("cuda: schedules of scans follow the average row") {
  auto k = rows_scanned<double>({1}, Primitive::add, true, ScanResult::inclusive);
  k.builder().find_checks();
  const std::vector<cuda::Address> buffers(static_cast<std::size_t>(k.kernel().buffer_slots));
  const auto of = [&](std::int64_t positions, std::int64_t elements, std::int64_t longest = -1) {
    cuda::Bindings bindings{buffers, {}, positions};
    bindings.positions = positions;
    bindings.elements = elements;
    bindings.longest = longest;
    return cuda::schedule(k.kernel(), bindings, 10);
  };
  CHECK(cuda::entry_count(k.kernel()) == 5);
  CHECK(of(0, 0).launches.empty());
  CHECK(of(100, 3200).launches.at(0).entry == 0);
  CHECK(of(100, 3201).launches.at(0).entry == 1);
  CHECK(of(100, -1).launches.at(0).entry == 1);
  CHECK(of(100, -1).workspace == 0);
  CHECK(of(100, 4096).launches.size() == 1);
  CHECK(of(100, 4097).launches.size() == 4);
  CHECK(of(100, 4097, 4096).launches.size() == 1);
  CHECK(of(100, 4097).zeroed == 64);
  CHECK(of(100, 4097).why ==
        "100 rows of about 41 elements: a warp each; those of more than 4096 by blocks, twice");
  CHECK(cuda::certain_entries(k.kernel()).empty());

  const auto of_length = [](std::int64_t n, const std::vector<std::int64_t>& shape) {
    auto dense = dense_scan(false, shape, n, ScanResult::inclusive, true);
    return std::pair(cuda::certain_entries(dense.kernel()), dense.kernel());
  };
  CHECK(of_length(32, {2}).first == std::vector{0});
  CHECK(of_length(34, {2}).first == std::vector{1});
  CHECK(of_length(4098, {2}).first.empty());
  const kernel::Kernel long_rows = of_length(4098, {2}).second;
  const std::vector<cuda::Address> slots(static_cast<std::size_t>(long_rows.buffer_slots));
  const std::vector<std::int64_t> scalars{2};
  cuda::Bindings bindings{slots, scalars, 1};
  bindings.positions = 2;
  CHECK(cuda::entries_of(cuda::schedule(long_rows, bindings, 10)) == std::vector{2, 3, 4});
  bindings.positions = 1000;  // enough for all multiprocessors
  CHECK(cuda::entries_of(cuda::schedule(long_rows, bindings, 10)) == std::vector{1});
}
