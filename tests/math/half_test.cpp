// Functions of halves: computed as floats, rounded to a half. All 65536 operands.

#include <anabranch/half.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "math/error_function.h"
#include "math/exponential.h"
#include "math/hyperbolic.h"
#include "math/inverse_trigonometric.h"
#include "math/logarithm.h"
#include "math/measure.h"
#include "math/power.h"
#include "math/roots.h"
#include "math/trigonometric.h"
#include "support/catch.h"

namespace anabranch::test {
namespace {

struct FunctionOfTwo {
  const char* name;
  float (*recipe)(float, float);
  double (*exact)(double, double);
};

#define ANABRANCH_FUNCTION(name)                             \
  {#name, [](float x, float y) { return math::name(x, y); }, \
   [](double x, double y) { return std::name(x, y); }}
constexpr FunctionOfTwo functions_of_two[] = {ANABRANCH_FUNCTION(pow), ANABRANCH_FUNCTION(atan2),
                                              ANABRANCH_FUNCTION(hypot)};
#undef ANABRANCH_FUNCTION

struct Function {
  const char* name;
  float (*recipe)(float);
  double (*exact)(double);  ///< to so many bits that a half's error can be told
};

#define ANABRANCH_FUNCTION(name) \
  {#name, [](float x) { return math::name(x); }, [](double x) { return std::name(x); }}
constexpr Function functions[] = {
    ANABRANCH_FUNCTION(exp),
    ANABRANCH_FUNCTION(exp2),
    ANABRANCH_FUNCTION(log),
    ANABRANCH_FUNCTION(log2),
    ANABRANCH_FUNCTION(log10),
    ANABRANCH_FUNCTION(sin),
    ANABRANCH_FUNCTION(cos),
    ANABRANCH_FUNCTION(tan),
    ANABRANCH_FUNCTION(asin),
    ANABRANCH_FUNCTION(acos),
    ANABRANCH_FUNCTION(atan),
    ANABRANCH_FUNCTION(sinh),
    ANABRANCH_FUNCTION(cosh),
    ANABRANCH_FUNCTION(tanh),
    ANABRANCH_FUNCTION(asinh),
    ANABRANCH_FUNCTION(acosh),
    ANABRANCH_FUNCTION(atanh),
    ANABRANCH_FUNCTION(erf),
    ANABRANCH_FUNCTION(cbrt),
    {"rsqrt", [](float x) { return math::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }},
};
#undef ANABRANCH_FUNCTION

constexpr double infinite = std::numeric_limits<double>::infinity();

/// In units of the exact value's last place, an infinity counting as 65536. Infinite where only one is a NaN, or
/// the sign is wrong, or a zero is none.
double half_ulp_error(half got, double want) {
  const double value = static_cast<float>(got);
  if (std::isnan(want) || std::isnan(value)) return std::isnan(want) && std::isnan(value) ? 0 : infinite;
  if (std::signbit(want) != std::signbit(value)) return infinite;
  if (want == 0) return value == 0 ? 0 : infinite;
  if (std::isinf(value) && std::abs(want) >= 65536) return 0;
  const double finite = std::isinf(value) ? std::copysign(65536.0, value) : value;
  return std::ldexp(std::abs(finite - want), 10 - std::max(std::ilogb(want), -14));
}

}  // namespace

TEST_CASE("functions of every half") {
  for (const Function& f : functions) {
    double largest = 0;
    float where = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float x = std::bit_cast<half>(static_cast<std::uint16_t>(bits));
      const double error = half_ulp_error(half(f.recipe(x)), f.exact(x));
      if (error > largest) largest = error, where = x;
    }
    INFO(f.name << ": " << largest << " ulp at " << where);
    CHECK(largest <= 0.501);
    CHECK(largest > 0.45);
  }
}

TEST_CASE("functions of two halves") {
  for (const FunctionOfTwo& f : functions_of_two) {
    double largest = 0;
    float where = 0, second = 0;
    Draw draw(3);
    for (int i = 0; i < 1 << 20; ++i) {
      const auto drawn = draw.bits();
      const float x = std::bit_cast<half>(static_cast<std::uint16_t>(drawn >> 48));
      const float y = std::bit_cast<half>(static_cast<std::uint16_t>(drawn >> 32));
      const double error = half_ulp_error(half(f.recipe(x, y)), f.exact(x, y));
      if (error > largest) largest = error, where = x, second = y;
    }
    INFO(f.name << ": " << largest << " ulp at " << where << ", " << second);
    CHECK(largest <= 0.501);
    CHECK(largest > 0.45);
  }
}

}  // namespace anabranch::test
