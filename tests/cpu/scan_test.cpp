#include "tests/cpu/support/scan_kernels.h"

#include "support/catch.h"
#include "tests/cpu/support/oracle.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

/// All operators, each with some of the ways to write results: another part of them for each type.
template <class T>
void all_operators() {
  const auto all = all_scan_options();
  std::size_t next = size_of(anabranch::detail::scalar_type<T>);
  for (const Primitive op :
       {Primitive::add, Primitive::multiply, Primitive::subtract, Primitive::maximum, Primitive::bit_xor}) {
    if (!ir::accepts(ir::info(op).operands, anabranch::detail::scalar_type<T>)) continue;
    INFO(ir::info(op).name << " on " << name_of(anabranch::detail::scalar_type<T>));
    for (int i = 0; i < 2; ++i, ++next) {
      const ScanOptions& options = all[next % all.size()];
      INFO(described(options));
      auto k = scan_of<T>(scan_lengths, op, options);
      CHECK(disagreement(k, {0, 5}) == "");
    }
  }
}

template <class Make>
void in_these_ways(const std::vector<ScanOptions>& ways, Make&& make) {
  for (const ScanOptions& options : ways) {
    INFO(described(options));
    KernelBuilder k = make(options);
    CHECK(disagreement(k, {0, 5}) == "");
  }
}
/// Every way to write the results of a kernel.
template <class Make>
void in_all_ways(Make&& make) {
  in_these_ways(all_scan_options(), make);
}
/// Half of them.
template <class Make>
void in_some_ways(Make&& make) {
  in_these_ways(some_scan_options(), make);
}

}  // namespace

TEMPLATE_TEST_CASE("scans keep the canonical order, for every type", "", half, float, double, std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                   std::uint64_t) {
  all_operators<TestType>();
}

TEST_CASE("one long row, and many short ones") {
  in_all_ways([](const ScanOptions& options) { return scan_of<double>({100000}, Primitive::add, options); });
  std::vector<std::int64_t> lengths;
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i)
    lengths.push_back(static_cast<std::int64_t>(random() % (i % 9 == 0 ? 40 : 6)));
  in_all_ways([&](const ScanOptions& options) { return scan_of<double>(lengths, Primitive::add, options); });
  in_some_ways(
      [&](const ScanOptions& options) { return scan_of<std::uint8_t>(lengths, Primitive::add, options); });
}

TEST_CASE("short rows together: among longer ones, at the end of a piece, and many empty ones") {
  const auto all = all_scan_options();
  std::mt19937 random(11);
  for (const std::vector<std::int64_t>& kinds : std::vector<std::vector<std::int64_t>>{
           {0}, {0, 1}, {32}, {3}, {0, 31, 32, 33}, {1, 2, 3, 5, 8, 13, 21, 34}})
    for (const std::size_t count : {1, 31, 64, 400}) {
      std::vector<std::int64_t> lengths;
      for (std::size_t i = 0; i < count; ++i) lengths.push_back(kinds[random() % kinds.size()]);
      INFO(count << " rows of up to " << kinds.back());
      const ScanOptions options = all[random() % all.size()];
      INFO(described(options));
      auto doubles = scan_of<double>(lengths, Primitive::subtract, options);
      CHECK(disagreement(doubles, {0, 50, 300}) == "");
      auto bytes = scan_of<std::uint8_t>(lengths, Primitive::multiply, options);
      CHECK(disagreement(bytes) == "");
      auto tuples = scan_of_affine_maps(lengths, options);
      CHECK(disagreement(tuples) == "");
    }
}

TEST_CASE("scans in vectors of 32 bytes") {
  if (!__builtin_cpu_supports("avx2")) return;
  cpu::CompileOptions narrow;
  narrow.cpu = "haswell";
  const auto check = [&](KernelBuilder k) {
    k.find_checks();
    const auto expected = Oracle(k).run();
    CHECK(same_values(k, k.run(narrow), expected));
  };
  for (const ScanOptions& options : some_scan_options()) {
    INFO(described(options));
    check(scan_of<double>(scan_lengths, Primitive::add, options));
    check(scan_of<std::uint8_t>(scan_lengths, Primitive::add, options));
    check(scan_of<std::int32_t>(scan_lengths, Primitive::maximum, options));
    check(scan_of_affine_maps(scan_lengths, options));
  }
}

