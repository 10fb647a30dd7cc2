#include <array>
#include <random>
#include <string>

#include <fmt/format.h>

#include "support/catch.h"
#include "support/sanitized.h"
#include "tests/cpu/support/fold_kernels.h"
#include "tests/cpu/support/oracle.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

/// Each short length several times: two orders of summation give the same bits by chance often enough.
std::vector<std::int64_t> repeated() {
  std::vector<std::int64_t> out;
  for (const auto n : lengths)
    for (int i = 0; i < (n < 300 ? 12 : 2); ++i) out.push_back(n);
  return out;
}

/// Factors whose product stays finite.
template <class T>
void near_one(KernelBuilder& k, std::int64_t n) {
  T* data = elements_of_rows<T>(k);
  std::mt19937 random(8);
  for (std::int64_t i = 0; i < n; ++i)
    data[i] = T(T(1) + (static_cast<T>(random() % 2001) - T(1000)) / T(30000));
}

template <class T>
void all_operators() {
  std::int64_t elements = 0;
  for (const auto n : repeated()) elements += n;
  for (const Primitive op : {Primitive::add, Primitive::multiply, Primitive::minimum, Primitive::maximum,
                             Primitive::bit_and, Primitive::bit_or, Primitive::bit_xor}) {
    if (!ir::accepts(ir::info(op).operands, anabranch::detail::scalar_type<T>)) continue;
    INFO(ir::info(op).name << " on " << name_of(anabranch::detail::scalar_type<T>));
    auto seeded = rows_of<T>(repeated(), op, true);
    if constexpr (anabranch::detail::FloatValue<T>)
      if (op == Primitive::multiply) near_one<T>(seeded, elements);
    CHECK(disagreement(seeded) == "");
    auto plain = rows_of<T>({lengths.begin() + 1, lengths.end()}, op, false);
    CHECK(disagreement(plain, {0}) == "");
  }
}

}  // namespace

TEMPLATE_TEST_CASE("commutative folds keep the canonical order", "", half, float, double, std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                   std::uint64_t) {
  all_operators<TestType>();
}

TEST_CASE("a fold of elements times the number of their item") {
  auto k = rows_of<double>(repeated(), Primitive::add, true);
  auto& body = k.kernel().body[0];
  const ir::Ref number = k.scalar_parameter(k.number_extent(1000));
  body = ir::primitive(Primitive::multiply, {body, ir::cast(ScalarType::float64, number)});
  CHECK(disagreement(k) == "");
}

TEST_CASE("a fold without a seed fails on an empty row") {
  auto k = rows_of<double>({3, 0, 2}, Primitive::add, false);
  k.find_checks();
  REQUIRE_THROWS_WITH(k.run(), Catch::Contains("no elements"));
  CHECK(disagreement(k) == "");
}

TEST_CASE("signed zeros, infinities and NaN keep their place in a fold") {
  for (const Primitive op : {Primitive::add, Primitive::multiply, Primitive::minimum, Primitive::maximum})
    for (const double seed : {0.0, -0.0, 1.0, -1.5}) {
      auto k = rows_of<double>({0, 1, 1, 1, 2, 5, 20, 40}, op, true);
      double* data = elements_of_rows<double>(k);
      const double special[] = {0.0, -0.0, 1.0 / 0.0, -0.0, 0.0, -0.0, -0.0, -0.0};
      for (int i = 0; i < 8; ++i) data[i] = special[i];
      for (int i = 40; i < 70; ++i) data[i] = i % 2 ? -0.0 : 0.0;
      reduction_in(k.kernel()).seed = {ir::literal(seed)};
      INFO(ir::info(op).name << " from " << seed);
      CHECK(disagreement(k) == "");
    }
}

TEST_CASE("ordered folds go from left to right in blocks") {
  auto k = rows_of<double>(lengths, Primitive::add, true);
  make_ordered(k.kernel());
  CHECK(disagreement(k) == "");
  reduction_in(k.kernel()).seed.clear();
  k.find_checks();
  REQUIRE_THROWS_AS(k.run(), RunError);
}

