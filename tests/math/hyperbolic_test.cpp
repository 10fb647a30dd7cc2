#include "math/hyperbolic.h"

#include <cmath>

#include "math/check.h"

namespace anabranch::test {
namespace {

// Bounds on the error. tanh and asinh of both types, sinh and cosh of float, acosh and atanh of double: what the
// long tier measured over all floats and 10^8 doubles, rounded up. Others: 0.9, which no sample reached.
MathFunction<float> tanh_float() {
  return unary<float>(
      "tanh of float", 0.96, [](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); },
      mpfr_tanh, {{-1, 1}, {0, 10}, {0x1p-149, 100, true}});
}
MathFunction<double> tanh_double() {
  return unary<double>(
      "tanh of double", 0.91, [](double x) { return math::tanh(x); },
      [](long double x) { return std::tanh(x); }, mpfr_tanh,
      {{-1, 1}, {0, 20}, {0x1p-60, 100, true}, {0x1p-1074, 1, true}});
}
MathFunction<float> sinh_float() {
  return unary<float>(
      "sinh of float", 0.8, [](float x) { return math::sinh(x); },
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
      "cosh of float", 0.74, [](float x) { return math::cosh(x); },
      [](double x) { return std::cosh(beyond_floats(x)); }, mpfr_cosh,
      {{-1, 1}, {-10, 10}, {-90, 90}, {0x1p-149, 100, true}});
}
MathFunction<double> cosh_double() {
  return unary<double>(
      "cosh of double", 0.9, [](double x) { return math::cosh(x); },
      [](long double x) { return std::cosh(x); }, mpfr_cosh,
      {{-1, 1}, {-10, 10}, {-711, 711}, {0x1p-60, 800, true}});
}
MathFunction<float> asinh_float() {
  return unary<float>(
      "asinh of float", 0.88, [](float x) { return math::asinh(x); }, [](double x) { return std::asinh(x); },
      mpfr_asinh, {{-1, 1}, {-100, 100}, {0x1p-149, 0x1p127, true}});
}
MathFunction<double> asinh_double() {
  return unary<double>(
      "asinh of double", 0.92, [](double x) { return math::asinh(x); },
      [](long double x) { return std::asinh(x); }, mpfr_asinh,
      {{-1, 1}, {-100, 100}, {0x1p-60, 0x1p60, true}, {0x1p-1074, 0x1p1023, true}});
}
MathFunction<float> acosh_float() {
  return unary<float>(
      "acosh of float", 0.9, [](float x) { return math::acosh(x); }, [](double x) { return std::acosh(x); },
      mpfr_acosh, {{1, 1.1}, {1, 10}, {1, 0x1p127, true}});
}
MathFunction<double> acosh_double() {
  return unary<double>(
      "acosh of double", 0.9, [](double x) { return math::acosh(x); },
      [](long double x) { return std::acosh(x); }, mpfr_acosh,
      {{1, 1.0001}, {1, 2}, {1, 100}, {1, 0x1p60, true}, {1, 0x1p1023, true}});
}
MathFunction<float> atanh_float() {
  return unary<float>(
      "atanh of float", 0.9, [](float x) { return math::atanh(x); }, [](double x) { return std::atanh(x); },
      mpfr_atanh, {{-1, 1}, {0x1p-149, 1, true}});
}
MathFunction<double> atanh_double() {
  return unary<double>(
      "atanh of double", 0.9, [](double x) { return math::atanh(x); },
      [](long double x) { return std::atanh(x); }, mpfr_atanh,
      {{-1, 1}, {0.99, 1}, {0x1p-60, 1, true}, {0x1p-1074, 1, true}});
}

}  // namespace

TEST_CASE("hyperbolic functions of a sample") {
  check_sample(tanh_float());
  check_sample(tanh_double());
  check_sample(sinh_float());
  check_sample(sinh_double());
  check_sample(cosh_float());
  check_sample(cosh_double());
  check_sample(asinh_float());
  check_sample(asinh_double());
  check_sample(acosh_float());
  check_sample(acosh_double());
  check_sample(atanh_float());
  check_sample(atanh_double());
}

TEST_CASE("hyperbolic functions of all floats and of many doubles", "[.long]") {
  check_whole(tanh_float());
  check_whole(sinh_float());
  check_whole(cosh_float());
  check_whole(asinh_float());
  check_whole(acosh_float());
  check_whole(atanh_float());
  check_whole(tanh_double());
  check_whole(sinh_double());
  check_whole(cosh_double());
  check_whole(asinh_double());
  check_whole(acosh_double());
  check_whole(atanh_double());
}

}  // namespace anabranch::test
