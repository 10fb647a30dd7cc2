#include "math/error_function.h"

#include <cmath>

#include "math/check_numbers.h"

namespace anabranch::test {
namespace {

/// The bounds are the largest errors measured: over all floats; of doubles, 0.8936 among 10^8 of these ranges and
/// 0.9082 among 10^7 from 0.79 to 2.39.
template <class F>
MathFunction<F> erf_function(double bound, double smallest) {
  return unary<F>(
      named<F>("erf"), bound, [](F v) { return math::erf(v); }, [](auto v) { return std::erf(v); }, mpfr_erf,
      {{-1.1, 1.1}, {0.7, 6.2}, {smallest, 10, true}});
}
const MathFunction<float> erf_of_float = erf_function<float>(0.87, 1e-44);
const MathFunction<double> erf_of_double = erf_function<double>(0.91, 1e-320);

/// Around 0.8, and where the value becomes 1.
template <class F>
std::vector<F> borders(double last) {
  std::vector<F> out;
  for (const double x : {0.8, last}) {
    for (int i = -300; i <= 300; ++i) {
      const F near = F(x) + F(i) * std::numeric_limits<F>::epsilon();
      out.insert(out.end(), {near, -near});
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the error function stays below 1 ulp") {
  check_sample(erf_of_float);
  check_sample(erf_of_double);
}

TEST_CASE("the error function where its intervals end") {
  check_numbers(erf_of_float, borders<float>(3.93));
  check_numbers(erf_of_double, borders<double>(5.93));
}

TEST_CASE("the error function of every float and of many doubles", "[.long]") {
  check_whole(erf_of_float);
  check_whole(erf_of_double);
}

}  // namespace anabranch::test
