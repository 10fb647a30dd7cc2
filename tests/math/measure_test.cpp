#include "math/measure.h"

#include <cmath>
#include <limits>
#include <mutex>
#include <set>

#include "support/catch.h"

namespace anabranch::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class F>
MathFunction<F> square_root() {
  const auto root = [](auto x) { return std::sqrt(x); };
  return unary<F>("sqrt", 0.5, root, root, mpfr_sqrt, {{0, 1e30}, {0, infinity, true}});
}

/// exp with an error of its own.
MathFunction<float> exponential_times(double factor) {
  return unary<float>(
      "exp", 1, [factor](float x) { return float(std::exp(double(x)) * factor); },
      [](double x) { return std::exp(x); }, mpfr_exp, {{-87, 88}});
}

}  // namespace

TEST_CASE("errors are measured in units of the exact value's last place") {
  const MathFunction<float> f = square_root<float>();
  CHECK(ulp_error<float>(f, 4, 0, 2) == 0);
  CHECK(ulp_error<float>(f, 4, 0, std::nextafter(2.0F, 9.0F)) == 1);
  CHECK(ulp_error<float>(f, 4, 0, std::nextafter(2.0F, 0.0F)) == 0.5);  // a number of the binade below
  CHECK(ulp_error<float>(f, 2, 0, std::sqrt(2.0F)) == Approx(0.20303).epsilon(1e-4));
  CHECK(ulp_error<double>(square_root<double>(), 2, 0, std::sqrt(2.0)) == Approx(0.4355).epsilon(0.001));
}

TEST_CASE("what is no number, and the sign of zero, have to be right") {
  const MathFunction<float> f = square_root<float>();
  CHECK(ulp_error<float>(f, -1, 0, 0) == infinity);
  CHECK(ulp_error<float>(f, -1, 0, std::nanf("")) == 0);
  CHECK(ulp_error<float>(f, 4, 0, std::nanf("")) == infinity);
  CHECK(ulp_error<float>(f, -0.0F, 0, -0.0F) == 0);
  CHECK(ulp_error<float>(f, -0.0F, 0, 0.0F) == infinity);
  CHECK(ulp_error<float>(f, infinity, 0, infinity) == 0);
  CHECK(ulp_error<float>(f, infinity, 0, std::numeric_limits<float>::max()) == infinity);
}

TEST_CASE("the borders of the type are measured in its own units") {
  const MathFunction<float> f = exponential_times(1);
  const float largest = std::numeric_limits<float>::max();
  const float smallest = std::numeric_limits<float>::denorm_min();
  CHECK(ulp_error<float>(f, 100, 0, infinity) == 0);
  CHECK(ulp_error<float>(f, 100, 0, largest) > 1e6);
  CHECK(ulp_error<float>(f, 88.7F, 0, infinity) > 1e5);
  CHECK(ulp_error<float>(f, -103.5F, 0, smallest) < 0.4);
  CHECK(ulp_error<float>(f, -1000, 0, 0) < 1e-9);
  CHECK(ulp_error<float>(f, -1000, 0, smallest) == Approx(1));
}

TEST_CASE("the largest error is found") {
  CHECK(measure_drawn(square_root<float>(), 100'000).ulp == Approx(0.5).epsilon(1e-3));
  CHECK(measure_drawn(square_root<double>(), 100'000).ulp == Approx(0.5).epsilon(1e-3));
  CHECK(measure_specials(square_root<double>()).ulp <= 0.5);
  CHECK(measure_drawn(exponential_times(1), 100'000).ulp <= 0.5 + 1e-6);
  // A relative error of 2^-23 is up to two units, beside the rounding.
  CHECK(measure_drawn(exponential_times(1 + 0x1p-23), 100'000).ulp == Approx(2.5).epsilon(0.01));
}

TEST_CASE("drawn numbers stay in their range") {
  Draw draw(1);
  for (const Range& range : {Range{-2, 3}, Range{1, 8, true}, Range{-1e-30, -1e30, true}}) {
    for (int i = 0; i < 1000; ++i) {
      const double x = draw.number<double>(range);
      CHECK((x >= std::min(range.low, range.high) && x <= std::max(range.low, range.high)));
    }
  }
}

TEST_CASE("a sample is as large as it says") {
  MathFunction<double> f = square_root<double>();
  f.x = {{0, 1}};
  std::mutex mutex;
  std::set<double> numbers;
  f.run = [&](const double* x, const double*, double* out, std::size_t n) {
    const std::lock_guard lock(mutex);
    numbers.insert(x, x + n);
    for (std::size_t i = 0; i < n; ++i) out[i] = std::sqrt(x[i]);
  };
  CHECK(measure_drawn(f, 1 << 16).ulp < 0.51);
  CHECK(numbers.size() >= 1 << 16);
}

}  // namespace anabranch::test
