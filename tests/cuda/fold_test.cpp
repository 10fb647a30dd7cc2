#include <cmath>
#include <numeric>
#include <random>

#include "kernels/cuda/fold_order.cuh"
#include "support/catch.h"
#include "tests/cpu/support/fold_kernels.h"
#include "tests/cuda/support/run.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace order = ir::fold_order;
static_assert(fold_order::narrow_lanes == order::narrow_lanes);
static_assert(fold_order::wide_lanes == order::wide_lanes);
static_assert(fold_order::wide_from == order::wide_from);
static_assert(fold_order::block == order::block);

namespace {

std::vector<std::int64_t> filled() { return {lengths.begin() + 1, lengths.end()}; }

template <class T>
void all_operators() {
  for (const Primitive op : {Primitive::add, Primitive::multiply, Primitive::minimum, Primitive::maximum,
                             Primitive::bit_and, Primitive::bit_or, Primitive::bit_xor}) {
    if (!ir::accepts(ir::info(op).operands, anabranch::detail::scalar_type<T>)) continue;
    INFO(ir::info(op).name << " on " << name_of(anabranch::detail::scalar_type<T>));
    auto seeded = rows_of<T>(lengths, op, true);
    CHECK(cuda_disagreement(seeded) == "");
  }
}

}  // namespace

TEMPLATE_TEST_CASE("cuda: commutative folds keep the canonical order", "", half, float, double, std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                   std::uint64_t) {
  all_operators<TestType>();
}

TEST_CASE("cuda: rows of random lengths") {
  std::mt19937 random(1);
  for (const int longest : {4, 20, 50, 300, 5000}) {
    std::vector<std::int64_t> rows;
    for (int i = 0; i < (longest > 1000 ? 60 : 700); ++i)
      rows.push_back(static_cast<std::int64_t>(random()) % (longest + 1));
    auto k = rows_of<double>(rows, Primitive::add, true);
    CHECK(cuda_disagreement(k) == "");
  }
}

