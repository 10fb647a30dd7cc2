#include "gpu/data.h"
#include "gpu/on_gpu.h"

namespace anabranch::testing {
namespace {

/// Around every border of the schedules: 1 thread, 8, a warp, blocks across the grid.
std::vector<std::int64_t> border_lengths() {
  return {0,  1,  2,   7,   8,    9,    15,   16,   17,   31,    32,    33,     63,
          64, 65, 127, 128, 129,  255,  256,  257,  1000, 4095,  4096,  4097,   5,
          0,  0,  3,   511, 1023, 8191, 8192, 8193, 1,    12288, 70000, 300000, 2};
}

std::vector<Vector<double>> rows_of(const std::vector<std::int64_t>& lengths) {
  std::vector<Vector<double>> rows;
  for (const std::int64_t n : lengths) rows.push_back(random_numbers<double>(n));
  return rows;
}

void multiply(const Matrix& a) {
  const Vector<double> x = random_numbers<double>(a.cols);
  agree_on_gpu(compile(consume(elements(map_seq(times_row(x), stream_in(a.source()))))));
}

}  // namespace

TEST_CASE("sparse matrix times vector, by row-length law") {
  for (const std::int64_t n : {3, 9, 27, 80}) multiply(Matrix(2000, 5000, [n](auto) { return n; }));
  multiply(Matrix(3000, 5000, [](auto) { return static_cast<std::int64_t>(engine() % 65); }));
  multiply(Matrix(3000, 100'000, power_law));
  multiply(Matrix(100, 100, [](auto) { return 0; }));
}

TEST_CASE("sums of rows of every border length") {
  const auto rows = rows_of(border_lengths());
  const auto smallest = [](auto row) { return fold([](auto a, auto b) { return min(a, b); }, 1e300, row); };
  agree_on_gpu(compile(consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(rows))))));
  agree_on_gpu(compile(consume(elements(map_seq(smallest, stream_in(rows))))));
}

TEST_CASE("maps whose items keep their shapes") {
  const auto rows = rows_of(border_lengths());
  const auto body = [](auto row) { return map([](auto x) { return x * x + 0.5; }, row); };
  agree_on_gpu(compile(consume(elements(map_seq(body, stream_in(rows))))));
}

TEST_CASE("an intermediate array that is read twice") {
  const auto rows = rows_of({1, 5, 64, 1000, 33, 4097});
  const auto centred = [](auto row) {
    const auto total = sum(row);
    return map([=](auto x) { return x - the(total); }, row);
  };
  agree_on_gpu(compile(consume(elements(map_seq(centred, stream_in(rows))))));
}

TEST_CASE("an operator that does not commute") {
  std::vector<Vector<std::tuple<std::int32_t, std::int32_t>>> rows;
  for (const std::int64_t n : border_lengths()) {
    Vector<std::tuple<std::int32_t, std::int32_t>> row(Index{n});
    for (std::int64_t i = 0; i < n; ++i)
      row.set(i, {static_cast<std::int32_t>(engine() % 7), static_cast<std::int32_t>(engine() % 100)});
    rows.push_back(row);
  }
  const auto compose = [](auto f, auto g) {
    auto [a, b] = f;
    auto [c, d] = g;
    return pack(a * c, c * b + d);
  };
  const auto body = [&](auto row) {
    return fold(compose, std::tuple<std::int32_t, std::int32_t>(1, 0), row);
  };
  agree_on_gpu(compile(consume(elements(map_seq(body, stream_in(rows))))));
}

TEST_CASE("scans of rows around the sizes of warps and blocks") {
  const auto rows = rows_of({0, 1, 2, 31, 32, 33, 3, 100, 1000, 4095, 4096, 4097, 5, 9000});
  const auto body = [](auto row) { return scanl1(plus, row); };
  agree_on_gpu(compile(consume(elements(map_seq(body, stream_in(rows))))));
}

TEST_CASE("sorted and selected rows, and how often there is what in them") {
  const auto rows = rows_of({0, 1, 5, 64, 1000, 33, 4097, 2});
  const auto above = [](auto x) { return x > 0.1; };
  const auto bin = [](auto x) { return cast<std::int32_t>((x + 0.5) * 7.0); };
  const auto sorted = [](auto row) { return sort(row); };
  const auto selected = [=](auto row) { return std::get<0>(filter(above, row)); };
  const auto counted = [=](auto row) { return histogram(7, map(bin, row)); };
  agree_on_gpu(compile(consume(elements(map_seq(sorted, stream_in(rows))))));
  agree_on_gpu(compile(consume(elements(map_seq(selected, stream_in(rows))))));
  agree_on_gpu(compile(consume(elements(map_seq(counted, stream_in(rows))))));
}

TEST_CASE("one large array, without a stream") {
  for (const std::int64_t n : {0, 1, 4096, 4097, 1'000'000}) {
    const auto dot = compile<Vector<double>, Vector<double>>(
        [](auto x, auto y) { return fold(plus, 0.0, zip_with(times, x, y)); });
    agree_on_gpu(dot, random_numbers<double>(n), random_numbers<double>(n));
    const auto sums = compile<Vector<std::int32_t>>([](auto x) { return sum(x); });
    agree_on_gpu(sums, random_numbers<std::int32_t>(n));
  }
}

TEST_CASE("offsets of items whose sizes only values tell are made on the GPU") {
  if (!have_gpu()) return;
  const std::int64_t items = 20'000;
  Vector<std::int64_t> rows(Index{items}), columns(Index{items});
  for (std::int64_t i = 0; i < items; ++i) {
    rows.set(i, static_cast<std::int64_t>(engine() % 9));
    columns.set(i, i == 777 ? 5000 : static_cast<std::int64_t>(engine() % 5));
  }
  const auto boxes = [&](const Vector<std::int64_t>& counts) {
    return produce(items, [c = use(counts), w = use(columns)](auto i) {
      return generate(index_of(c[i], w[i]), [=](auto ix) { return ix[0] * 7 + ix[1] * i; });
    });
  };
  const auto sums = compile(consume(elements(map_seq([](auto box) { return sum(box); }, boxes(rows)))));
  const auto shapes = compile(consume(tabulate(boxes(rows))));
  for (const char* scheduler : {"adaptive", "fixed:5000", "fixed:1000000"}) {
    const RunOptions options{.backend = Backend::cuda, .scheduler = scheduler};
    RunReport report;
    CHECK(same(sums.run(options, &report).erased(), sums.run({.backend = Backend::interpreter}).erased()));
    INFO(report.gpu_offsets_reason);
    CHECK(report.gpu_offsets > 0);
    CHECK(same(shapes.run(options).erased(), shapes.run({.backend = Backend::interpreter}).erased()));
  }
  rows.set(items - 5, -3);
  const auto bad = compile(consume(elements(boxes(rows))));
  CHECK(message_of(bad, Backend::cuda) == message_of(bad, Backend::cpu));
}

TEST_CASE("an index out of range is the same error as on the CPU") {
  if (!have_gpu()) return;
  Matrix a(1000, 499, [](auto i) { return i % 50; });
  a.cols = 500;
  a.columns[777] = a.columns[7777] = 499;
  const Vector<double> x = random_numbers<double>(499);
  const auto program = compile(consume(elements(map_seq(times_row(x), stream_in(a.source())))));
  CHECK(message_of(program, Backend::cuda) == message_of(program, Backend::cpu));
  CHECK(message_of(program, Backend::interpreter) != "no error");
}

}  // namespace anabranch::testing
