#include "math/inverse_trigonometric.h"

#include <cmath>

#include "math/check_numbers.h"

namespace anabranch::test {
namespace {

const double largest_float = std::numeric_limits<float>::max();
const double largest = std::numeric_limits<double>::max();

/// The bounds are the errors of large samples, rounded up; the long tier tries all floats and 10^8 doubles.
template <class F>
MathFunction<F> atan_function(double bound, std::vector<Range> x) {
  return unary<F>(
      named<F>("atan"), bound, [](F v) { return math::atan(v); }, [](auto v) { return std::atan(v); },
      mpfr_atan, std::move(x));
}
template <class F>
MathFunction<F> asin_function(double bound, std::vector<Range> x) {
  return unary<F>(
      named<F>("asin"), bound, [](F v) { return math::asin(v); }, [](auto v) { return std::asin(v); },
      mpfr_asin, std::move(x));
}
template <class F>
MathFunction<F> acos_function(double bound, std::vector<Range> x) {
  return unary<F>(
      named<F>("acos"), bound, [](F v) { return math::acos(v); }, [](auto v) { return std::acos(v); },
      mpfr_acos, std::move(x));
}
template <class F>
MathFunction<F> atan2_function(double bound, std::vector<Range> ranges) {
  return binary<F>(
      named<F>("atan2"), bound, [](F y, F x) { return math::atan2(y, x); },
      [](auto y, auto x) { return std::atan2(y, x); }, mpfr_atan2, ranges, ranges);
}

std::vector<MathFunction<float>> of_float() {
  return {atan_function<float>(0.66, {{-3, 3}, {1e-44, largest_float, true}}),
          asin_function<float>(0.72, {{-1.01, 1.01}, {1e-44, 1, true}}),
          acos_function<float>(0.68, {{-1.01, 1.01}, {1e-44, 1, true}})};
}
std::vector<MathFunction<double>> of_double() {
  return {atan_function<double>(0.65, {{-3, 3}, {1e-320, largest, true}}),
          asin_function<double>(0.77, {{-1.01, 1.01}, {1e-320, 1, true}}),
          acos_function<double>(0.75, {{-1.01, 1.01}, {1e-320, 1, true}})};
}
const MathFunction<float> atan2_of_float =
    atan2_function<float>(0.76, {{-2, 2}, {1e-44, largest_float, true}, {-1e-44, -1e-36, true}});
const MathFunction<double> atan2_of_double =
    atan2_function<double>(0.76, {{-2, 2}, {1e-320, largest, true}, {-1e-320, -1e-306, true}});

/// Where one way of computing ends and another begins, and their neighbours.
template <class F>
std::vector<F> borders() {
  std::vector<F> out;
  for (const double x : {M_SQRT2 - 1, 0.5, 1.0, M_SQRT2 + 1, 0x1p30, 0x1p60}) {
    for (int i = -200; i <= 200; ++i) {
      const F near = F(x) + F(i) * F(x) * std::numeric_limits<F>::epsilon();
      out.insert(out.end(), {near, -near});
    }
  }
  return out;
}

}  // namespace

TEST_CASE("inverse trigonometric functions stay below 1 ulp") {
  for (const auto& f : of_float()) check_sample(f);
  for (const auto& f : of_double()) check_sample(f);
}

TEST_CASE("inverse trigonometric functions where their intervals end") {
  for (const auto& f : of_float()) check_numbers(f, borders<float>());
  for (const auto& f : of_double()) check_numbers(f, borders<double>());
}

TEST_CASE("atan2 stays below 1 ulp") {
  check_sample(atan2_of_float);
  check_sample(atan2_of_double);
}

TEST_CASE("inverse trigonometric functions of every float", "[.long]") {
  for (const auto& f : of_float()) check_whole(f);
}
TEST_CASE("inverse trigonometric functions of many doubles", "[.long]") {
  for (const auto& f : of_double()) check_whole(f);
}
TEST_CASE("atan2 of many numbers", "[.long]") {
  check_whole(atan2_of_float);
  check_whole(atan2_of_double);
}

}  // namespace anabranch::test