TEST_CASE("cuda: a giant row among short ones") {
  std::vector<std::int64_t> rows(400, 3);
  rows[7] = 5;
  rows[100] = 300'000;
  rows[101] = 0;
  rows[350] = 4097;
  auto k = rows_of<double>(rows, Primitive::add, true);
  CHECK(cuda_disagreement(k) == "");
  auto plain = rows_of<double>({2, 300'000}, Primitive::add, false);
  CHECK(cuda_disagreement(plain) == "");
  auto ordered = rows_of<double>(rows, Primitive::add, true);
  make_ordered(ordered.kernel());
  CHECK(cuda_disagreement(ordered) == "");
}

TEST_CASE("cuda: a fold without a seed, and its empty rows") {
  auto k = rows_of<double>(filled(), Primitive::add, false);
  CHECK(cuda_disagreement(k) == "");
  auto empty = rows_of<double>({3, 0, 2, 0}, Primitive::add, false);
  CHECK(cuda_disagreement(empty) == "");
  const auto out = run_cuda(empty, {});
  CHECK(out.error.position == 1);
  REQUIRE(out.error.failed == 1);
  CHECK(empty.kernel().checks[0].kind == kernel::Check::Kind::empty_fold);
}

TEST_CASE("cuda: signed zeros, infinities and NaN keep their place in a fold") {
  for (const Primitive op : {Primitive::add, Primitive::multiply, Primitive::minimum, Primitive::maximum})
    for (const double seed : {0.0, -0.0, -1.5}) {
      auto k = rows_of<double>({0, 1, 1, 1, 2, 5, 20, 40}, op, true);
      double* data = elements_of_rows<double>(k);
      const double special[] = {0.0, -0.0, 1.0 / 0.0, -0.0, 0.0, -0.0, -0.0, std::nan("")};
      for (int i = 0; i < 8; ++i) data[i] = special[i];
      for (int i = 40; i < 70; ++i) data[i] = i % 2 ? -0.0 : 0.0;
      reduction_in(k.kernel()).seed = {ir::literal(seed)};
      INFO(ir::info(op).name << " from " << seed);
      CHECK(cuda_disagreement(k) == "");
    }
}

TEST_CASE("cuda: ordered folds go from left to right in blocks") {
  auto k = rows_of<double>(lengths, Primitive::add, true);
  make_ordered(k.kernel());
  CHECK(cuda_disagreement(k) == "");
  auto plain = rows_of<double>(filled(), Primitive::add, false);
  make_ordered(plain.kernel());
  CHECK(cuda_disagreement(plain) == "");
  // Rows of one length, several blocks.
  auto same = dense_rows(true, {2}, 9000);
  reduce_in(same.kernel()).order = order::OperatorClass::ordered;
  CHECK(cuda_disagreement(same) == "");
}

TEST_CASE("cuda: sparse matrix times vector, with 32 and 64 bit indices") {
  std::mt19937 random(5);
  for (const std::int64_t longest : {3, 20, 100, 1000, 30000}) {
    std::vector<std::int32_t> offsets{0}, columns;
    for (int row = 0; row < 40; ++row) {
      const auto n = static_cast<std::int64_t>(random()) % (longest + 1);
      for (std::int64_t i = 0; i < n; ++i) columns.push_back(static_cast<std::int32_t>(random() % 500));
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
    auto narrow =
        spmv(offsets, columns, random_values<float>(columns.size(), 1), random_values<float>(500, 2));
    CHECK(cuda_disagreement(narrow) == "");
    auto wide = spmv(std::vector<std::int64_t>(offsets.begin(), offsets.end()),
                     std::vector<std::int64_t>(columns.begin(), columns.end()),
                     random_values<double>(columns.size(), 1), random_values<double>(500, 2));
    CHECK(cuda_disagreement(wide) == "");
    // Bad columns somewhere, or no vector at all.
    for (const int bad : {-1, 500, INT32_MAX, INT32_MIN}) {
      columns[random() % columns.size()] = bad;
      auto broken =
          spmv(offsets, columns, random_values<float>(columns.size(), 1), random_values<float>(500, 2));
      CHECK(cuda_disagreement(broken) == "");
    }
    auto nothing = spmv(offsets, columns, random_values<float>(columns.size(), 1), std::vector<float>{});
    CHECK(cuda_disagreement(nothing) == "");
  }
}

TEST_CASE("cuda: the first offence of the lowest row is reported") {
  for (const std::int32_t length : {1, 16, 17, 30, 255, 256, 300, 4096, 4097, 4110, 9000})
    for (const std::int32_t first : {0, length / 2, length - 2, length - 1}) {
      if (first < 0) continue;
      std::vector<std::int32_t> columns(static_cast<std::size_t>(length) + 5, 7);
      columns[static_cast<std::size_t>(2 + length - 1)] = 1000;
      columns[static_cast<std::size_t>(2 + first)] = 600;
      columns.back() = 1001;
      auto k =
          spmv<double, std::int32_t>({0, 2, 2 + length, 5 + length}, columns,
                                     std::vector<double>(columns.size(), 0.5), std::vector<double>(500, 1.0));
      for (const CudaWay& way : all_ways(k.kernel())) {
        const auto error = run_cuda(k, way).error;
        INFO(length << " elements, " << first << ", " << way.text());
        CHECK(error.position == 1);
        CHECK(error.value == 600);
        CHECK(error.bound == 500);
        CHECK(error.failed == 1);
      }
    }
}

TEST_CASE("cuda: where every element of a row fails the first one is reported") {
  for (const std::int32_t length : {30, 300, 4097, 9000}) {
    std::vector<std::int32_t> columns(static_cast<std::size_t>(length) + 5, 7);
    std::iota(columns.begin() + 2, columns.begin() + 2 + length, 1000);
    auto k =
        spmv<double, std::int32_t>({0, 2, 2 + length, 5 + length}, columns,
                                   std::vector<double>(columns.size(), 0.5), std::vector<double>(500, 1.0));
    for (const CudaWay& way : all_ways(k.kernel())) {
      const auto error = run_cuda(k, way).error;
      INFO(length << " elements, " << way.text());
      CHECK(error.position == 1);
      CHECK(error.value == 1000);
    }
  }
}

TEST_CASE("cuda: several components are reduced together") {
  KernelBuilder both(kernel::Reduce{}, true, static_cast<std::int64_t>(lengths.size()));
  std::vector<std::int64_t> offsets{0};
  for (const auto n : lengths) offsets.push_back(offsets.back() + n);
  const int off = both.buffer(offsets);
  const auto n = static_cast<std::size_t>(offsets.back());
  const int first = both.buffer(random_values<double>(n, 1));
  both.buffer(random_values<std::int32_t>(n, 2));
  std::vector<std::uint8_t> flags(n);
  for (std::size_t i = 0; i < n; ++i) flags[i] = i % 301 != 300;
  both.buffer(flags);
  const auto length = KernelBuilder::ragged_extent(off);
  const ir::Scalars types{ScalarType::float64, ScalarType::int32, ScalarType::boolean};
  const ir::Ref v = both.array(kernel::Form::segmented, types, {length}, first, off);
  both.output(kernel::Form::regular, types, {}, static_cast<std::int64_t>(lengths.size()));
  auto& kernel = both.kernel();
  const ir::Ref element = ir::index(v, row_in(kernel).index, {}, true);
  kernel.body = {ir::project(element, 0, 1), ir::project(element, 1, 1), ir::project(element, 2, 1)};
  row_in(kernel).length = length;
  reduce_in(kernel).order = order::OperatorClass::commutative;
  reduction_in(kernel).combine = {
      ir::primitive(Primitive::add, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]}),
      ir::primitive(Primitive::maximum, {reduction_in(kernel).left[1], reduction_in(kernel).right[1]}),
      ir::primitive(Primitive::bit_and, {reduction_in(kernel).left[2], reduction_in(kernel).right[2]})};
  reduction_in(kernel).seed = {ir::literal(1.0), ir::literal(std::int32_t{-5}), ir::literal(true)};
  row_in(kernel).work_offsets = off;
  CHECK(cuda_disagreement(both) == "");
}

TEST_CASE("cuda: several reductions of one traversal, with and without seeds") {
  for (const bool ordered : {false, true})
    for (const auto& seeded : std::vector<std::vector<bool>>{
             {true, true, true}, {false, false, false}, {true, false, true}, {false, true, false}})
      for (const auto& lengths :
           std::vector<std::vector<std::int64_t>>{{1, 3, 16, 17, 300, 2}, {5000, 1, 9000}, {2, 0, 7}}) {
        auto k = several_reductions(lengths, seeded, ordered);
        INFO((ordered ? "ordered" : "commutative")
             << ", seeds " << seeded[0] << seeded[1] << seeded[2] << ", row " << lengths[0]);
        CHECK(cuda_disagreement(k) == "");
      }
}

TEST_CASE("cuda: dense folds of every shape") {
  for (const bool over_items : {false, true})
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {5}, {3, 4}, {2, 1, 3}, {0}, {4, 0}})
      for (const std::int64_t n : {0, 1, 5, 16, 17, 100, 300, 5000, 70'000}) {
        if (n > 5000 && shape.size() > 1) continue;
        auto k = dense_rows(over_items, shape, n);
        INFO("rank " << shape.size() << ", row " << n << ", items " << over_items);
        CHECK(cuda_disagreement(k) == "");
      }
}

