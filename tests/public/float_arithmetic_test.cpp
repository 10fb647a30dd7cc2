#include <cmath>

#include "pairs.h"

// Every arithmetic operation on floats, on all pairs of borders and on ordinary numbers.
namespace anabranch::testing {
namespace {

template <class T>
bool same_number(T a, T b) {
  return a != a ? b != b : a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
void floats() {
  const auto rows = rows_of_pairs<T>([](T, T) { return true; });
  const auto body = [](auto row) {
    auto [xs, ys] = unzip(row);
    return zip_with(
        [](auto x, auto y) {
          return pack(x + y, x - y, x * y, x / y, x % y, -x, abs(x), min(x, y), max(x, y));
        },
        xs, ys);
  };
  const auto values = everywhere(body, rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      const std::array<T, 9> expected{x + y,
                                      x - y,
                                      x * y,
                                      x / y,
                                      std::fmod(x, y),
                                      -x,
                                      std::fabs(x),
                                      x < y || x != x ? x : y,
                                      x > y || x != x ? x : y};
      const auto got = std::apply([](auto... v) { return std::array<T, 9>{v...}; }, values[r][i]);
      for (std::size_t k = 0; k < got.size(); ++k)
        if (!same_number(got[k], expected[k]))
          FAIL("operation " << k << " of " << x << " and " << y << ": " << got[k] << ", not " << expected[k]);
    }
  SUCCEED();
}

TEST_CASE("arithmetic on float") { floats<float>(); }
TEST_CASE("arithmetic on double") { floats<double>(); }

TEST_CASE("a product used twice is rounded on its own") {
  // Two uses of the product: it is rounded on its own, in vector bodies and in tails alike.
  const double e = std::ldexp(1.0, -30);
  const auto xs = vector_of(67, [&](std::int64_t i) { return 1.0 + static_cast<double>(i + 1) * e; });
  everywhere(
      [](auto v) { return map([](auto x) { return pack(x * x - 1.0, fma(x, x, Exp(-1.0)), x * x); }, v); },
      std::vector{xs, Vector<double>{1.5}});
}

TEST_CASE("literals and mixed operands") {
  const Vector<float> v{1.5F, -2.0F};
  require_same(agree(map([](auto x) { return 2 * x + 1; }, use(v))), Vector<float>{4.0F, -3.0F});
  require_same(agree(map([](auto x) { return 1 - x / 4; }, use(v))), Vector<float>{0.625F, 1.5F});
  const Vector<std::uint8_t> bytes{250, 3};
  require_same(agree(map([](auto x) { return x + 10; }, use(bytes))), Vector<std::uint8_t>{4, 13});
  const double captured = 0.1;
  require_same(agree(map([=](auto x) { return x * captured; }, use(Vector<double>{3.0}))),
               Vector<double>{3.0 * 0.1});
}

}  // namespace
}  // namespace anabranch::testing
