#include "math/logarithm.h"

#include <cmath>

#include "math/check.h"

namespace anabranch::test {
namespace {

const std::vector<Range> float_ranges = {{0.5, 2}, {0.98, 1.02}, {0x1p-149, 0x1p127, true}};
const std::vector<Range> double_ranges = {{0.5, 2}, {0.99, 1.01}, {0x1p-1074, 0x1p1023, true}};

// Bounds on the error: those of all floats and of 10^8 doubles, which the long tier tries, rounded up.
MathFunction<float> log_float() {
  return unary<float>(
      "log of float", 0.89, [](float x) { return math::log(x); }, [](double x) { return std::log(x); },
      mpfr_log, float_ranges);
}
MathFunction<double> log_double() {
  return unary<double>(
      "log of double", 0.87, [](double x) { return math::log(x); }, [](long double x) { return std::log(x); },
      mpfr_log, double_ranges);
}
MathFunction<float> log2_float() {
  return unary<float>(
      "log2 of float", 0.71, [](float x) { return math::log2(x); }, [](double x) { return std::log2(x); },
      mpfr_log2, float_ranges);
}
MathFunction<double> log2_double() {
  return unary<double>(
      "log2 of double", 0.78, [](double x) { return math::log2(x); },
      [](long double x) { return std::log2(x); }, mpfr_log2, double_ranges);
}
MathFunction<float> log10_float() {
  return unary<float>(
      "log10 of float", 0.9, [](float x) { return math::log10(x); }, [](double x) { return std::log10(x); },
      mpfr_log10, float_ranges);
}
MathFunction<double> log10_double() {
  return unary<double>(
      "log10 of double", 0.93, [](double x) { return math::log10(x); },
      [](long double x) { return std::log10(x); }, mpfr_log10, double_ranges);
}

}  // namespace

TEST_CASE("logarithms of a sample") {
  check_sample(log_float());
  check_sample(log_double());
  check_sample(log2_float());
  check_sample(log2_double());
  check_sample(log10_float());
  check_sample(log10_double());
}

TEST_CASE("logarithms of all floats and of many doubles", "[.long]") {
  check_whole(log_float());
  check_whole(log2_float());
  check_whole(log10_float());
  check_whole(log_double());
  check_whole(log2_double());
  check_whole(log10_double());
}

TEST_CASE("the fast paths of logarithms give the bits of the full ones") {
  check_fast(
      log_float(), [](float x) { return math::log_fast(x); }, [](float x) { return math::log_full(x); });
  check_fast(
      log_double(), [](double x) { return math::log_fast(x); }, [](double x) { return math::log_full(x); });
  check_fast(
      log2_float(), [](float x) { return math::log2_fast(x); }, [](float x) { return math::log2_full(x); });
  check_fast(
      log2_double(), [](double x) { return math::log2_fast(x); },
      [](double x) { return math::log2_full(x); });
  check_fast(
      log10_float(), [](float x) { return math::log10_fast(x); },
      [](float x) { return math::log10_full(x); });
  check_fast(
      log10_double(), [](double x) { return math::log10_fast(x); },
      [](double x) { return math::log10_full(x); });
}

TEST_CASE("the binary logarithm of a power of two is exact") {
  for (int n = -149; n < 128; ++n) CHECK(math::log2(std::ldexp(1.0F, n)) == float(n));
  for (int n = -1074; n < 1024; ++n) CHECK(math::log2(std::ldexp(1.0, n)) == n);
}

}  // namespace anabranch::test