TEST_CASE("cuda: rows inside items that differ in size") {
  // Item i has rows[i] rows of columns[i] elements.
  const std::vector<std::int64_t> rows{3, 0, 1, 20, 300, 0, 2, 1}, columns{5, 7, 0, 33, 16, 0, 300, 9000};
  std::vector<std::int64_t> offsets{9}, row_offsets{4};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    offsets.push_back(offsets.back() + rows[i] * columns[i]);
    row_offsets.push_back(row_offsets.back() + rows[i]);
  }
  for (const bool is_ordered : {false, true}) {
    KernelBuilder k(kernel::Reduce{}, true, static_cast<std::int64_t>(rows.size()));
    const int off = k.buffer(offsets), row_off = k.buffer(row_offsets);
    const auto height = k.per_item_extent(rows), width = k.per_item_extent(columns);
    const ir::Ref a =
        k.array(kernel::Form::segmented, {ScalarType::float64}, {height, width},
                k.buffer(random_values<double>(static_cast<std::size_t>(offsets.back()), 6)), off);
    k.output(kernel::Form::segmented, {ScalarType::float64}, {height}, row_offsets.back(), row_off);
    auto& kernel = k.kernel();
    const ir::Ref scale = ir::cast(ScalarType::float64, kernel.index[0]);
    kernel.body = {ir::primitive(
        Primitive::add,
        {ir::index(a, ir::tuple({kernel.index[0], row_in(kernel).index}), {}, true),
         ir::primitive(Primitive::multiply,
                       {scale, ir::index(a, ir::tuple({kernel.index[0], ir::int64(0)}), {}, false)})})};
    row_in(kernel).length = width;
    reduce_in(kernel).order = order::OperatorClass::commutative;
    reduction_in(kernel).combine = {
        ir::primitive(Primitive::add, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]})};
    reduction_in(kernel).seed = {scale};
    if (is_ordered) make_ordered(kernel);
    CHECK(cuda_disagreement(k) == "");
  }
}