TEST_CASE("sparse matrix times vector, with 32 and 64 bit indices") {
  std::mt19937 random(5);
  for (const std::int64_t longest : {3, 20, 100, 1000, 30000}) {
    std::vector<std::int32_t> offsets{0}, columns;
    for (int row = 0; row < 60; ++row) {
      const auto n = static_cast<std::int64_t>(random()) % (longest + 1);
      for (std::int64_t i = 0; i < n; ++i) columns.push_back(static_cast<std::int32_t>(random() % 500));
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
    auto narrow =
        spmv(offsets, columns, random_values<float>(columns.size(), 1), random_values<float>(500, 2));
    CHECK(disagreement(narrow) == "");
    auto wide = spmv(std::vector<std::int64_t>(offsets.begin(), offsets.end()),
                     std::vector<std::int64_t>(columns.begin(), columns.end()),
                     random_values<double>(columns.size(), 1), random_values<double>(500, 2));
    CHECK(disagreement(wide) == "");
    // One bad column somewhere, or no vector at all.
    for (const int bad : {-1, 500, INT32_MAX, INT32_MIN}) {
      columns[random() % columns.size()] = bad;
      auto broken =
          spmv(offsets, columns, random_values<float>(columns.size(), 1), random_values<float>(500, 2));
      CHECK(disagreement(broken) == "");
      REQUIRE_THROWS_WITH(broken.run(), Catch::Contains("out of range 0..499 (kernels.h:"));
    }
    auto nothing = spmv(offsets, columns, random_values<float>(columns.size(), 1), std::vector<float>{});
    CHECK(disagreement(nothing) == "");
    REQUIRE_THROWS_WITH(nothing.run(), Catch::Contains("into an empty array"));
  }
}

TEST_CASE(
    "short rows in groups: full and incomplete ones, empty rows, and rows too long for a group among them") {
  const std::vector<std::int64_t> borders{0,  1,  4,  7,   8,   9,   15,  16,  17,  31,
                                          32, 33, 64, 127, 128, 129, 255, 256, 4097};
  std::mt19937 random(17);
  const auto rows = [&](std::size_t count, std::size_t kinds) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(borders[random() % kinds]);
    return out;
  };
  // How many of the borders: rows of a vector, of two, of a group; longer ones; of several blocks.
  for (const std::size_t kinds : {1, 5, 8, 15, 18, 19})
    for (const std::size_t count : {1, 7, 8, 9, 16, 31, 32, 33, 64, 65, 200}) {
      INFO(count << " rows of up to " << borders[kinds - 1]);
      const auto some = rows(count, kinds);
      auto doubles = rows_of<double>(some, Primitive::add, true);
      CHECK(disagreement(doubles) == "");
      auto floats = rows_of<float>(some, Primitive::maximum, true);
      CHECK(disagreement(floats) == "");
      auto bytes = rows_of<std::uint8_t>(some, Primitive::bit_xor, true);
      CHECK(disagreement(bytes) == "");
    }
  // Several operators, some rows of one vector, some of more.
  for (const std::size_t kinds : {5, 15})
    for (const std::size_t count : {8, 33, 100}) {
      INFO("several operators, " << count << " rows of up to " << borders[kinds - 1]);
      auto several = several_reductions(rows(count, kinds), {true, true, true}, false);
      CHECK(disagreement(several) == "");
    }
  // One long row among many short ones, at every place of a group.
  for (std::size_t at = 0; at < 40; ++at) {
    std::vector<std::int64_t> mixed(70, 3);
    mixed[at] = 300;
    auto sums = rows_of<double>(mixed, Primitive::add, true);
    CHECK(disagreement(sums) == "");
  }
}

