#pragma once

/// The error of a mathematical function, in units in the last place of the exact value.
///
/// Every value is first compared with the host's routine of the next wider type. Where the error that this
/// shows could be the largest so far, MPFR gives the error that counts.

#include <mpfr.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace anabranch::test {

/// Arguments are drawn uniformly between two numbers, or, `spread`, uniformly among the numbers there that
/// the type has (both bounds then have the same sign).
struct Range {
  double low;
  double high;
  bool spread = false;
};

/// A function with the routines it is compared with. One of one argument ignores y.
template <class F>
struct MathFunction {
  using Wide = std::conditional_t<std::is_same_v<F, float>, double, long double>;

  std::string name;
  double bound;  ///< what no error may exceed, in ulp
  std::function<void(const F* x, const F* y, F* out, std::size_t n)> run;
  std::function<void(const F* x, const F* y, Wide* out, std::size_t n)> near;  ///< within 8 ulp of Wide
  std::function<void(mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y)> exact;
  std::vector<Range> x;
  std::vector<Range> y = {};
};

/// unary<float>("exp", 0.9, [](auto x) { return math::exp(x); }, [](auto x) { return std::exp(x); },
/// mpfr_exp, ranges)
template <class F, class Recipe, class Near, class Exact>
MathFunction<F> unary(std::string name, double bound, Recipe recipe, Near near, Exact exact,
                      std::vector<Range> range) {
  using Wide = typename MathFunction<F>::Wide;
  return {std::move(name),
          bound,
          [recipe](const F* x, const F*, F* out, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) out[i] = recipe(x[i]);
          },
          [near](const F* x, const F*, Wide* out, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) out[i] = near(static_cast<Wide>(x[i]));
          },
          [exact](mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr) { exact(out, x, MPFR_RNDN); },
          std::move(range)};
}

template <class F, class Recipe, class Near, class Exact>
MathFunction<F> binary(std::string name, double bound, Recipe recipe, Near near, Exact exact,
                       std::vector<Range> first, std::vector<Range> second) {
  using Wide = typename MathFunction<F>::Wide;
  return {std::move(name),
          bound,
          [recipe](const F* x, const F* y, F* out, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) out[i] = recipe(x[i], y[i]);
          },
          [near](const F* x, const F* y, Wide* out, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i)
              out[i] = near(static_cast<Wide>(x[i]), static_cast<Wide>(y[i]));
          },
          [exact](mpfr_ptr out, mpfr_srcptr x, mpfr_srcptr y) { exact(out, x, y, MPFR_RNDN); },
          std::move(first),
          std::move(second)};
}

/// The error of `got`, infinite where it is a NaN, an infinity or a zero (also one of the other sign) and
/// the exact value does not round to it. An infinity counts as the power of two after the largest number.
template <class F>
double ulp_error(const MathFunction<F>& f, F x, F y, F got);

/// The largest error met, and where.
template <class F>
struct Measured {
  double ulp = 0;
  F x = 0;
  F y = 0;
  std::uint64_t count = 0;
  std::string text() const;
};

/// Zeros, infinities, NaN, 1, the borders of the denormals, small integers, halves, and their neighbours;
/// every pair of them for a function of two arguments.
template <class F>
Measured<F> measure_specials(const MathFunction<F>& f);
/// At these arguments exactly.
template <class F>
Measured<F> measure_at(const MathFunction<F>& f, const std::vector<F>& x, const std::vector<F>& y = {});
/// `count` arguments drawn from all ranges (pairs of ranges) together, the same in every run.
template <class F>
Measured<F> measure_drawn(const MathFunction<F>& f, std::uint64_t count);
/// All 2^32 arguments.
Measured<float> measure_all(const MathFunction<float>& f);

/// The numbers of `measure_specials`.
template <class F>
const std::vector<F>& special_numbers();

/// Draws from a range; the same sequence in every run.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  template <class F>
  F number(const Range& range);

 private:
  std::uint64_t state_;
};

}  // namespace anabranch::test