TEST_CASE("cuda: a row's own values, and checks that must not be met") {
  for (const std::int64_t x_size : {0, 3})
    for (const auto& rows : std::vector<std::vector<std::int64_t>>{{0, 0, 0}, {0, 2, 20, 300}}) {
      auto k = rows_of<double>(rows, Primitive::add, true);
      const int xs = k.buffer(std::vector<double>(static_cast<std::size_t>(x_size), 2.5));
      const ir::Ref x = k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(x_size)}, xs);
      k.kernel().body = {
          ir::primitive(Primitive::multiply, {k.kernel().body[0], ir::index(x, ir::int64(0))})};
      CHECK(cuda_disagreement(k) == "");
    }
}

TEST_CASE("cuda: rows of elements that cost much") {
  auto k = rows_of<double>(lengths, Primitive::add, true);
  auto& kernel = k.kernel();
  const ir::Ref x = kernel.body[0];
  for (int i = 0; i < 80; ++i)
    kernel.body[0] = ir::primitive(i % 2 ? Primitive::add : Primitive::multiply, {kernel.body[0], x});
  CHECK(cuda_disagreement(k) == "");
}

namespace {

/// Schedules of one kernel on ten multiprocessors.
class Scheduled {
 public:
  explicit Scheduled(KernelBuilder builder) : builder_(std::move(builder)) {
    builder_.find_checks();
    buffers_.resize(static_cast<std::size_t>(builder_.kernel().buffer_slots));
  }
  cuda::Schedule operator()(std::int64_t positions, std::int64_t elements, std::int64_t longest = -1,
                            std::int64_t in_long_rows = -1) const {
    cuda::Bindings bindings{buffers_, {}, positions};
    bindings.positions = positions;
    bindings.elements = elements;
    bindings.longest = longest;
    bindings.in_long_rows = in_long_rows;
    return cuda::schedule(builder_.kernel(), bindings, 10);
  }

 private:
  mutable KernelBuilder builder_;
  std::vector<cuda::Address> buffers_;
};

/// Rows whose elements know their number.
KernelBuilder numbered_rows() {
  auto k = rows_of<double>({1}, Primitive::add, true);
  auto& kernel = k.kernel();
  kernel.body = {
      ir::primitive(Primitive::add, {kernel.body[0], ir::cast(ScalarType::float64, row_in(kernel).index)})};
  return k;
}

}  // namespace