TEST_CASE("rows read from elsewhere: in groups, and one by one where they are long on average") {
  std::mt19937 random(23);
  const auto matrix = [&](const std::vector<std::int64_t>& lengths) {
    std::vector<std::int32_t> offsets{0}, columns;
    for (const std::int64_t length : lengths) {
      for (std::int64_t i = 0; i < length; ++i) columns.push_back(static_cast<std::int32_t>(random() % 500));
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
    return spmv(offsets, columns, random_values<double>(columns.size(), 1), random_values<double>(500, 2));
  };
  // Around the averages that decide, from memory and in the caches; one row after the other differs from the average.
  for (const std::int64_t average : {22, 23, 24, 25, 39, 40, 41, 90})
    for (const std::size_t count : {31, 32, 33, 64, 100}) {
      INFO(count << " rows of " << average);
      auto equal = matrix(std::vector<std::int64_t>(count, average));
      CHECK(disagreement(equal) == "");
      std::vector<std::int64_t> lengths;
      for (std::size_t row = 0; row < count; ++row)
        lengths.push_back(row % 2 == 0 ? static_cast<std::int64_t>(random() % 20)
                                       : 2 * average - lengths.back());
      auto different = matrix(lengths);
      CHECK(disagreement(different) == "");
    }
  // Long and short ones in turns, one too long for this code, and rows at the end that fill no group.
  std::vector<std::int64_t> turns;
  for (int part = 0; part < 6; ++part) turns.insert(turns.end(), 32, part % 2 == 0 ? 50 : 3);
  turns[70] = 5000;
  turns.insert(turns.end(), 9, 60);
  auto mixed = matrix(turns);
  CHECK(disagreement(mixed) == "");
}

TEST_CASE("folds in vectors of 32 bytes") {
  if (!__builtin_cpu_supports("avx2")) return;
  cpu::CompileOptions narrow;
  narrow.cpu = "haswell";
  const auto check = [&](KernelBuilder k) {
    k.find_checks();
    const auto expected = Oracle(k).run();
    CHECK(same_values(k, k.run(narrow), expected));
  };
  check(rows_of<double>(repeated(), Primitive::add, true));
  check(rows_of<float>(repeated(), Primitive::maximum, true));
  check(rows_of<std::uint8_t>(repeated(), Primitive::bit_xor, true));
  check(several_reductions(repeated(), {true, true, true}, false));
  std::vector<std::int32_t> offsets{0};
  for (const auto n : repeated()) offsets.push_back(offsets.back() + static_cast<std::int32_t>(n));
  const std::vector<std::int32_t> columns(static_cast<std::size_t>(offsets.back()), 1);
  check(spmv(offsets, columns, random_values<double>(columns.size(), 1), std::vector<double>{1.5, -2.5}));
}

TEST_CASE("products of matrices, in tiles where they are large enough") {
  cpu::CompileOptions narrow;
  narrow.cpu = "haswell";
  const auto check = [&](KernelBuilder k, const std::string& what) {
    k.find_checks();
    INFO(what);
    CHECK(disagreement(k) == "");
    if (__builtin_cpu_supports("avx2")) CHECK(same_values(k, k.run(narrow), k.run()));
  };
  for (const bool over_items : {false, true}) {
    for (const auto& [n, m, length] : std::vector<std::array<std::int64_t, 3>>{{0, 64, 3},
                                                                               {3, 64, 20},
                                                                               {4, 63, 20},
                                                                               {4, 64, 1},
                                                                               {5, 65, 17},
                                                                               {9, 130, 31},
                                                                               {41, 70, 255},
                                                                               {6, 64, 256},
                                                                               {5, 90, 300},
                                                                               {4, 64, 4097},
                                                                               {4, 66, 12300}}) {
      // The reference takes seconds, or minutes.
      if ((n * m * length > 200'000 && over_items) || (testing::sanitized && n * m * length > 200'000))
        continue;
      const std::string what =
          fmt::format("{} x {} of {}, {}", n, m, length, over_items ? "three items" : "alone");
      check(products<float>(over_items, n, m, length), "float " + what);
      if (length > 300) continue;
      check(products<double>(over_items, n, m, length), "double " + what);
      check(products<double>(over_items, n, m, length, true), "sums and maxima " + what);
      check(products<std::int32_t>(over_items, n, m, length), "int32 " + what);
    }
    check(products<half>(over_items, 5, 70, 40), "half");
    check(products<std::uint8_t>(over_items, 9, 300, 40), "uint8");
  }
}

TEST_CASE("short rows of one length that lie apart are reduced several at a time") {
  const auto begins_of = [](std::int64_t m, std::int64_t most) {
    std::vector<std::int64_t> begins;
    for (std::int64_t row = 0; row < m; ++row) begins.push_back(row * 37 % (most + 1));
    return begins;
  };
  for (const bool over_items : {false, true})
    for (const std::int64_t m : {1, 7, 8, 16, 17, 33, 40})
      for (const std::int64_t length : {0, 1, 8, 15, 16, 17, 50, 64, 255, 256, 300}) {
        INFO(m << " rows of " << length << (over_items ? ", three items" : ", alone"));
        const std::int64_t n = length + 50;
        auto floats = banded_products<float>(over_items, begins_of(m, 50), m, length, n);
        CHECK(disagreement(floats, {0, 5, 16}) == "");
        if (m != 17 && m != 40) continue;
        auto doubles = banded_products<double>(over_items, begins_of(m, 50), m, length, n);
        CHECK(disagreement(doubles, {0, 5, 16}) == "");
        auto integers = banded_products<std::int32_t>(over_items, begins_of(m, 50), m, length, n);
        CHECK(disagreement(integers, {0, 5, 16}) == "");
      }
}

TEST_CASE("of rows that are reduced together the first that fails tells why") {
  const auto message_of = [](KernelBuilder k) {
    k.find_checks();
    try {
      k.run();
    } catch (const RunError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  std::vector<std::int64_t> begins(40, 3);
  begins[21] = 60;  // up to 79 where there are 70
  begins[22] = -1;
  CHECK_THAT(message_of(banded_products<float>(false, begins, 40, 20, 70)), Catch::Contains("index 70"));
  begins[5] = -2;
  CHECK_THAT(message_of(banded_products<float>(false, begins, 40, 20, 70)), Catch::Contains("index -2"));
  // Where the rows begin is known of 30 of 40; in the same group of rows a row before them fails.
  begins.resize(30);
  begins[5] = 3;
  CHECK_THAT(message_of(banded_products<float>(false, begins, 40, 20, 70)), Catch::Contains("index 70"));
  begins[21] = begins[22] = 3;
  CHECK_THAT(message_of(banded_products<float>(false, begins, 40, 20, 70)), Catch::Contains("index 30"));
}

TEST_CASE("folds prefetch rows whose elements point here and there") {
  auto k = spmv<double, std::int32_t>({0, 3}, {0, 1, 0}, {1.0, 2.0, 3.0}, {1.0, 2.0});
  std::string assembly;
  cpu::CompileOptions options;
  options.assembly = &assembly;
  cpu::compile(k.kernel(), options);
  CHECK_THAT(assembly, Catch::Contains("prefetcht0"));
}

TEST_CASE("several components are reduced together") {
  auto k = rows_of<double>(lengths, Primitive::add, true);
  KernelBuilder both(kernel::Reduce{}, true, static_cast<std::int64_t>(lengths.size()));
  std::vector<std::int64_t> offsets{0};
  for (const auto n : lengths) offsets.push_back(offsets.back() + n);
  const int off = both.buffer(offsets);
  const int first = both.buffer(random_values<double>(static_cast<std::size_t>(offsets.back()), 1));
  both.buffer(random_values<std::int32_t>(static_cast<std::size_t>(offsets.back()), 2));
  const auto length = KernelBuilder::ragged_extent(off);
  const ir::Ref v =
      both.array(kernel::Form::segmented, {ScalarType::float64, ScalarType::int32}, {length}, first, off);
  both.output(kernel::Form::regular, {ScalarType::float64, ScalarType::int32}, {},
              static_cast<std::int64_t>(lengths.size()));
  auto& kernel = both.kernel();
  const ir::Ref element = ir::index(v, row_in(kernel).index, {}, true);
  kernel.body = {ir::project(element, 0, 1), ir::project(element, 1, 1)};
  row_in(kernel).length = length;
  reduce_in(kernel).order = ir::fold_order::OperatorClass::commutative;
  reduction_in(kernel).combine = {
      ir::primitive(Primitive::add, {reduction_in(kernel).left[0], reduction_in(kernel).right[0]}),
      ir::primitive(Primitive::maximum, {reduction_in(kernel).left[1], reduction_in(kernel).right[1]})};
  reduction_in(kernel).seed = {ir::literal(1.0), ir::literal(std::int32_t{-5})};
  row_in(kernel).work_offsets = off;
  CHECK(disagreement(both) == "");
}

TEST_CASE("several reductions of one traversal, with and without seeds") {
  for (const bool ordered : {false, true})
    for (const auto& seeded : std::vector<std::vector<bool>>{
             {true, true, true}, {false, false, false}, {true, false, true}, {false, true, false}})
      for (const auto& lengths :
           std::vector<std::vector<std::int64_t>>{{1, 3, 16, 17, 300, 2}, {5000, 1, 9000}, {2, 0, 7}}) {
        auto k = several_reductions(lengths, seeded, ordered);
        INFO((ordered ? "ordered" : "commutative")
             << ", seeds " << seeded[0] << seeded[1] << seeded[2] << ", row " << lengths[0]);
        CHECK(disagreement(k) == "");
      }
}

TEST_CASE("dense folds of every shape") {
  for (const bool over_items : {false, true})
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {5}, {3, 4}, {2, 1, 3}, {0}, {4, 0}})
      for (const std::int64_t n : {0, 1, 5, 16, 17, 100, 300, 5000, 5001}) {
        auto k = dense_rows(over_items, shape, n);
        INFO("rank " << shape.size() << ", row " << n << ", items " << over_items);
        CHECK(disagreement(k) == "");
      }
}

TEST_CASE("a row's own values, its sum among the seeds and checks that must not be met") {
  // Reads x[0] of an empty x: an error only where a row has elements.
  for (const std::int64_t x_size : {0, 3}) {
    for (const auto& rows : std::vector<std::vector<std::int64_t>>{{0, 0, 0}, {0, 2, 20, 300}}) {
      auto k = rows_of<double>(rows, Primitive::add, true);
      const int xs = k.buffer(std::vector<double>(static_cast<std::size_t>(x_size), 2.5));
      const ir::Ref x = k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(x_size)}, xs);
      k.kernel().body = {
          ir::primitive(Primitive::multiply, {k.kernel().body[0], ir::index(x, ir::int64(0))})};
      CHECK(disagreement(k) == "");
    }
  }
}

