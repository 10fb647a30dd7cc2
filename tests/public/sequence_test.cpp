#include "agree.h"

// map_seq, zip_with_seq, unzip_seq, elements, tabulate, consume:
// chains, tuples, several terminals, empty streams.
namespace anabranch::testing {
namespace {

std::vector<Vector<double>> of_lengths(std::initializer_list<std::int64_t> lengths, std::uint64_t seed = 0) {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : lengths) rows.push_back(numbers<double>(n, ++seed));
  return rows;
}

TEST_CASE("rows of border lengths, element by element") {
  std::vector<Vector<double>> rows, expected;
  for (std::int64_t n : border_lengths) {
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n)));
    expected.push_back(vector_of(n, [&](std::int64_t i) { return rows.back()[i] - rows.back()[0]; }));
  }
  const auto body = [](auto row) { return map([=](auto x) { return x - row[0]; }, row); };
  require_same(agree(consume(elements(map_seq(body, stream_in(rows))))).erased(),
               joined(
                   [&] {
                     HostArrays all;
                     for (const auto& e : expected) all.push_back(e.erased());
                     return all;
                   }(),
                   {ScalarType::float64}),
               Loc::current());
}

TEST_CASE("empty streams") {
  const std::vector<Vector<double>> none;
  check_items(stream_in(none), {});
  check_items(map_seq([](auto row) { return sum(row); }, stream_in(none)), {});
  check_items(map_seq([](auto row) { return sum(row); }, stream_in(regular(Index{5}), none)), {});
  REQUIRE(agree(consume(tabulate(stream_in(none)))).shape() == Index{0, 0});
  const auto [a, b] =
      agree(std::tuple(consume(elements(stream_in(none))), consume(tabulate(stream_in(none)))));
  REQUIRE(a.size() + b.size() == 0);
}

TEST_CASE("what items have in common may fail where there are none") {
  const std::vector<Vector<double>> none;
  const auto captured = use(Vector<double>{});
  const auto reads = [=](auto row) { return zip_with(plus, sum(row), fold1(minimum_of, captured)); };
  fails<RunError>(consume(elements(map_seq(reads, stream_in(none)))), {"fold", "no elements"});
  // Also where the item is made without looking at another one.
  const auto made = map_seq([](auto) { return use(Vector<double>{}); }, stream_in(none));
  const auto least = [](auto row) { return fold1(minimum_of, row); };
  fails<RunError>(consume(elements(map_seq(least, made))), {"fold", "no elements"});
  check_items(map_seq(least, stream_in(none)), {});
}

TEST_CASE("tabulate trims to the smallest item of the whole stream") {
  require_same(
      agree(consume(tabulate(stream_in(std::vector<Vector<double>>{{1, 2, 3}, {4, 5}, {6, 7, 8, 9}})))),
      Matrix<double>(Index{3, 2}, {1, 2, 4, 5, 6, 7}));
  auto rows = of_lengths({40, 50, 41, 45, 60, 39, 70});
  check_items(stream_in(rows), rows);
  rows.push_back({});
  REQUIRE(agree(consume(tabulate(stream_in(rows)))).shape() == Index{8, 0});
  // Matrices, trimmed in both dimensions at different items; cubes.
  std::vector<Matrix<std::int32_t>> matrices;
  for (auto [h, w] : {std::pair{3, 5}, {2, 7}, {4, 4}, {9, 6}})
    matrices.push_back(array_of(
        Index{h, w}, [](std::int64_t i) { return number<std::int32_t>(static_cast<std::uint64_t>(i)); }));
  check_items(stream_in(matrices), matrices);
  std::vector<Array<3, float>> cubes;
  for (std::int64_t n : {2, 1, 3})
    cubes.push_back(array_of(Index{n, 2, n + 1}, [](std::int64_t i) { return static_cast<float>(i); }));
  check_items(map_seq([](auto c) { return map([](auto x) { return x / 2; }, c); }, stream_in(cubes)), [&] {
    auto halves = cubes;
    for (auto& c : halves) c = array_of(c.shape(), [](std::int64_t i) { return static_cast<float>(i) / 2; });
    return halves;
  }());
}

TEST_CASE("a chain of map_seq") {
  const auto rows = of_lengths({3, 0, 70, 1, 128});
  std::vector<Vector<double>> expected;
  for (const auto& row : rows) {
    double sum = 0;
    const auto total = agree(fold(plus, 0.0, map([](auto x) { return x + 1.0; }, use(row))));
    sum = total[0];
    expected.push_back(vector_of(row.size(), [&](std::int64_t i) { return (row[i] + 1.0) - sum; }));
  }
  auto s = map_seq([](auto row) { return map([](auto x) { return x + 1.0; }, row); }, stream_in(rows));
  auto t = map_seq([](auto row) { return std::tuple(row, sum(row)); }, s);
  auto u = map_seq([](auto row, auto total) { return map([=](auto x) { return x - the(total); }, row); }, t);
  check_items(u, expected);
}

