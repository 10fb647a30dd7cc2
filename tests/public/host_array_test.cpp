#include <algorithm>
#include <array>
#include <numeric>
#include <ranges>
#include <span>

#include "agree.h"

// Host arrays as containers, and the ways of host memory into a program.
namespace anabranch::testing {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a vector of n elements") {
  const Vector<double> five(5);
  REQUIRE(five.size() == 5);
  REQUIRE(std::ranges::all_of(five, [](double x) { return x == 0; }));
  REQUIRE(Vector<std::int64_t>(std::size_t{3}).size() == 3);
  REQUIRE(Vector<std::tuple<std::int32_t, double>>(2).size() == 2);
  REQUIRE(Vector<double>(0).size() == 0);
  REQUIRE_THROWS_AS(Vector<double>(-1), RunError);
  REQUIRE(Vector<double>{3}.size() == 1);
}

TEST_CASE("an array of one value, and elements that are written through a span") {
  CHECK(Vector<double>(3, 1.5) == Vector<double>{1.5, 1.5, 1.5});
  CHECK(Vector<std::int64_t>(std::size_t{2}, 7) == Vector<std::int64_t>{7, 7});
  CHECK(Vector<bool>(2, true) == Vector<bool>{true, true});
  CHECK(Vector<double>(0, 1.0).size() == 0);
  CHECK(Matrix<float>(Index{2, 2}, 3.0f) == Matrix<float>{{3, 3}, {3, 3}});
  using Pair = std::pair<std::int32_t, double>;
  CHECK(Vector<Pair>(2, {1, 0.5}) == Vector<Pair>{{1, 0.5}, {1, 0.5}});
  CHECK_THROWS_AS(Vector<double>(-1, 1.0), RunError);

  Vector<double> v(4, 2.0);
  const Vector<double> same = v;
  std::iota(v.mutable_values().begin(), v.mutable_values().end(), 1.0);
  CHECK(same == Vector<double>{1, 2, 3, 4});
  const double constant[] = {1.0, 2.0};
  CHECK_THROWS_AS(Vector<double>::view(Index{2}, constant).mutable_values(), ProgramError);
}

TEST_CASE("a matrix of rows") {
  const Matrix<double> m{{1, 2, 3}, {4, 5, 6}};
  CHECK(m.shape() == Index{2, 3});
  CHECK(m[Index{1, 0}] == 4.0);
  CHECK(m[Index{0, 2}] == 3.0);
  const Matrix<std::pair<int, bool>> pairs{{{1, true}, {2, false}}};
  CHECK(pairs[Index{0, 1}] == std::pair(2, false));
  CHECK(Matrix<float>{}.shape() == Index{0, 0});
  CHECK(Matrix<float>({2, 3}).shape() == Index{2, 3});
  CHECK(Matrix<float>(Index{2, 1}, {1, 2})[Index{1, 0}] == 2.0F);
  CHECK_THROWS_WITH((Matrix<double>{{2, 2}, {1, 2, 3, 4}}),
                    Contains("row 1 has the length 4, and row 0 2") && Contains("Index{rows, columns}"));
}

TEST_CASE("a vector of scalars is a contiguous range") {
  static_assert(std::ranges::contiguous_range<Vector<double>>);
  static_assert(std::ranges::sized_range<Vector<bool>>);
  static_assert(!std::ranges::range<Matrix<double>>);
  static_assert(!std::ranges::range<Vector<std::tuple<double, double>>>);
  const Vector<double> v{1, 2, 3};
  double sum = 0;
  for (double x : v) sum += x;
  REQUIRE(sum == 6);
  REQUIRE(std::span<const double>(v).size() == 3);
  REQUIRE(std::vector<double>(v.begin(), v.end()) == std::vector<double>{1, 2, 3});
  for (double x : Vector<double>{}) REQUIRE(x != x);
}

