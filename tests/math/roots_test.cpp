#include "math/roots.h"

#include <cmath>

#include "math/check_numbers.h"

namespace anabranch::test {
namespace {

const double largest_float = std::numeric_limits<float>::max();
const double largest = std::numeric_limits<double>::max();

/// MPFR takes both zeros for the positive one.
int reciprocal_root(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding) {
  const int ternary = mpfr_rec_sqrt(out, x, rounding);
  if (mpfr_zero_p(x)) mpfr_set_inf(out, mpfr_signbit(x) ? -1 : 1);
  return ternary;
}

/// The bounds are the errors of large samples, rounded up; the long tier tries all floats and 10^8 doubles.
template <class F>
std::vector<MathFunction<F>> functions(std::vector<Range> x, double cbrt_bound, double rsqrt_bound) {
  return {unary<F>(
              named<F>("cbrt"), cbrt_bound, [](F v) { return math::cbrt(v); },
              [](auto v) { return std::cbrt(v); }, mpfr_cbrt, x),
          unary<F>(
              named<F>("rsqrt"), rsqrt_bound, [](F v) { return math::rsqrt(v); },
              [](auto v) { return 1 / std::sqrt(v); }, reciprocal_root, x)};
}
template <class F>
MathFunction<F> hypot_function(double bound, std::vector<Range> ranges) {
  return binary<F>(
      named<F>("hypot"), bound, [](F x, F y) { return math::hypot(x, y); },
      [](auto x, auto y) { return std::hypot(x, y); }, mpfr_hypot, ranges, ranges);
}

std::vector<MathFunction<float>> of_float() {
  return functions<float>({{-1, 8}, {1e-44, largest_float, true}}, 0.54, 0.516);
}
std::vector<MathFunction<double>> of_double() {
  return functions<double>({{-1, 8}, {1e-320, largest, true}}, 0.501, 0.501);
}
const MathFunction<float> hypot_of_float =
    hypot_function<float>(0.76, {{-2, 2}, {1e-44, largest_float, true}, {-1e-44, -1e-36, true}});
const MathFunction<double> hypot_of_double =
    hypot_function<double>(0.76, {{-2, 2}, {1e-320, largest, true}, {-1e-320, -1e-306, true}});

/// Infinite beside a NaN, too; and no triangle of whole sides so small or so large that it is not right.
template <class F>
void check_extremes() {
  using Limits = std::numeric_limits<F>;
  constexpr F infinity = Limits::infinity(), nan = Limits::quiet_NaN(), smallest = Limits::denorm_min();
  for (const F sign : {F(1), F(-1)}) {
    CHECK(math::hypot(sign * infinity, nan) == infinity);
    CHECK(math::hypot(nan, sign * infinity) == infinity);
    CHECK(math::hypot(sign * infinity, F(1)) == infinity);
    CHECK(same_bits(math::hypot(sign * F(0), F(-0.0)), F(0)));
  }
  for (const F x : {F(0), smallest, F(1), Limits::max()}) {
    CHECK(std::isnan(math::hypot(x, nan)));
    CHECK(std::isnan(math::hypot(nan, x)));
    CHECK(math::hypot(x, F(0)) == x);
  }
  CHECK(math::hypot(Limits::max(), Limits::max()) == infinity);
  CHECK(math::hypot(3 * smallest, 4 * smallest) == 5 * smallest);
}

/// At pairs of special numbers, and where the fast path begins and ends.
template <class F>
void check_fast_pairs(const MathFunction<F>& f) {
  int held = 0;
  int differing = 0;
  const auto check = [&](F x, F y) {
    const math::Fast<F> fast = math::hypot_fast(x, y);
    held += fast.holds;
    differing += fast.holds && !same_bits(fast.value, math::hypot_full(x, y));
  };
  for (const F x : special_numbers<F>()) {
    for (const F y : special_numbers<F>()) {
      if (!std::isnan(x) && !std::isnan(y)) check(x, y);
    }
  }
  Draw draw(11);
  const auto small_and_large = sizeof(F) == 4 ? Range{0x1p-42, 0x1p62, true} : Range{0x1p-302, 0x1p502, true};
  for (int i = 0; i < 100'000; ++i) {
    check(draw.number<F>(f.x[0]), draw.number<F>(f.x[0]));
    check(draw.number<F>(small_and_large), draw.number<F>(small_and_large));
  }
  CHECK(held > 150'000);
  CHECK(differing == 0);
}

}  // namespace

TEST_CASE("roots stay below 1 ulp") {
  for (const auto& f : of_float()) check_sample(f);
  for (const auto& f : of_double()) check_sample(f);
}

TEST_CASE("hypot stays below 1 ulp") {
  check_sample(hypot_of_float);
  check_sample(hypot_of_double);
}

TEST_CASE("whole triangles have whole hypotenuses") {
  CHECK(math::hypot(3.0F, -4.0F) == 5);
  CHECK(math::hypot(0x3p-500, 0x4p-500) == 0x5p-500);
  CHECK(math::hypot(0x3p1000, 0x4p1000) == 0x5p1000);
  CHECK(math::cbrt(-27.0F) == -3);
  CHECK(math::cbrt(0x1bp-1074) == 0x3p-358);
}

TEST_CASE("hypot of what is no number, infinite, zero or extreme") {
  check_extremes<float>();
  check_extremes<double>();
}

TEST_CASE("the fast path of hypot gives the bits of the full one") {
  check_fast_pairs(hypot_of_float);
  check_fast_pairs(hypot_of_double);
}

TEST_CASE("roots of every float", "[.long]") {
  for (const auto& f : of_float()) check_whole(f);
}
TEST_CASE("roots of many doubles", "[.long]") {
  for (const auto& f : of_double()) check_whole(f);
}
TEST_CASE("hypot of many numbers", "[.long]") {
  check_whole(hypot_of_float);
  check_whole(hypot_of_double);
}

}  // namespace anabranch::test