TEST_CASE("scans of tuples") {
  in_all_ways([](const ScanOptions& options) { return scan_of_affine_maps(scan_lengths, options); });
  in_some_ways([](const ScanOptions& options) { return scan_of_maxima_with_places(scan_lengths, options); });
}

TEST_CASE("several outputs take components of a scan's tuples") {
  for (const kernel::ScanKind kind :
       {kernel::ScanKind{}, {kernel::Prefixes::exclusive}, {kernel::Prefixes::exclusive, true}}) {
    ScannedRows rows = scanned_rows<double, std::int32_t>(scan_lengths, /*narrow_offsets=*/true);
    auto& kernel = rows.k.kernel();
    auto& reduction = reduction_in(kernel);
    reduction.combine = {ir::primitive(Primitive::add, {rows.left[0], rows.right[0]}),
                         ir::primitive(Primitive::minimum, {rows.left[1], rows.right[1]})};
    reduction.seed = {ir::literal(0.25), ir::literal(std::int32_t{7})};
    scan_in(kernel).kind = kind;
    kernel.outputs[0].array.type.scalars = {ScalarType::float64};  // totals of the first component only
    for (const std::size_t first : {1u, 0u, 1u})
      rows.k.output_elements(kernel::Form::segmented, {first ? ScalarType::int32 : ScalarType::float64},
                             first, rows.elements, rows.offsets, OffsetType::int32);
    INFO(ir::to_string(kind));
    CHECK(disagreement(rows.k) == "");
  }
}

TEST_CASE("dense scans of every shape") {
  const auto all = all_scan_options();
  std::size_t next = 0;
  for (const bool over_items : {false, true})
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {5}, {3, 4}, {2, 1, 3}, {0}, {4, 0}})
      for (const std::int64_t n : {0, 5, 33, 4097}) {
        const ScanOptions& options = all[next++ % all.size()];
        INFO("rank " << shape.size() << ", row " << n << ", items " << over_items << ", "
                     << described(options));
        auto k = dense_scan(over_items, shape, n, options);
        CHECK(disagreement(k, {0, 7}) == "");
      }
}

