#include <numeric>

#include "pairs.h"

// The two kinds of integer division, common divisors, powers and signs: on all pairs of borders and on
// ordinary numbers, inside sequences and outside; and their errors.
namespace anabranch::testing {
namespace {

__extension__ typedef __int128 Exact;

/// Rounded down.
Exact floored(Exact x, Exact y) {
  const Exact q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}

template <class T>
T euclid(T x, T y) {
  Exact a = x, b = y;
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) a = std::exchange(b, a % b);
  return static_cast<T>(a);
}

template <class T>
void divisions() {
  const auto divides_well = [](T x, T y) {
    return y != 0 && !(std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == T(-1));
  };
  const auto rows = rows_of_pairs<T>(divides_well);
  const auto values = everywhere(
      [](auto row) {
        auto [xs, ys] = unzip(row);
        return zip_with(
            [](auto x, auto y) {
              return pack(quot(x, y), rem(x, y), div(x, y), mod(x, y), divmod(x, y), gcd(x, y), sign(x));
            },
            xs, ys);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      const Exact down = floored(x, y);
      const auto q = static_cast<T>(down);
      const auto m = static_cast<T>(x - down * y);
      const std::tuple<T, T, T, T, std::tuple<T, T>, T, T> expected{static_cast<T>(x / y),
                                                                    static_cast<T>(x % y),
                                                                    q,
                                                                    m,
                                                                    std::tuple(q, m),
                                                                    euclid(x, y),
                                                                    static_cast<T>((x > 0) - (x < 0))};
      if (values[r][i] != expected) FAIL("of " << +x << " and " << +y);
    }
  SUCCEED();
}

TEST_CASE("divisions of int32") { divisions<std::int32_t>(); }
TEST_CASE("divisions of int64") { divisions<std::int64_t>(); }
TEST_CASE("divisions of uint8") { divisions<std::uint8_t>(); }
TEST_CASE("divisions of int8", "[once]") { divisions<std::int8_t>(); }
TEST_CASE("divisions of int16", "[once]") { divisions<std::int16_t>(); }
TEST_CASE("divisions of uint16", "[once]") { divisions<std::uint16_t>(); }
TEST_CASE("divisions of uint32", "[once]") { divisions<std::uint32_t>(); }
TEST_CASE("divisions of uint64", "[once]") { divisions<std::uint64_t>(); }

TEST_CASE("common divisors of 0 and of the smallest number") {
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  const auto got = agree(zip_with([](auto x, auto y) { return gcd(x, y); },
                                  use(Vector<std::int32_t>{0, 0, -6, least, least, least, 0, -1}),
                                  use(Vector<std::int32_t>{0, -6, 0, 6, -1, least, least, least})));
  require_same(got, Vector<std::int32_t>{0, 6, 6, 2, 1, least, least, 1});
}

/// x to the n-th: by multiplication; of a negative n that of 1 / x.
template <class T>
T power(T x, std::int64_t n) {
  std::uint64_t base = static_cast<std::uint64_t>(n < 0 ? static_cast<T>(1 / x) : x), out = 1;
  if (n < 0) n = n % 2 == 0 ? 2 : 1;
  for (; n != 0; --n) out *= base;
  return static_cast<T>(out);
}

template <class T, class N>
void powers() {
  std::vector<std::tuple<T, N>> pairs;
  for (int x : {0, 1, 2, 3, 5, 10, 127, 255, -1, -2, -3, -10})
    for (int n : {0, 1, 2, 3, 5, 8, 31, 32, 63, 64, 65, 127, -1, -2, -3, -128})
      if (std::in_range<T>(x) && std::in_range<N>(n) && (x != 0 || n >= 0))
        pairs.emplace_back(static_cast<T>(x), static_cast<N>(n));
  const std::vector<Vector<std::tuple<T, N>>> rows{Vector<std::tuple<T, N>>(pairs), {}, {{T(3), N(4)}}};
  const auto values = everywhere(
      [](auto row) {
        auto [xs, ns] = unzip(row);
        return zip_with([](auto x, auto n) { return pack(pow(x, n), pow(x, 5), pow(x, 0)); }, xs, ns);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, n] = rows[r][i];
      INFO(+x << " to the " << +n);
      REQUIRE(values[r][i] == std::tuple(power(x, n), power(x, 5), T(1)));
    }
}

TEST_CASE("powers of integers") {
  powers<std::int32_t, std::int32_t>();
  powers<std::int64_t, std::uint8_t>();
  powers<std::uint8_t, std::int64_t>();
}

TEST_CASE("negative powers that are known when the program is built") {
  const auto got = agree(map(
      [](auto x) { return pack(pow(x, -1), pow(x, -2), pow(x, std::numeric_limits<std::int64_t>::min())); },
      use(Vector<std::int32_t>{1, -1, 2, -7})));
  CHECK(got[0] == std::tuple(1, 1, 1));
  CHECK(got[1] == std::tuple(-1, 1, 1));
  CHECK(got[2] == std::tuple(0, 0, 0));
  CHECK(got[3] == std::tuple(0, 0, 0));
}

TEST_CASE("the operand may be a literal") {
  const auto got = agree(
      map([](auto x) { return pack(quot(x, 2), rem(7, x), div(x, 2), mod(x, -4), gcd(12, x), divmod(7, x)); },
          use(Vector<std::int32_t>{-5})));
  CHECK(got[0] == std::tuple(-2, 2, -3, -1, 1, std::tuple(-2, -3)));
}

TEST_CASE("signs of floats") {
  using L = std::numeric_limits<double>;
  const auto got =
      agree(map([](auto x) { return pack(sign(x), 1.0 / sign(x)); },
                use(Vector<double>{2.5, -L::infinity(), 0.0, -0.0, L::quiet_NaN(), L::denorm_min()})));
  CHECK(std::get<0>(got[0]) == 1);
  CHECK(std::get<0>(got[1]) == -1);
  CHECK(std::get<1>(got[2]) == L::infinity());
  CHECK(std::get<1>(got[3]) == -L::infinity());
  CHECK(std::isnan(std::get<0>(got[4])));
  CHECK(std::get<0>(got[5]) == 1);
}

TEST_CASE("divisions without a result are errors, with the user's line") {
  const auto of = [](auto f, std::int32_t x, std::int32_t y) {
    return zip_with(f, use(Vector<std::int32_t>{9, x, 9}), use(Vector<std::int32_t>{1, y, 1}));
  };
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  const std::string here = "integer_functions_test.cpp";
  const auto check = [&](auto f) {
    fails<RunError>(of(f, 7, 0), {"division by zero|divided by zero|7", here});
    fails<RunError>(of(f, least, -1), {here});
  };
  check([](auto x, auto y) { return quot(x, y); });
  check([](auto x, auto y) { return rem(x, y); });
  check([](auto x, auto y) { return div(x, y); });
  check([](auto x, auto y) { return mod(x, y); });
  fails<RunError>(of([](auto x, auto y) { return pow(y, -x); }, 1, 0), {here});
  fails<RunError>(map([](auto x) { return pow(x, -3); }, use(Vector<std::int32_t>{1, 0})), {here});
}

}  // namespace
}  // namespace anabranch::testing