TEST_CASE("a scalar array is its element") {
  const Vector<double> v{1.5, 2.0};
  const double total = run(sum(use(v)));
  CHECK(total == 3.5);
  CHECK(run(sum(use(v))) == run(sum(use(v))));
  CHECK(2 * run(sum(use(v))) == 7.0);
  if (run(unit(the(sum(use(v))) > 3)))
    SUCCEED();
  else
    FAIL();
  const auto [least, index] = std::tuple<double, int>(run(unit(pack(v[0], 3))));
  CHECK(least == 1.5);
  CHECK(index == 3);
}

TEST_CASE("the components of an array of tuples") {
  using Nested = std::tuple<std::int32_t, std::pair<double, bool>>;
  const Vector<Nested> v{{1, {0.5, true}}, {2, {1.5, false}}};
  static_assert(std::same_as<decltype(v.component<0>()), std::span<const std::int32_t>>);
  static_assert(std::same_as<decltype(v.component<2>()), std::span<const bool>>);
  REQUIRE(std::ranges::equal(v.component<0>(), std::vector{1, 2}));
  REQUIRE(std::ranges::equal(v.component<1>(), std::vector{0.5, 1.5}));
  REQUIRE(std::ranges::equal(v.component<2>(), std::vector{true, false}));
  REQUIRE(Matrix<double>(Index{2, 3}).component<0>().size() == 6);
}

TEST_CASE("an array of tuples taken apart shares its elements") {
  using Nested = std::tuple<std::int32_t, std::pair<double, bool>>;
  const Vector<Nested> v{{1, {0.5, true}}, {2, {1.5, false}}};
  const auto [numbers, pairs] = unzip(v);
  static_assert(std::same_as<decltype(pairs), const Vector<std::pair<double, bool>>>);
  REQUIRE(numbers.data() == v.component<0>().data());
  const auto [halves, flags] = unzip(pairs);
  REQUIRE(halves.data() == v.component<1>().data());
  require_same(numbers, Vector<std::int32_t>{1, 2});
  require_same(flags, Vector<bool>{true, false});
  const auto [left, right] = unzip(Matrix<std::tuple<double, float>>(Index{2, 3}));
  REQUIRE(left.shape() == Index{2, 3});
  REQUIRE(right.size() == 6);
  // As the result of a program.
  auto doubled = map([](auto x) { return std::tuple(x, x * 2); }, use(Vector<double>{1, 2}));
  const auto [once, twice] = unzip(run(doubled));
  require_same(once, Vector<double>{1, 2});
  require_same(twice, Vector<double>{2, 4});
}

TEST_CASE("a std::vector that is given away is not copied and lives as long as the program") {
  std::vector<double> values(1000);
  std::iota(values.begin(), values.end(), 0.0);
  auto total = sum(use(std::move(values)));
  values.assign(1000, -1.0);  // its new memory
  REQUIRE(agree(total)[0] == 499500);
  REQUIRE(agree(sum(use(std::vector<std::int32_t>{1, 2, 3})))[0] == 6);
  auto pairs = use(std::vector<std::pair<std::int32_t, double>>{{1, 0.5}, {2, 1.5}});
  require_same(agree(map([](auto p) { return get<1>(p); }, pairs)), Vector<double>{0.5, 1.5});
  REQUIRE(agree(sum(use(std::vector<double>{})))[0] == 0);
}

TEST_CASE("a std::vector that stays with its owner is copied") {
  std::vector<double> values{1, 2, 3};
  auto total = sum(use(values));
  values.assign(3, 100.0);
  REQUIRE(agree(total)[0] == 6);
}

TEST_CASE("a span is the caller's memory") {
  std::vector<double> values{1, 2, 3};
  const auto total = compile(sum(use(std::span(values))));
  REQUIRE(total()[0] == 6);
  values[0] = 10;
  REQUIRE(total()[0] == 15);
  const std::array<std::int32_t, 3> fixed{1, 2, 3};
  REQUIRE(agree(sum(use(std::span(fixed))))[0] == 6);
}

}  // namespace
}  // namespace anabranch::testing