TEST_CASE("scans along an outer dimension: rows side by side") {
  const auto all = all_scan_options();
  std::size_t next = 0;
  for (const bool over_items : {false, true})
    for (const std::int64_t columns : {0, 1, 3, 16, 37, 200, 1100})
      for (const std::int64_t n : {0, 1, 5, 32, 70, 4097, 13000}) {
        if (columns * n > 40'000) continue;  // the reference takes a second
        const ScanOptions& options = all[next++ % all.size()];
        INFO(columns << " columns of " << n << ", items " << over_items << ", " << described(options));
        auto k = scan_across(over_items, {columns}, 0, n, options);
        CHECK(disagreement(k, {0, 50}) == "");
      }
  in_all_ways([](const ScanOptions& options) { return scan_across(true, {300}, 0, 67, options); });
  in_some_ways([](const ScanOptions& options) { return scan_across(false, {3, 5, 20}, 1, 40, options); });
  in_some_ways([](const ScanOptions& options) { return scan_across(true, {2, 70}, 1, 35, options); });
  in_some_ways([](const ScanOptions& options) { return scan_across(true, {3, 33}, 0, 40, options, true); });
}

TEST_CASE("scans along the outer dimension of matrices of different extents") {
  in_some_ways([](const ScanOptions& options) {
    return scan_of_ragged_matrices({{2, 3}, {0, 7}, {5, 0}, {1, 33}, {3, 4100}, {4, 32}, {40, 2}, {70, 100}},
                                   options, true);
  });
}

TEST_CASE("scans of matrices of different extents, with a seed for each item") {
  in_some_ways([](const ScanOptions& options) {
    return scan_of_ragged_matrices({{2, 3}, {0, 7}, {5, 0}, {1, 33}, {3, 4100}, {4, 32}, {40, 2}}, options);
  });
}

TEST_CASE("scans of what is computed of several arrays") {
  in_some_ways([](const ScanOptions& options) {
    ScannedRows rows = scanned_rows<double, float>(scan_lengths);
    auto& kernel = rows.k.kernel();
    const ir::Ref other = ir::cast(ScalarType::float64, rows.element[1]);
    kernel.body = {ir::primitive(Primitive::multiply, {rows.element[0], other}),
                   ir::cast(ScalarType::float32,
                            ir::primitive(Primitive::divide,
                                          {other, ir::cast(ScalarType::float64, row_in(kernel).index)}))};
    auto& reduction = reduction_in(kernel);
    reduction.combine = {ir::primitive(Primitive::add, {rows.left[0], rows.right[0]}),
                         ir::primitive(Primitive::maximum, {rows.left[1], rows.right[1]})};
    reduction.seed = {ir::literal(1.5), ir::literal(2.5f)};
    add_scan_outputs(rows, options);
    return std::move(rows.k);
  });
}

TEST_CASE("operators that cost much, and that branch and loop") {
  const auto scan_by = [](const ScanOptions& options, auto&& combine) {
    ScannedRows rows = scanned_rows<double>({0, 1, 5, 33, 100, 4200, 31, 64, 9000});
    auto& reduction = reduction_in(rows.k.kernel());
    reduction.combine = {combine(rows.left[0], rows.right[0])};
    reduction.seed = {ir::literal(0.5)};
    add_scan_outputs(rows, options);
    return std::move(rows.k);
  };
  in_some_ways([&](const ScanOptions& options) {
    return scan_by(options, [](const ir::Ref& x, const ir::Ref& y) {
      ir::Ref z = ir::primitive(Primitive::add, {x, y});
      for (int i = 0; i < 20; ++i)
        z = ir::primitive(i % 2 ? Primitive::add : Primitive::multiply, {z, i % 3 ? ir::literal(0.75) : x});
      return z;
    });
  });
  in_some_ways([&](const ScanOptions& options) {
    return scan_by(options, [](const ir::Ref& x, const ir::Ref& y) {
      ir::Ref z = y;
      for (int i = 0; i < 40; ++i) z = ir::primitive(Primitive::divide, {z, ir::literal(1.01)});
      return ir::cond(ir::primitive(Primitive::less, {x, y}), z, ir::primitive(Primitive::subtract, {x, y}));
    });
  });
  // Their sum is halved while it is larger than y.
  in_some_ways([&](const ScanOptions& options) {
    return scan_by(options, [](const ir::Ref& x, const ir::Ref& y) {
      const auto state = [] { return ir::parameter(ir::Type::element(ScalarType::float64)); };
      const auto size = [](const ir::Ref& v) { return ir::primitive(Primitive::absolute, {v}); };
      const ir::Ref p = state(), q = state();
      const ir::Ref bound = ir::primitive(Primitive::add, {size(y), ir::literal(1.0)});
      const ir::Ref half = ir::primitive(Primitive::divide, {q, ir::literal(2.0)});
      return ir::while_loop(ir::lambda({p}, {ir::primitive(Primitive::less, {bound, size(p)})}),
                            ir::lambda({q}, {half}), ir::primitive(Primitive::add, {x, y}));
    });
  });
}

TEST_CASE("operators, elements and seeds that may fail") {
  const auto quotients = [](const std::vector<std::int64_t>& lengths, const ScanOptions& options) {
    ScannedRows rows = scanned_rows<std::int32_t>(lengths);
    auto& reduction = reduction_in(rows.k.kernel());
    reduction.combine = {ir::primitive(Primitive::divide, {rows.left[0], rows.right[0]})};
    reduction.seed = {ir::literal(std::int32_t{1 << 30})};
    add_scan_outputs(rows, options);
    return std::move(rows.k);
  };
  // Divisors that are 1 or -1 in an order that keeps quotients from being 0, and one 0 somewhere or nowhere.
  for (const std::int64_t zero : {-1, 0, 1, 31, 32, 40, 4095, 4096, 4999})
    for (const ScanOptions& options : some_scan_options()) {
      auto k = quotients({0, 1, 2, 33, 0, 5000, 3}, options);
      auto* data = static_cast<std::int32_t*>(k.data(1));
      std::fill_n(data, k.sizes()[1] / 4, 1);
      for (std::size_t i = 0; i < k.sizes()[1] / 4; i += 3) data[i] = -1;
      if (zero >= 0) data[first_element + 36 + zero] = 0;
      INFO(described(options) << ", zero at " << zero);
      CHECK(disagreement(k, {0, 5}) == "");
    }
  // The seed is read from an array without elements: only where it is needed.
  for (const std::int64_t size : {0, 2})
    for (const auto& lengths : std::vector<std::vector<std::int64_t>>{{0, 0}, {0, 3, 40}})
      for (const ScanOptions& options : some_scan_options()) {
        auto k = scan_of<double>(lengths, Primitive::add, options);
        const int xs = k.buffer(std::vector<double>(static_cast<std::size_t>(size), 2.5));
        const ir::Ref x = k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(size)}, xs);
        const ir::Ref read = ir::index(x, ir::int64(0));
        if (options.seeded) reduction_in(k.kernel()).seed = {read};
        INFO(described(options) << ", x of " << size << ", " << lengths.size() << " rows");
        CHECK(disagreement(k) == "");
        k.kernel().body = {ir::primitive(Primitive::multiply, {k.kernel().body[0], read})};
        CHECK(disagreement(k) == "");
      }
}

