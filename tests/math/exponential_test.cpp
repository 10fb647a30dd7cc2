#include "math/exponential.h"

#include <cmath>

#include "math/check.h"

namespace anabranch::test {
namespace {

// Bounds on the error: the largest of all floats and of 10^8 doubles, which the long tier tries, rounded up.
MathFunction<float> exp_float() {
  return unary<float>(
      "exp of float", 0.9, [](float x) { return math::exp(x); },
      [](double x) { return std::exp(beyond_floats(x)); }, mpfr_exp,
      {{-88, 89}, {-104, -87}, {0x1p-30, 100, true}, {-0x1p-30, -100, true}});
}
MathFunction<double> exp_double() {
  return unary<double>(
      "exp of double", 0.91, [](double x) { return math::exp(x); }, [](long double x) { return std::exp(x); },
      mpfr_exp, {{-708, 710}, {-746, -707}, {-1, 1}, {0x1p-60, 800, true}, {-0x1p-60, -800, true}});
}
MathFunction<float> exp2_float() {
  return unary<float>(
      "exp2 of float", 0.88, [](float x) { return math::exp2(x); },
      [](double x) { return std::exp2(beyond_floats(x)); }, mpfr_exp2,
      {{-126, 129}, {-151, -125}, {0x1p-30, 130, true}, {-0x1p-30, -160, true}});
}
MathFunction<double> exp2_double() {
  return unary<double>(
      "exp2 of double", 0.9, [](double x) { return math::exp2(x); },
      [](long double x) { return std::exp2(x); }, mpfr_exp2,
      {{-1022, 1025}, {-1077, -1021}, {-1, 1}, {0x1p-60, 1030, true}, {-0x1p-60, -1080, true}});
}

}  // namespace

TEST_CASE("exponentials of a sample") {
  check_sample(exp_float());
  check_sample(exp_double());
  check_sample(exp2_float());
  check_sample(exp2_double());
}

TEST_CASE("exponentials of all floats and of many doubles", "[.long]") {
  check_whole(exp_float());
  check_whole(exp2_float());
  check_whole(exp_double());
  check_whole(exp2_double());
}

TEST_CASE("the fast paths of exponentials give the bits of the full ones") {
  check_fast(
      exp_float(), [](float x) { return math::exp_fast(x); }, [](float x) { return math::exp_full(x); });
  check_fast(
      exp_double(), [](double x) { return math::exp_fast(x); }, [](double x) { return math::exp_full(x); });
  check_fast(
      exp2_float(), [](float x) { return math::exp2_fast(x); }, [](float x) { return math::exp2_full(x); });
  check_fast(
      exp2_double(), [](double x) { return math::exp2_fast(x); },
      [](double x) { return math::exp2_full(x); });
}

}  // namespace anabranch::test
