#include <algorithm>
#include <cstdlib>
#include <limits>

#include "pairs.h"

// Every arithmetic operation on integers, on all pairs of borders and on ordinary numbers.
namespace anabranch::testing {
namespace {

template <class T>
T wrapped(std::uint64_t x) {
  return static_cast<T>(x);
}

template <class T>
void integers() {
  const auto divides_well = [](T x, T y) {
    return y != 0 && !(std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == T(-1));
  };
  const auto rows = rows_of_pairs<T>(divides_well);
  const auto body = [](auto row) {
    auto [xs, ys] = unzip(row);
    return zip_with(
        [](auto x, auto y) {
          return pack(x + y, x - y, x * y, x / y, x % y, -x, abs(x), min(x, y), max(x, y), x & y, x | y,
                      x ^ y);
        },
        xs, ys);
  };
  const auto values = everywhere(body, rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      const auto u = static_cast<std::uint64_t>(x), v = static_cast<std::uint64_t>(y);
      const std::tuple<T, T, T, T, T, T, T, T, T, T, T, T> expected{wrapped<T>(u + v),
                                                                    wrapped<T>(u - v),
                                                                    wrapped<T>(u * v),
                                                                    T(x / y),
                                                                    T(x % y),
                                                                    wrapped<T>(0 - u),
                                                                    x < 0 ? wrapped<T>(0 - u) : x,
                                                                    std::min(x, y),
                                                                    std::max(x, y),
                                                                    T(x & y),
                                                                    T(x | y),
                                                                    T(x ^ y)};
      if (values[r][i] != expected) FAIL("of " << +x << " and " << +y);
    }
  SUCCEED();
}

TEST_CASE("arithmetic on int32") { integers<std::int32_t>(); }
TEST_CASE("arithmetic on int64") { integers<std::int64_t>(); }
TEST_CASE("arithmetic on uint8") { integers<std::uint8_t>(); }
TEST_CASE("arithmetic on uint16") { integers<std::uint16_t>(); }
TEST_CASE("arithmetic on int8") { integers<std::int8_t>(); }
TEST_CASE("arithmetic on int16") { integers<std::int16_t>(); }
TEST_CASE("arithmetic on uint32") { integers<std::uint32_t>(); }
TEST_CASE("arithmetic on uint64") { integers<std::uint64_t>(); }

/// Every primitive on all 65536 pairs, but for quotients that do not exist.
template <class T>
void all_pairs() {
  const auto of = [](std::int64_t i) { return static_cast<T>(i); };
  const auto xs = vector_of(65536, [&](std::int64_t i) { return of(i / 256); });
  const auto ys = vector_of(65536, [&](std::int64_t i) { return of(i % 256); });
  const auto has_quotient = [](T x, T y) {
    return y != 0 && !(std::is_signed_v<T> && x == T(-128) && y == T(-1));
  };
  const auto divisors =
      vector_of(65536, [&](std::int64_t i) { return has_quotient(xs[i], ys[i]) ? ys[i] : T(1); });
  const auto got = agree(zip_with(
      [](auto x, auto y, auto by) {
        return pack(pack(x + y, x - y, x * y, x / by, x % by, -x, abs(x), min(x, y), max(x, y)),
                    pack(x & y, x | y, x ^ y), pack(x == y, x != y, x < y, x <= y));
      },
      use(xs), use(ys), use(divisors)));
  for (std::int64_t i = 0; i < 65536; ++i) {
    const T x = xs[i], y = ys[i], by = divisors[i];
    const auto [numbers, bits, truths] = got[i];
    const std::tuple<T, T, T, T, T, T, T, T, T> expected_numbers{
        T(x + y), T(x - y),       T(x * y),       T(x / by),     T(x % by),
        T(-x),    T(std::abs(x)), std::min(x, y), std::max(x, y)};
    if (numbers != expected_numbers || bits != std::tuple(T(x & y), T(x | y), T(x ^ y)) ||
        truths != std::tuple(x == y, x != y, x < y, x <= y))
      FAIL("of " << +x << " and " << +y);
  }
  SUCCEED();
}

TEST_CASE("arithmetic on all pairs of int8") { all_pairs<std::int8_t>(); }
TEST_CASE("arithmetic on all pairs of uint8") { all_pairs<std::uint8_t>(); }

template <class T>
void divisors_that_always_do() {
  const auto xs = vector_of(400, [](std::int64_t i) {
    return i == 0   ? std::numeric_limits<T>::min()
           : i == 1 ? std::numeric_limits<T>::max()
                    : static_cast<T>(i * 7 - 900);
  });
  const auto got = agree(map(
      [](auto x) {
        const auto least = max(x, Exp<T>(T(3)));
        return pack(x / T(2), x % T(7), T(100) / least, cond(x > T(5), x % least, x / T(10)));
      },
      use(xs)));
  for (std::int64_t i = 0; i < xs.size(); ++i) {
    const T x = xs[i], least = std::max(x, T(3));
    CHECK(got[i] == std::tuple(T(x / 2), T(x % 7), T(100 / least), x > 5 ? T(x % least) : T(x / 10)));
  }
}

TEST_CASE("divisors that are neither 0 nor -1 whatever the data are") {
  divisors_that_always_do<std::int8_t>();
  divisors_that_always_do<std::uint8_t>();
  divisors_that_always_do<std::int32_t>();
  divisors_that_always_do<std::int64_t>();
  divisors_that_always_do<std::uint64_t>();
}

TEST_CASE("quotients of 64 bits around the numbers that a double holds") {
  const auto check = []<class T>(T) {
    std::vector<T> numbers;
    for (const int bit : {0, 1, 3, 31, 32, 51, 52, 53, 54, 61, 62, 63})
      for (const std::int64_t beside : {-1, 0, 1}) {
        const T n = wrapped<T>((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(beside));
        for (const T each : {n, wrapped<T>(0 - static_cast<std::uint64_t>(n))}) numbers.push_back(each);
      }
    const auto size = std::ssize(numbers);
    // Vectors of numbers that a double holds, of others, and of both.
    std::sort(numbers.begin(), numbers.end());
    const auto xs =
        vector_of(size * size, [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i / size)]; });
    const auto ys = vector_of(size * size, [&](std::int64_t i) {
      const T y = numbers[static_cast<std::size_t>(i % size)];
      return y == 0 || y == static_cast<T>(-1) ? T{3} : y;
    });
    const auto both = [](auto x, auto y) { return pack(x / y, x % y); };
    const auto all = agree(zip_with(both, use(xs), use(ys)));
    for (std::int64_t i = 0; i < size * size; ++i)
      if (all[i] != std::tuple(static_cast<T>(xs[i] / ys[i]), static_cast<T>(xs[i] % ys[i])))
        FAIL(xs[i] << " by " << ys[i]);
    for (const T y : {T{1}, T{7}, ys[0], ys[size / 2], ys[size - 1]}) {
      const auto by = the(use(Scalar<T>(y)));
      agree(map([=](auto x) { return both(x, by); }, use(xs)));
      // Under a condition, in a loop whose rounds differ, by a literal.
      agree(map([=](auto x) { return cond(x > T{9}, x / by, x); }, use(xs)));
      agree(map([=](auto x) { return both(x, max(by, T{1})); }, use(xs)));
    }
    agree(map([](auto x) { return pack(x / T{10}, x % T{10}, x / T{8}, x % T{8}, x / T{1'000'000'007}); },
              use(xs)));
    agree(map(
        [](auto x) {
          return while_loop([](auto s) { return get<0>(s) != T{0}; },
                            [](auto s) { return pack(get<0>(s) / T{10}, get<1>(s) + get<0>(s) % T{10}); },
                            pack(x, T{0}));
        },
        use(xs)));
  };
  check(std::int64_t{});
  check(std::uint64_t{});
}

TEST_CASE("quotients of uint16 are exact, whatever unit divides") {
  const auto all = vector_of(65536, [](std::int64_t i) { return static_cast<std::uint16_t>(i); });
  for (const int by : {1, 2, 3, 7, 255, 256, 257, 641, 32767, 32768, 65535}) {
    const auto y = static_cast<std::uint16_t>(by);
    const auto got = agree(map([=](auto x) { return pack(x / y, x % y); }, use(all)));
    bool exact = true;
    for (std::int64_t i = 0; i < all.size(); ++i)
      exact = exact &&
              got[i] == std::tuple(static_cast<std::uint16_t>(i / by), static_cast<std::uint16_t>(i % by));
    INFO("by " << by);
    REQUIRE(exact);
  }
}

}  // namespace
}  // namespace anabranch::testing