TEST_CASE("elements of a scan at computed positions") {
  const auto scan_at = [](std::int64_t row, std::int32_t bad, const ScanOptions& options) {
    ScannedRows rows = scanned_rows<std::int32_t, double>({2, row, 3});
    auto& kernel = rows.k.kernel();
    auto* columns = static_cast<std::int32_t*>(rows.k.data(1));
    for (std::int64_t i = 0; i < rows.elements; ++i) columns[i] = static_cast<std::int32_t>(i * 7 % 500);
    if (bad >= 0) columns[first_element + 2 + bad] = 600;
    const int xs = rows.k.buffer(random_values<double>(500, 9));
    const ir::Ref x =
        rows.k.array(kernel::Form::avoided, {ScalarType::float64}, {rows.k.uniform_extent(500)}, xs);
    const ir::Ref at =
        ir::index(x, ir::cast(ScalarType::int64, rows.element[0]), Place(std::source_location::current()));
    kernel.body = {rows.element[0], ir::primitive(Primitive::multiply, {rows.element[1], at})};
    auto& reduction = reduction_in(kernel);
    reduction.combine = {ir::primitive(Primitive::maximum, {rows.left[0], rows.right[0]}),
                         ir::primitive(Primitive::add, {rows.left[1], rows.right[1]})};
    reduction.seed = {ir::literal(std::int32_t{0}), ir::literal(0.5)};
    add_scan_outputs(rows, options);
    rows.k.find_checks();
    return std::move(rows.k);
  };
  for (const std::int32_t row : {1, 5, 32, 33, 100, 4096, 4097, 9000})
    for (const ScanOptions& options : some_scan_options()) {
      INFO(row << " elements, " << described(options));
      auto good = scan_at(row, -1, options);
      CHECK(disagreement(good) == "");
      for (const std::int32_t bad : {0, row / 2, row - 1}) {
        auto k = scan_at(row, bad, options);
        k.kernel().domain.over_items = true;
        CHECK_THROWS_WITH(k.run(), Catch::Contains("index 600 out of range 0..499 (scan_test.cpp:"));
        cpu::CompileOptions scalar;
        scalar.lanes = 1;
        CHECK_THROWS_WITH(k.run(scalar, 5), Catch::Contains("index 600 out of range 0..499"));
      }
    }
}
