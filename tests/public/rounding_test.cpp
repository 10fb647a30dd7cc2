#include <cmath>

#include "pairs.h"

// Floats rounded to integers, kinds of floats and signs: bit for bit as C++ has them, with the sign of zero.
namespace anabranch::testing {
namespace {

template <class T>
std::vector<T> samples() {
  using L = std::numeric_limits<T>;
  std::vector<T> out = borders<T>();
  const T whole = std::ldexp(T{1}, L::digits - 1);  // from here on all are integers
  for (T x : {T(0.5), T(1), T(1.5), T(2.5), T(0.3), T(1234.75), whole, whole / 2})
    for (T y : {x, -x})
      for (T z : {y, std::nextafter(y, T{0}), std::nextafter(y, 2 * y)}) out.push_back(z);
  return out;
}

template <class T>
void rounding() {
  const auto values = samples<T>();
  const std::vector<Vector<T>> rows{Vector<T>(values), Vector<T>{}, numbers<T>(67, 3), Vector<T>{T(-2.5)}};
  const auto got = everywhere(
      [](auto row) {
        return map([](auto x) { return pack(floor(x), ceil(x), round(x), trunc(x), is_nan(x), is_inf(x)); },
                   row);
      },
      rows);
  const auto same = [](T a, T b) { return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b; };
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const T x = rows[r][i];
      const auto [down, up, near, cut, nan, infinite] = got[r][i];
      INFO("of " << x << ": " << down << " " << up << " " << near << " " << cut);
      REQUIRE(same(down, std::floor(x)));
      REQUIRE(same(up, std::ceil(x)));
      REQUIRE(same(near, std::round(x)));
      REQUIRE(same(cut, std::trunc(x)));
      REQUIRE(nan == std::isnan(x));
      REQUIRE(infinite == std::isinf(x));
    }
}

TEST_CASE("rounding of float") { rounding<float>(); }
TEST_CASE("rounding of double") { rounding<double>(); }

TEST_CASE("signs are copied, and a NaN has none") {
  const auto rows = rows_of_pairs<float>([](float, float) { return true; });
  const auto got = everywhere(
      [](auto row) {
        auto [xs, ys] = unzip(row);
        return zip_with([](auto x, auto y) { return pack(copysign(x, y), copysign(x, -1), copysign(2, y)); },
                        xs, ys);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      const auto [all, minus, two] = got[r][i];
      INFO("of " << x << " and " << y);
      const bool negative = !std::isnan(y) && std::signbit(y);
      REQUIRE(two == (negative ? -2.0F : 2.0F));
      if (std::isnan(x)) {
        REQUIRE(std::isnan(all));
      } else {
        REQUIRE(std::signbit(all) == negative);
        REQUIRE(std::signbit(minus));
        REQUIRE(std::fabs(all) == std::fabs(x));
      }
    }
}

}  // namespace
}  // namespace anabranch::testing
