#include <algorithm>
#include <cmath>
#include <limits>

#include "agree.h"

// Reductions of vectors of every length around the borders of the canonical order.
namespace anabranch::testing {
namespace {

template <class T>
std::vector<Vector<T>> border_rows() {
  std::vector<Vector<T>> rows;
  for (std::int64_t n : border_lengths) rows.push_back(numbers<T>(n, static_cast<std::uint64_t>(n)));
  return rows;
}

/// The items in the segmented form only: the regular one has its own tests below.
template <class F, class T>
auto over_stream(F f, const std::vector<Vector<T>>& rows) {
  return agree(consume(elements(map_seq(f, stream_in(rows)))));
}

template <class T>
void sums() {
  const auto rows = border_rows<T>();
  const auto values = over_stream(
      [](auto row) {
        return unit(pack(the(sum(row)), the(product(row)), the(fold(plus, T(3), row)),
                         the(fold(minimum_of, T(100), row)), the(fold(maximum_of, T(7), row))));
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto alone = agree(std::tuple(sum(use(rows[r])), product(use(rows[r]))));
    const auto [s, p, seeded, low, high] = values[static_cast<std::int64_t>(r)];
    REQUIRE(std::get<0>(alone)[0] == s);
    REQUIRE(std::get<1>(alone)[0] == p);
    T smallest = T(100), largest = T(7);
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      smallest = std::min(smallest, rows[r][i]);
      largest = std::max(largest, rows[r][i]);
    }
    REQUIRE(low == smallest);
    REQUIRE(high == largest);
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      static_assert(std::is_same_v<std::remove_cvref_t<decltype(s)>, Wide>);
      static_assert(std::is_same_v<std::remove_cvref_t<decltype(p)>, Wide>);
      std::uint64_t total = 0, product = 1;
      for (std::int64_t i = 0; i < rows[r].size(); ++i) {
        total += static_cast<std::uint64_t>(rows[r][i]);
        product *= static_cast<std::uint64_t>(rows[r][i]);
      }
      REQUIRE(s == static_cast<Wide>(total));
      REQUIRE(p == static_cast<Wide>(product));
      REQUIRE(seeded == static_cast<T>(total + 3));
    }
  }
}

// The elements' own type would overflow, in every form; floating-point sums stay what they are.
TEST_CASE("sums and products of narrow integers are wide") {
  const std::vector<Vector<std::int8_t>> rows{
      vector_of(1000, [](std::int64_t) { return std::int8_t{-128}; }), {}, {100, 100}, {-128, -128, -128}};
  const auto sums = everywhere([](auto row) { return sum(row); }, rows);
  const auto products = everywhere([](auto row) { return product(row); }, std::vector{rows[1], rows[3]});
  require_same(sums[0], Scalar<std::int64_t>(-128000));
  require_same(sums[1], Scalar<std::int64_t>(0));
  require_same(sums[2], Scalar<std::int64_t>(200));
  require_same(products[0], Scalar<std::int64_t>(1));
  require_same(products[1], Scalar<std::int64_t>(-128 * 128 * 128));
  const Matrix<std::uint32_t> matrix(Index{2, 2}, {4000000000, 4000000000, 3, 4000000000});
  require_same(agree(sum(use(matrix))), Vector<std::uint64_t>{8000000000, 4000000003});
  require_same(agree(sum(use(matrix), 0)), Vector<std::uint64_t>{4000000003, 8000000000});
  require_same(agree(product(use(matrix))), Vector<std::uint64_t>{16000000000000000000u, 12000000000});
  require_same(agree(sum(use(Vector<half>{half(60000), half(60000)}))),
               Scalar<half>(std::numeric_limits<half>::infinity()));
  require_same(agree(sum(use(Vector<float>{1.0F, 0x1p-24F, 0x1p-24F}))), Scalar<float>(1.0F));
}

TEST_CASE("sums of int32") { sums<std::int32_t>(); }
TEST_CASE("sums of int64") { sums<std::int64_t>(); }
TEST_CASE("sums of uint8") { sums<std::uint8_t>(); }
TEST_CASE("sums of uint16") { sums<std::uint16_t>(); }
TEST_CASE("sums of int8") { sums<std::int8_t>(); }
TEST_CASE("sums of int16") { sums<std::int16_t>(); }
TEST_CASE("sums of uint32") { sums<std::uint32_t>(); }
TEST_CASE("sums of uint64") { sums<std::uint64_t>(); }
TEST_CASE("sums of half") { sums<half>(); }
TEST_CASE("sums of float") { sums<float>(); }
TEST_CASE("sums of double") { sums<double>(); }

TEST_CASE("minimum and maximum, with NaN and both zeros") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Vector<double>> rows;
  for (std::int64_t n : border_lengths) {
    if (n == 0) continue;
    rows.push_back(numbers<double>(n, 3));
    auto with_nan = numbers<double>(n, 4);
    with_nan.set(n / 2, nan);
    rows.push_back(with_nan);
    rows.push_back(vector_of(n, [](std::int64_t i) { return i % 3 == 1 ? -0.0 : 0.0; }));
  }
  const auto values =
      over_stream([](auto row) { return unit(pack(the(minimum(row)), the(maximum(row)))); }, rows);
  REQUIRE(values.size() == static_cast<std::int64_t>(rows.size()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    bool any_nan = false;
    double least = rows[r][0], most = rows[r][0];
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      any_nan = any_nan || std::isnan(rows[r][i]);
      least = std::fmin(least, rows[r][i]);
      most = std::fmax(most, rows[r][i]);
    }
    const auto [low, high] = values[static_cast<std::int64_t>(r)];
    INFO("row " << r << " of " << rows[r].size() << " elements");
    REQUIRE((any_nan ? std::isnan(low) && std::isnan(high) : low == least && high == most));
  }
  require_same(agree(minimum(use(Vector<std::int32_t>{3, -2, 5}))), Scalar<std::int32_t>(-2));
  require_same(agree(maximum(use(Vector<std::uint8_t>{3, 200, 5}))), Scalar<std::uint8_t>(200));
  require_same(agree(maximum(use(Vector<std::uint16_t>{3, 40000, 5}))), Scalar<std::uint16_t>(40000));
  require_same(agree(minimum(use(Vector<std::uint16_t>{65535, 40000, 65535}))), Scalar<std::uint16_t>(40000));
  require_same(agree(minimum(use(Vector<std::int8_t>{3, -128, 127}))), Scalar<std::int8_t>(-128));
  require_same(agree(maximum(use(Vector<std::int16_t>{-3, -32768, -4}))), Scalar<std::int16_t>(-3));
  require_same(agree(maximum(use(Vector<std::uint32_t>{3, 4000000000, 5}))),
               Scalar<std::uint32_t>(4000000000));
  require_same(agree(maximum(use(Vector<std::uint64_t>{3, ~std::uint64_t{1}, 5}))),
               Scalar<std::uint64_t>(~std::uint64_t{1}));
}

