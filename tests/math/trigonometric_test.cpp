#include "math/trigonometric.h"

#include <bit>
#include <cmath>

#include "math/check_numbers.h"

namespace anabranch::test {
namespace {

constexpr float largest_float = std::numeric_limits<float>::max();
constexpr double largest = std::numeric_limits<double>::max();

/// The bounds are the errors of all floats and of 10^8 doubles, which the long tier tries, rounded up.
template <class F>
std::vector<MathFunction<F>> functions(std::vector<Range> x, std::vector<double> bounds) {
  return {
      unary<F>(
          named<F>("sin"), bounds[0], [](F v) { return math::sin(v); }, [](auto v) { return std::sin(v); },
          mpfr_sin, x),
      unary<F>(
          named<F>("cos"), bounds[1], [](F v) { return math::cos(v); }, [](auto v) { return std::cos(v); },
          mpfr_cos, x),
      unary<F>(
          named<F>("tan"), bounds[2], [](F v) { return math::tan(v); }, [](auto v) { return std::tan(v); },
          mpfr_tan, x),
  };
}

std::vector<MathFunction<float>> of_float() {
  return functions<float>({{-7, 7}, {-48500, 48500}, {1e-30, largest_float, true}}, {0.885, 0.885, 0.96});
}
std::vector<MathFunction<double>> of_double() {
  return functions<double>({{-7, 7}, {-1.1e8, 1.1e8}, {1e-300, largest, true}}, {0.88, 0.885, 0.885});
}

/// The numbers nearest to a multiple of pi / 2, relative to the type's precision: low ones, where the angle
/// is reduced in parts, and high ones. From the convergents of the continued fractions of 2^(e + 1) / pi.
const std::vector<float> hard_floats = {
    0x1.47d0fep34f, 0x1.f37c8ap95f, 0x1.f37c8ap96f,  0x1.47d0fep35f, 0x1.47d0fep36f, 0x1.32ede2p85f,
    0x1.628d4cp40f, 0x1.13093p76f,  0x1.b08c4ap111f, 0x1.921fb6p0f,  0x1.921fb6p1f,  0x1.2d97c8p2f,
    0x1.f6a7a2p2f,  0x1.921fb4p0f,  48000.0f,        0x1.77p15f,     0x1.7700fep15f, 0x1.fffffep127f};
const std::vector<double> hard_doubles = {
    0x16ac5b262ca1ffp797, 0x16ac5b262ca1ffp798, 0x1b951f1572eba5p-29,  0x1504cac51f1eafp79,
    0x16ac5b262ca1ffp799, 0x1e009c53148be1p939, 0xa64b60889a69bp526,   0x1cfe482285f8edp808,
    0x1db41f3cb71d7bp628, 0x79f9129e2b063p147,  0x1b951f1572eba5p-28,  0x1c45cd11154dfdp243,
    0xb6365e22ee46fp-43,  0x1b951f1572eba5p-27, 0xb6365e22ee46fp-42,   0xb6365e22ee46fp-41,
    0x1.921fb54442d18p0,  0x1.921fb54442d18p1,  0x1.2d97c7f3321d2p2,   0x1.f6a7a2955385ep2,
    0x1.7d784p26,         0x1.7d78400000001p26, 0x1.fffffffffffffp1023};

template <class F>
void check_hard(const std::vector<MathFunction<F>>& functions, std::vector<F> numbers) {
  const std::size_t positive = numbers.size();
  for (std::size_t i = 0; i < positive; ++i) {
    const F x = numbers[i];
    numbers.insert(numbers.end(), {-x, std::nextafter(x, F(0)), std::nextafter(x, F(1e30)), x / 2, x / 3});
  }
  for (const MathFunction<F>& f : functions) check_numbers(f, numbers);
}

template <class F>
void check_fast_paths(const std::vector<MathFunction<F>>& f) {
  constexpr int count = 100'000;
  check_fast(f[0], [](F x) { return math::sin_fast(x); }, [](F x) { return math::sin_full(x); }, count);
  check_fast(f[1], [](F x) { return math::cos_fast(x); }, [](F x) { return math::cos_full(x); }, count);
  check_fast(f[2], [](F x) { return math::tan_fast(x); }, [](F x) { return math::tan_full(x); }, count);
}

}  // namespace

TEST_CASE("trigonometric functions stay below 1 ulp") {
  for (const auto& f : of_float()) check_sample(f);
  for (const auto& f : of_double()) check_sample(f);
}

TEST_CASE("trigonometric functions next to multiples of pi / 2") {
  check_hard(of_float(), hard_floats);
  check_hard(of_double(), hard_doubles);
}

TEST_CASE("trigonometric functions are the same on the fast path") {
  check_fast_paths(of_float());
  check_fast_paths(of_double());
}

TEST_CASE("trigonometric functions of every float", "[.long]") {
  for (const auto& f : of_float()) check_whole(f);
}
TEST_CASE("trigonometric functions of many doubles", "[.long]") {
  for (const auto& f : of_double()) check_whole(f);
}

}  // namespace anabranch::test
