#include "math/hyperbolic.h"

#include <cmath>

#include "math/check.h"

namespace anabranch::test {
namespace {

// Largest error: over all floats, over 10^8 doubles.
MathFunction<float> tanh_float() {
  return unary<float>(
      "tanh of float", 0.9, [](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); },
      mpfr_tanh, {{-1, 1}, {0, 10}, {0x1p-149, 100, true}});
}
MathFunction<double> tanh_double() {
  return unary<double>(
      "tanh of double", 0.9, [](double x) { return math::tanh(x); },
      [](long double x) { return std::tanh(x); }, mpfr_tanh,
      {{-1, 1}, {0, 20}, {0x1p-60, 100, true}, {0x1p-1074, 1, true}});
}
MathFunction<float> sinh_float() {
  return unary<float>(
      "sinh of float", 0.9, [](float x) { return math::sinh(x); },
      [](double x) { return std::sinh(beyond_floats(x)); }, mpfr_sinh,
      {{-1, 1}, {-10, 10}, {-90, 90}, {0x1p-149, 100, true}});
}
MathFunction<double> sinh_double() {
  return unary<double>(
      "sinh of double", 0.9, [](double x) { return math::sinh(x); },
      [](long double x) { return std::sinh(x); }, mpfr_sinh,
      {{-1, 1}, {-10, 10}, {-711, 711}, {0x1p-60, 800, true}, {0x1p-1074, 1, true}});
}
MathFunction<float> cosh_float() {
  return unary<float>(
      "cosh of float", 0.9, [](float x) { return math::cosh(x); },
      [](double x) { return std::cosh(beyond_floats(x)); }, mpfr_cosh,
      {{-1, 1}, {-10, 10}, {-90, 90}, {0x1p-149, 100, true}});
}
MathFunction<double> cosh_double() {
  return unary<double>(
      "cosh of double", 0.9, [](double x) { return math::cosh(x); },
      [](long double x) { return std::cosh(x); }, mpfr_cosh,
      {{-1, 1}, {-10, 10}, {-711, 711}, {0x1p-60, 800, true}});
}

}  // namespace

TEST_CASE("hyperbolic functions of a sample") {
  check_sample(tanh_float());
  check_sample(tanh_double());
  check_sample(sinh_float());
  check_sample(sinh_double());
  check_sample(cosh_float());
  check_sample(cosh_double());
}

TEST_CASE("hyperbolic functions of all floats and of many doubles", "[.long]") {
  check_whole(tanh_float());
  check_whole(sinh_float());
  check_whole(cosh_float());
  check_whole(tanh_double());
  check_whole(sinh_double());
  check_whole(cosh_double());
}

}  // namespace anabranch::test