TEST_CASE("folds in the regular form at every border length") {
  for (std::int64_t n : border_lengths) {
    const Matrix<double> matrix(Index{5, n}, numbers<double>(5 * n, 1).values());
    const auto dot = [](auto row) { return fold(plus, 1.5, map([](auto x) { return x * x; }, row)); };
    const auto streamed = agree(consume(elements(map_seq(dot, rows(use(matrix))))));
    const auto whole = agree(fold(plus, 1.5, map([](auto x) { return x * x; }, use(matrix))));
    require_same(streamed, whole);
    std::vector<Vector<double>> items;
    for (std::int64_t r = 0; r < 5; ++r)
      items.push_back(Vector<double>(
          matrix.values().subspan(static_cast<std::size_t>(r * n), static_cast<std::size_t>(n))));
    require_same(over_stream(dot, items), whole);
    require_same(agree(consume(elements(map_seq(dot, stream_in(regular(Index{n}), items))))), whole);
  }
}

TEST_CASE("a giant row among small ones") {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {3, 0, 1, 20000, 2, 70000, 0, 5})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n)));
  const auto body = [](auto row) { return fold(plus, 0.25, map([](auto x) { return sqrt(abs(x)); }, row)); };
  const auto streamed = over_stream(body, rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    require_same(agree(body(use(rows[r]))), Scalar<double>(streamed[static_cast<std::int64_t>(r)]));
}

TEST_CASE("a seed that is the length of its own row") {
  std::vector<Vector<std::int64_t>> rows;
  for (std::int64_t n : {3, 0, 1, 5, 2, 40, 0, 7, 300, 2})
    rows.push_back(vector_of(n, [](std::int64_t i) { return 10 * i; }));
  const auto both = over_stream(
      [](auto row) {
        const auto n = extent(row, 0);
        const auto [prefixes, total] = scanl_(plus, n, row);
        return zip_with([](auto a, auto b) { return pack(a, b); }, fold(plus, n, row), total);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t n = rows[r].size(), expected = n + 5 * n * (n - 1);
    REQUIRE(both[static_cast<std::int64_t>(r)] == std::tuple(expected, expected));
  }
}

TEST_CASE("nothing but empty rows, and no rows") {
  const auto body = [](auto row) { return fold(plus, 2.5, row); };
  require_same(over_stream(body, std::vector<Vector<double>>(100)),
               vector_of(100, [](std::int64_t) { return 2.5; }));
  require_same(over_stream(body, std::vector<Vector<double>>()), Vector<double>{});
  require_same(over_stream([](auto row) { return map([](auto x) { return -x; }, row); },
                           std::vector<Vector<double>>(100)),
               Vector<double>{});
}

TEST_CASE("sum and count of bool are numbers of elements, int64") {
  // More than a uint8 holds, in all forms; also empty rows.
  std::vector<Vector<bool>> rows;
  for (std::int64_t n : {0, 1, 300, 5000}) {
    Vector<bool> row(n);
    for (std::int64_t i = 0; i < n; ++i) row.set(i, i % 3 != 0);
    rows.push_back(row);
  }
  const auto summed = everywhere([](auto row) { return sum(row); }, rows);
  const auto counted = everywhere([](auto row) { return count(row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t expected = std::ranges::count(rows[r], true);
    require_same(summed[r], Scalar<std::int64_t>(expected));
    require_same(counted[r], Scalar<std::int64_t>(expected));
  }
  const auto matrix = use(Matrix<std::int32_t>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto even = [](auto x) { return x % 2 == 0; };
  require_same(agree(count(even, matrix)), Vector<std::int64_t>{1, 2});
  require_same(agree(count(even, matrix, 0)), Vector<std::int64_t>{1, 1, 1});
  require_same(agree(sum(map(even, matrix), 0)), Vector<std::int64_t>{1, 1, 1});
  REQUIRE_THROWS_WITH(count(even, matrix, 2), Catch::Contains("count: there is no dimension 2"));
}

}  // namespace
}  // namespace anabranch::testing