TEST_CASE("cuda: schedules follow the average row, and say why") {
  const Scheduled of(numbered_rows());
  CHECK(of(0, 0).launches.empty());
  CHECK(of(100, 1600).launches.at(0).entry == 0);
  CHECK(of(100, 1601).launches.at(0).entry == 1);
  CHECK(of(100, 12'800).launches.at(0).entry == 1);
  CHECK(of(100, 12'801).launches.at(0).entry == 2);
  CHECK(of(100, -1).launches.at(0).entry == 2);
  CHECK(of(100, -1).workspace == 0);
  CHECK(of(100, 4096).launches.size() == 1);
  CHECK(of(100, 4097).launches.size() == 3);
  CHECK(of(100, 12'801).why ==
        "100 rows of about 129 elements: a warp each; those of more than 4096 by blocks");
  CHECK(of(1'000'000'000, 2'000'000'000).launches.at(0).grid == 640);
  CHECK(of(100, 12'801, 4096).launches.size() == 1);
  CHECK(of(100, 12'801, 4096).workspace == 0);
  const cuda::Schedule listed = of(100, 12'801, 4097);
  CHECK(listed.launches.size() == 3);
  CHECK(listed.zeroed == 64);
  CHECK(listed.workspace > 64);
  // The list is mostly empty: its launches are small.
  CHECK(of(1'000'000, 1'000'000'000).launches.at(1).grid == 80);
}

TEST_CASE("cuda: few blocks of long rows are computed by all threads of a block, many by warps") {
  const Scheduled of(numbered_rows());
  const auto middle = [](const cuda::Schedule& s) { return s.launches.at(1); };
  // Ten multiprocessors, up to 24 blocks each: 4097 elements may be a row of two blocks.
  CHECK(middle(of(1, 4097)).entry == 5);
  CHECK(middle(of(1, 4097)).grid == 2);
  CHECK(middle(of(1, 4097)).block == 256);
  CHECK(middle(of(1, 119 * 4097)).entry == 5);
  CHECK(middle(of(1, 120 * 4097)).entry == 3);
  // Among many short rows what is in long ones counts, where that is known.
  CHECK(middle(of(100'000, 3'000'000, 10'000)).entry == 3);
  CHECK(middle(of(100'000, 3'000'000, 10'000, 10'000)).entry == 5);
  CHECK(middle(of(100'000, 3'000'000, 10'000, 10'000)).grid == 4);
  CHECK(middle(of(100'000, 3'000'000, 10'000, 2'000'000)).entry == 3);
  CHECK(of(100'000, 3'000'000, 10'000, 10'000).workspace < of(100'000, 3'000'000, 10'000).workspace / 100);
  auto rows = numbered_rows();
  make_ordered(rows.kernel());
  const Scheduled ordered(std::move(rows));
  CHECK(middle(ordered(1, 639 * 4097)).entry == 3);
  CHECK(middle(ordered(1, 640 * 4097)).entry == 1);
  // A row's results are joined by a warp, by 256 threads, or by 1024.
  const auto threads = [](const cuda::Schedule& s) { return s.launches.at(2).block; };
  CHECK(threads(of(9, 1'000'000'000, 256 * 4096)) == 32);
  CHECK(threads(of(9, 1'000'000'000, 257 * 4096)) == 256);
  CHECK(threads(of(9, 1'000'000'000, 2049 * 4096)) == 1024);
  CHECK(threads(of(9, 1'000'000'000)) == 1024);
}

TEST_CASE("cuda: schedules of rows from tiles deal rows and elements together") {
  const Scheduled of(rows_of<double>({1}, Primitive::add, true));
  CHECK(of(100, 4800).launches.at(0).entry == 0);
  CHECK(of(100, 4800).why ==
        "100 rows of about 48 elements: a thread each, from tiles; those of more than 4096 by blocks");
  CHECK(of(100, 4801).launches.at(0).entry == 1);
  CHECK(of(100, 12'801, 200).launches.at(0).entry == 6);
  CHECK(of(100, 12'801, 200).why == "100 rows of about 129 elements: a warp each, from tiles");
  CHECK(of(100, 102'400).launches.at(0).entry == 6);
  CHECK(of(100, 102'401).launches.at(0).entry == 2);
  CHECK(of(100, 102'401).why.find("tiles") == std::string::npos);
  // A tile each while there are blocks enough; then the multiprocessors' fill, up to four times.
  CHECK(of(100, 3000, 30).launches.at(0).grid == 1);
  CHECK(of(10'000, 90'000, 30).launches.at(0).grid == 32);
  CHECK(of(100'000, 900'000, 30).launches.at(0).grid == 40);
  CHECK(of(1'000'000, 9'000'000, 30).launches.at(0).grid == 40 * 4);
  CHECK(of(100'000'000, 900'000'000, 30).launches.at(0).grid == 40 * 4);
  // For as many blocks as a multiprocessor runs at a time, where that is known.
  const auto dealt = [&](cuda::Schedule schedule, int at_a_time) {
    cuda::deal_tiles(schedule, 10, [&](int entry) {
      CHECK(entry == schedule.launches.at(0).entry);
      return at_a_time;
    });
    return schedule.launches.at(0).grid;
  };
  CHECK(dealt(of(10'000, 90'000, 30), 0) == 32);
  CHECK(dealt(of(10'000, 90'000, 30), 3) == 30);
  CHECK(dealt(of(100'000, 900'000, 30), 0) == 40);
  CHECK(dealt(of(100'000, 900'000, 30), 1) == 10 * 4);
  CHECK(dealt(of(100'000, 900'000, 30), 3) == 30 * 2);
  CHECK(dealt(of(100'000, 900'000, 30), 8) == 80);
  CHECK(dealt(of(1'000'000, 9'000'000, 30), 8) == 80 * 4);
  CHECK(dealt(of(100, 102'401), 1) == of(100, 102'401).launches.at(0).grid);
  auto in_order = rows_of<double>({1}, Primitive::add, true);
  make_ordered(in_order.kernel());
  const Scheduled ordered(std::move(in_order));
  CHECK(ordered(1000, 128'000, 200).why == "1000 rows of about 128 elements: a thread each, from tiles");
  CHECK(ordered(1000, 128'001, 200).why == "1000 rows of about 129 elements: a thread each");
}