TEST_CASE("zip_with_seq ends with the shortest") {
  const auto a = of_lengths({3, 0, 70, 1, 128});
  const auto b = of_lengths({5, 2, 64, 1, 128, 9, 9}, 100);
  const auto pairwise = [](auto x, auto y) { return fold(plus, 0.0, zip_with(times, x, y)); };
  std::vector<Scalar<double>> expected;
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(agree(pairwise(use(a[i]), use(b[i]))));
  check_items(zip_with_seq(pairwise, stream_in(a), stream_in(b)), expected);
  check_items(zip_with_seq([&](auto y, auto x) { return pairwise(x, y); }, stream_in(b), stream_in(a)),
              expected);
  // With produce, with rows, three at once.
  std::vector<Vector<std::int64_t>> lengths;
  for (std::size_t i = 0; i < 4; ++i)
    lengths.push_back(
        {a[i].size() + static_cast<std::int64_t>(10 * i) + static_cast<std::int64_t>(i), b[i].size()});
  const Vector<std::int64_t> four{0, 1, 2, 3};
  check_items(zip_with_seq(
                  [](auto x, auto i, auto y) {
                    return generate(2, [=](auto k) { return cond(k == 0, size(x) + the(i), size(y)); });
                  },
                  stream_in(a), produce(100, [](auto i) { return unit(i * 11); }), stream_in(b)),
              [&] {
                auto all = lengths;
                all.push_back({a[4].size() + 44, b[4].size()});
                return all;
              }());
  check_items(
      zip_with_seq([](auto x, auto i) { return unit(size(x) * the(i)); }, stream_in(a), rows(use(four))),
      {Scalar<std::int64_t>(0), Scalar<std::int64_t>(0), Scalar<std::int64_t>(140), Scalar<std::int64_t>(3)});
}

TEST_CASE("one stream twice in a zip") {
  const auto a = of_lengths({3, 0, 70});
  auto s =
      map_seq([](auto row) { return std::tuple(row, map([](auto x) { return -x; }, row)); }, stream_in(a));
  auto [x, y] = unzip_seq(s);
  auto sums = map_seq([](auto r) { return sum(r); }, y);
  check_items(zip_with_seq([](auto r, auto total) { return map([=](auto e) { return e + the(total); }, r); },
                           x, sums),
              [&] {
                std::vector<Vector<double>> expected;
                for (const auto& row : a)
                  expected.push_back(agree([&] {
                    auto r = use(row);
                    auto total = sum(map([](auto e) { return -e; }, r));
                    return map([=](auto e) { return e + the(total); }, r);
                  }()));
                return expected;
              }());
}

TEST_CASE("several terminals in one run") {
  const auto rows = of_lengths({3, 9, 70, 5});
  auto s = map_seq([](auto row) { return std::tuple(row, sum(row), unit(size(row))); }, stream_in(rows));
  auto [x, y, n] = unzip_seq(s);
  const auto [flat, table, sums, lengths, largest] =
      agree(std::tuple(consume(elements(x)), consume(tabulate(x)), consume(elements(y)), consume(elements(n)),
                       maximum(consume(elements(y)))));
  REQUIRE(flat.size() == 87);
  REQUIRE(table.shape() == Index{4, 3});
  require_same(lengths, Vector<std::int64_t>{3, 9, 70, 5});
  REQUIRE(largest[0] == std::max({sums[0], sums[1], sums[2], sums[3]}));
}

TEST_CASE("what was consumed is an array like any other") {
  const auto rows = of_lengths({3, 0, 70, 1, 128});
  auto row_sums = consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(rows))));
  const auto [norm, scaled] =
      agree(std::tuple(sum(row_sums), map([=](auto x) { return x / row_sums[0]; }, row_sums)));
  REQUIRE(scaled[0] == 1.0);
  REQUIRE(scaled.size() == 5);
  // The result of one stream feeds the function of the next.
  std::vector<Vector<double>> expected;
  const auto sums = agree(row_sums);
  for (const auto& row : rows)
    expected.push_back(agree(map([&](auto x) { return x * norm[0] - sums[2]; }, use(row))));
  check_items(map_seq(
                  [&](auto row) {
                    auto whole = sum(row_sums);
                    return map([=](auto x) { return x * the(whole) - row_sums[2]; }, row);
                  },
                  stream_in(rows)),
              expected);
}

TEST_CASE("a sequence consumed inside a function that does not depend on the item") {
  const auto rows = of_lengths({3, 0, 70});
  const auto inner = of_lengths({2, 5}, 50);
  const auto total = agree(sum(consume(elements(stream_in(inner)))));
  std::vector<Vector<double>> expected;
  for (const auto& row : rows) expected.push_back(agree(map([&](auto x) { return x - total[0]; }, use(row))));
  check_items(map_seq(
                  [&](auto row) {
                    auto t = sum(consume(elements(stream_in(inner))));
                    return map([=](auto x) { return x - the(t); }, row);
                  },
                  stream_in(rows)),
              expected);
}

TEST_CASE("rows of a consumed array are a stream again") {
  std::vector<Vector<double>> items = of_lengths({8, 8, 9, 8});
  auto table = consume(tabulate(stream_in(items)));
  std::vector<Vector<double>> columns;
  for (std::int64_t k = 0; k < 8; ++k)
    columns.push_back(
        vector_of(4, [&](std::int64_t r) { return items[static_cast<std::size_t>(r)][k] * 2; }));
  check_items(map_seq([](auto c) { return map([](auto x) { return x * 2.0; }, c); }, rows(transpose(table))),
              columns);
}

}  // namespace
}  // namespace anabranch::testing
