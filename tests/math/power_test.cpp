#include "math/power.h"

#include <algorithm>
#include <cmath>

#include "math/check.h"

namespace anabranch::test {
namespace {

// Bounds on the error: the largest of 10^8 pairs, which the long tier tries, rounded up.
MathFunction<float> pow_float() {
  return binary<float>(
      "pow of float", 0.9, [](float x, float y) { return math::pow(x, y); },
      [](double x, double y) { return std::pow(x, y); }, mpfr_pow,
      {{0.5, 2}, {0.99, 1.01}, {0x1p-149, 0x1p127, true}, {-100, 0}},
      {{-20, 20}, {-130, 130}, {0x1p-30, 0x1p30, true}, {-0x1p-30, -0x1p30, true}});
}
MathFunction<double> pow_double() {
  return binary<double>(
      "pow of double", 0.91, [](double x, double y) { return math::pow(x, y); },
      [](long double x, long double y) { return std::pow(x, y); }, mpfr_pow,
      {{0.5, 2}, {0.99, 1.01}, {0x1p-1074, 0x1p1023, true}, {-100, 0}},
      {{-20, 20}, {-1100, 1100}, {0x1p-60, 0x1p60, true}, {-0x1p-60, -0x1p60, true}});
}

/// Pairs whose power is near the largest or the smallest numbers: y near e / log2(x) for a power 2^e.
template <class F>
void check_extreme(const MathFunction<F>& f) {
  constexpr int largest = std::numeric_limits<F>::max_exponent;
  constexpr int smallest = std::numeric_limits<F>::min_exponent - std::numeric_limits<F>::digits;
  Draw draw(3);
  std::vector<F> x;
  std::vector<F> y;
  for (int i = 0; i < 40'000; ++i) {
    const F base = draw.number<F>(i % 2 == 0 ? Range{0.5, 2} : Range{1e-30, 1e30, true});
    const double exponent = draw.number<double>(i % 4 < 2 ? Range{largest - 2.0, largest + 0.01}
                                                          : Range{smallest - 1.1, smallest + 30.0});
    x.push_back(base);
    y.push_back(static_cast<F>(exponent / std::log2(double(base))));
  }
  const Measured<F> measured = measure_at(f, x, y);
  INFO(f.name << ": " << measured.text());
  CHECK(measured.ulp <= f.bound);
}

template <class F>
void check_fast_pairs(const MathFunction<F>& f) {
  Draw draw(9);
  int held = 0;
  int differing = 0;
  for (const Range& x_range : f.x) {
    for (const Range& y_range : f.y) {
      for (int i = 0; i < 100'000; ++i) {
        const F x = draw.number<F>(x_range);
        const F y = draw.number<F>(y_range);
        const math::Fast<F> fast = math::pow_fast(x, y);
        held += fast.holds;
        differing += fast.holds && !same_bits(fast.value, math::pow_full(x, y));
      }
    }
  }
  CHECK(held > 100'000);
  CHECK(differing == 0);
}

}  // namespace

TEST_CASE("powers of a sample") {
  check_sample(pow_float());
  check_sample(pow_double());
}

TEST_CASE("powers near the largest and the smallest numbers") {
  check_extreme(pow_float());
  check_extreme(pow_double());
}

TEST_CASE("powers of many pairs", "[.long]") {
  check_whole(pow_float());
  check_whole(pow_double());
}

TEST_CASE("the fast path of powers gives the bits of the full one") {
  check_fast_pairs(pow_float());
  check_fast_pairs(pow_double());
}

TEST_CASE("powers of whole numbers are exact where they are numbers of the type") {
  for (int x = -30; x <= 30; ++x) {
    double power = 1;
    for (int y = 0; std::abs(power) <= 0x1p53 && y < 40; ++y, power *= x) {
      CHECK(math::pow(double(x), double(y)) == power);
      if (std::abs(power) <= 0x1p24) CHECK(math::pow(float(x), float(y)) == float(power));
    }
  }
}

}  // namespace anabranch::test
