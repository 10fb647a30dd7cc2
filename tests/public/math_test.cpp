#include <cmath>
#include <limits>

#include "agree.h"

// sqrt, exp, log, sin, cos, fma: the same bits in vector bodies,
// in tails and in the interpreter, and near the truth.
namespace anabranch::testing {
namespace {

template <class T>
bool near(T got, double truth) {
  if (std::isnan(truth)) return std::isnan(got);
  const T rounded = static_cast<T>(truth);
  if (std::isinf(rounded))
    return got == rounded || std::abs(got) >= std::numeric_limits<T>::max() * T(0.9999);
  const T allowed =
      4 * std::numeric_limits<T>::epsilon() * std::abs(rounded) + 4 * std::numeric_limits<T>::denorm_min();
  return std::abs(got - rounded) <= allowed;
}

template <class T>
void functions() {
  using L = std::numeric_limits<T>;
  std::vector<Vector<T>> rows{
      {T(0), -T(0), T(1), T(-1), T(0.5), T(2), T(700), T(-700), T(88), T(-88), L::infinity(), -L::infinity(),
       L::quiet_NaN(), L::max(), L::min(), L::denorm_min(), T(1e-8), T(3.14159265)},
      {}};
  // The same numbers at every place of a vector: a lane has no say in the result.
  for (std::int64_t n : {1, 2, 3, 5, 8, 13, 16, 31, 64, 130})
    rows.push_back(vector_of(
        n, [](std::int64_t i) { return T(std::abs(number<T>(static_cast<std::uint64_t>(i) % 13)) / 9); }));
  const auto values = everywhere(
      [](auto row) { return map([](auto x) { return pack(sqrt(x), exp(x), log(x), sin(x), cos(x)); }, row); },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const T x = rows[r][i];
      const auto [root, e, l, s, c] = values[r][i];
      INFO("of " << x << ": " << root << " " << e << " " << l << " " << s << " " << c);
      const double wide = x;
      REQUIRE((root == std::sqrt(x) || (std::isnan(root) && std::isnan(std::sqrt(x)))));
      REQUIRE(near<T>(e, std::exp(wide)));
      REQUIRE(near<T>(l, std::log(wide)));
      REQUIRE(near<T>(s, std::sin(wide)));
      REQUIRE(near<T>(c, std::cos(wide)));
    }
  // Equal arguments at different places of a row, in rows of different lengths: equal results.
  for (std::int64_t i = 13; i < 130; ++i) REQUIRE(values.back()[i] == values.back()[i % 13]);
}

TEST_CASE("functions of float") { functions<float>(); }
TEST_CASE("functions of double") { functions<double>(); }

template <class T>
void one_rounding() {
  const auto rows = std::vector{numbers<T>(67, 1), numbers<T>(3, 2), Vector<T>{}};
  const auto values =
      everywhere([](auto row) { return map([](auto x) { return fma(x, x + T(1), -x); }, row); }, rows);
  for (std::int64_t i = 0; i < 67; ++i) {
    const T x = rows[0][i];
    REQUIRE(values[0][i] == std::fma(x, x + T(1), -x));
  }
}

TEST_CASE("fma takes literals") {
  const Vector<float> v{3.0F, -0.1F};
  const auto fused = map(
      [](auto x) {
        const std::tuple one(fma(x, x, 0.1F), fma(x, 2, x), fma(0.5, x, x));
        const std::tuple two(fma(x, 2, 0.5), fma(0.1F, x, 1), fma(2, 0.1F, x));
        return std::tuple_cat(one, two);
      },
      use(v));
  const auto values = agree(fused);
  for (std::int64_t i = 0; i < v.size(); ++i) {
    const float x = v[i];
    REQUIRE(values[i] == std::tuple(std::fma(x, x, 0.1F), std::fma(x, 2.0F, x), std::fma(0.5F, x, x),
                                    std::fma(x, 2.0F, 0.5F), std::fma(0.1F, x, 1.0F),
                                    std::fma(2.0F, 0.1F, x)));
  }
}
TEST_CASE("fma of float") { one_rounding<float>(); }
TEST_CASE("fma of double") { one_rounding<double>(); }

}  // namespace
}  // namespace anabranch::testing
