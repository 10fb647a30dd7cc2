#include <cmath>
#include <random>

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

/// With the sign of zero; whatever NaN.
template <class T>
bool same_number(T a, T b) {
  return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
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
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const T x = rows[r][i];
      const auto [down, up, near, cut, nan, infinite] = got[r][i];
      INFO("of " << x << ": " << down << " " << up << " " << near << " " << cut);
      REQUIRE(same_number(down, std::floor(x)));
      REQUIRE(same_number(up, std::ceil(x)));
      REQUIRE(same_number(near, std::round(x)));
      REQUIRE(same_number(cut, std::trunc(x)));
      REQUIRE(nan == std::isnan(x));
      REQUIRE(infinite == std::isinf(x));
    }
}

TEST_CASE("rounding of float") { rounding<float>(); }
TEST_CASE("rounding of double") { rounding<double>(); }

/// Numbers and what they are to be divided by, of each kind many in a row: multiples and what lies beside them, of small
/// and of large quotients; what is smaller than its divisor; numbers without a normal exponent.
template <class T>
std::vector<Pairs<T>> divided() {
  constexpr int digits = std::numeric_limits<T>::digits;
  std::mt19937 random(11);
  std::uniform_real_distribution<T> significand(T{1}, T{2});
  std::vector<Pairs<T>> out;
  const auto add = [&](int least, int most, int exponent) {
    std::vector<std::tuple<T, T>> row;
    std::uniform_int_distribution<int> scale(least, most);
    for (int i = 0; i < 300; ++i) {
      const T y = std::ldexp(significand(random), exponent);
      const T q = std::trunc(std::ldexp(significand(random), scale(random)));
      const T x = y * q;
      for (const T near : {x, std::nextafter(x, T{0}), std::nextafter(x, 2 * x), std::fma(y, q, y / 2)})
        row.emplace_back(i % 2 == 0 ? near : -near, i % 3 == 0 ? -y : y);
    }
    out.emplace_back(row);
  };
  add(-2, 3, 0);                    // smaller ones, and a few times
  add(0, digits - 2, 4);            // quotients that are exact
  add(digits - 2, digits + 3, -7);  // about those that are not
  add(40, 60, 1);
  add(0, 4, std::numeric_limits<T>::min_exponent - 9);     // next to nothing
  add(50, 52, std::numeric_limits<T>::max_exponent - 60);  // next to everything
  const T infinity = std::numeric_limits<T>::infinity();
  out.push_back(Pairs<T>(40, {T(-0.0), T(3)}));
  out.push_back(Pairs<T>(40, {T(2.5), -infinity}));
  out.push_back(Pairs<T>(40, {infinity, T(2)}));
  out.push_back(Pairs<T>(40, {T(1), T(0)}));
  return out;
}

template <class T>
void remainders() {
  const auto rows = divided<T>();
  const auto got = everywhere(
      [](auto row) {
        auto [xs, ys] = unzip(row);
        // Divided alone, and where not all lanes are.
        return zip_with([](auto x, auto y) { return pack(x % y, cond(x > 0, x % y, y)); }, xs, ys);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      const auto [rest, of_positive] = got[r][i];
      INFO("row " << r << ": of " << x << " and " << y << ": " << rest);
      const T expected = std::fmod(x, y);
      REQUIRE(same_number(rest, expected));
      REQUIRE(same_number(of_positive, x > 0 ? expected : y));
    }
}

TEST_CASE("remainders of float are exact") { remainders<float>(); }
TEST_CASE("remainders of double are exact") { remainders<double>(); }

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