TEST_CASE("what the elements and the seed share and may fail is computed where it is needed") {
  for (const std::int64_t size : {3, 0}) {
    const auto share = [&]<class T>(KernelBuilder k, T element) {
      const int xs = k.buffer(std::vector<T>(static_cast<std::size_t>(size), element));
      const ir::Ref x =
          k.array(kernel::Form::avoided, {anabranch::detail::scalar_type<T>}, {k.uniform_extent(size)}, xs);
      auto& kernel = k.kernel();
      reduction_in(kernel).seed = {ir::index(x, ir::int64(0))};
      kernel.body = {ir::primitive(Primitive::multiply, {kernel.body[0], reduction_in(kernel).seed[0]})};
      INFO("x of " << size << ", rank " << kernel.domain.extents.size());
      CHECK(disagreement(k) == "");
    };
    const std::vector<std::int64_t> rows{0, 0, 2, 20, 300, 5000};
    share(rows_of<double>(rows, Primitive::add, true), 2.5);
    auto ordered = rows_of<double>(rows, Primitive::add, true);
    make_ordered(ordered.kernel());
    share(std::move(ordered), 2.5);
    for (const std::int64_t n : {0, 7, 300}) share(dense_rows(false, {3}, n), 2.5f);
  }
}

TEST_CASE("the first offence of a row is reported, in whichever part of the order it lies") {
  const auto kernel = [](std::int32_t length, std::int32_t first, std::int32_t second) {
    std::vector<std::int32_t> columns(static_cast<std::size_t>(length) + 5, 7);
    columns[static_cast<std::size_t>(2 + second)] = 1000;
    columns[static_cast<std::size_t>(2 + first)] = 600;
    return spmv<double, std::int32_t>({0, 2, 2 + length, 5 + length}, columns,
                                      std::vector<double>(columns.size(), 0.5),
                                      std::vector<double>(500, 1.0));
  };
  for (const std::int32_t length : {1, 16, 17, 30, 255, 256, 300, 4096, 4097, 4110, 9000})
    for (const std::int32_t first : {0, length / 2, length - 2, length - 1})
      for (const int lanes : {0, 1, 16}) {
        if (first < 0) continue;
        // Of several blocks, what is left of the last is looked at first.
        auto k = kernel(length, first, length <= 4096 ? length - 1 : first);
        cpu::CompileOptions options;
        options.lanes = lanes;
        INFO(length << " elements, " << first << ", lanes " << lanes);
        CHECK_THROWS_WITH(k.run(options), Catch::Contains("index 600 out of range 0..499"));
        CHECK_THROWS_WITH(k.run(options, 100), Catch::Contains("index 600 out of range 0..499"));
      }
}

TEST_CASE("rows of elements that cost much") {
  auto k = rows_of<double>(lengths, Primitive::add, true);
  auto& kernel = k.kernel();
  const ir::Ref x = kernel.body[0];
  for (int i = 0; i < 40; ++i)
    kernel.body[0] = ir::primitive(i % 2 ? Primitive::add : Primitive::multiply, {kernel.body[0], x});
  CHECK(disagreement(k) == "");
}
