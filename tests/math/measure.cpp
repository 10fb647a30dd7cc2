#include "math/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>

namespace anabranch::test {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t block_size = 4096;

template <class F>
using BitsOf = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;

/// A number of 192 bits.
class Number {
 public:
  Number() { mpfr_init2(value_, 192); }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};

/// The exponent of the last place of a number of this exponent.
template <class F>
int last_place(int exponent) {
  using Limits = std::numeric_limits<F>;
  return std::clamp(exponent, Limits::min_exponent - 1, Limits::max_exponent - 1) - (Limits::digits - 1);
}

/// The error as the wider type shows it; no number or an infinity where it cannot show it. Without branches.
double near_error(float got, double want) {
  const auto bits = std::bit_cast<std::int64_t>(want);
  const std::int64_t exponent = std::min<std::int64_t>((bits >> 52) & 0x7ff, 1023 + 127);
  const std::int64_t scale = 2 * 1023 + 23 - std::max<std::int64_t>(exponent, 1023 - 126);
  const double other_sign = (bits < 0) != std::signbit(got) ? infinite : 0;
  return std::abs(got - want) * std::bit_cast<double>(scale << 52) + other_sign;
}
double near_error(double got, long double want) {
  if (!std::isfinite(want) || want == 0 || std::signbit(got) != std::signbit(want)) return infinite;
  return static_cast<double>(std::ldexp(std::abs(got - want), -last_place<double>(std::ilogb(want))));
}

/// Whether both are NaN, or the same infinity or zero, or both beyond the largest number.
template <class F>
bool agrees(F got, typename MathFunction<F>::Wide want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::signbit(want) != std::signbit(got)) return false;
  const bool beyond = std::isinf(want) || std::ilogb(want) >= std::numeric_limits<F>::max_exponent;
  return want == got || (std::isinf(got) && want != 0 && beyond);
}

template <class F>
Measured<F> worse(const Measured<F>& a, const Measured<F>& b) {
  Measured<F> out = b.ulp > a.ulp ? b : a;
  out.count = a.count + b.count;
  return out;
}

/// Errors that differ from the largest by less than this are decided by MPFR: more than 8 ulp of the wider
/// type.
template <class F>
constexpr double margin = sizeof(F) == 4 ? 0x1p-24 : 0x1p-8;

/// Less than this is not told apart.
constexpr double unremarkable = 0.25;

template <class F>
void measure_block(const MathFunction<F>& f, const F* x, const F* y, std::size_t n, Measured<F>& worst) {
  std::array<F, block_size> out;
  std::array<typename MathFunction<F>::Wide, block_size> wide;
  std::array<double, block_size> errors;
  f.run(x, y, out.data(), n);
  f.near(x, y, wide.data(), n);
  for (std::size_t i = 0; i < n; ++i) errors[i] = near_error(out[i], wide[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (errors[i] <= std::max(worst.ulp - margin<F>, unremarkable)) continue;
    if (!(errors[i] < infinite) && agrees(out[i], wide[i])) continue;
    const double error = ulp_error(f, x[i], y[i], out[i]);
    if (error > worst.ulp) worst = {error, x[i], y[i], worst.count};
  }
  worst.count += n;
}

/// fill(block, x, y) gives the arguments of one block.
template <class F, class Fill>
Measured<F> measure_blocks(const MathFunction<F>& f, std::uint64_t blocks, const Fill& fill) {
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  Measured<F> all;
  const auto work = [&] {
    std::vector<F> x(block_size);
    std::vector<F> y(block_size);
    Measured<F> worst;
    for (std::uint64_t block = next++; block < blocks; block = next++) {
      fill(block, x.data(), y.data());
      measure_block(f, x.data(), y.data(), block_size, worst);
    }
    mpfr_free_cache();
    const std::lock_guard lock(mutex);
    all = worse(all, worst);
  };
  std::vector<std::jthread> threads(std::max(1U, std::thread::hardware_concurrency()) - 1);
  for (std::jthread& thread : threads) thread = std::jthread(work);
  work();
  threads.clear();
  return all;
}

template <class F>
std::vector<F> make_special_numbers() {
  using Limits = std::numeric_limits<F>;
  std::vector<F> out = {0,
                        1,
                        2,
                        3,
                        4,
                        5,
                        10,
                        100,
                        F(0.5),
                        F(1.5),
                        F(0.25),
                        F(1e5),
                        Limits::denorm_min(),
                        Limits::min(),
                        Limits::max(),
                        Limits::epsilon(),
                        F(1) / Limits::epsilon(),
                        F(2) / Limits::epsilon(),
                        F(4) / Limits::epsilon(),
                        F(M_PI),
                        F(M_PI_2),
                        F(M_LN2),
                        F(M_E)};
  const std::size_t roots = out.size();
  for (std::size_t i = 0; i < roots; ++i) {
    if (out[i] != 0) out.push_back(std::nextafter(out[i], F(0)));
    out.push_back(std::nextafter(out[i], Limits::infinity()));
  }
  out.push_back(Limits::infinity());
  const std::size_t positive = out.size();
  for (std::size_t i = 0; i < positive; ++i) out.push_back(-out[i]);
  out.push_back(Limits::quiet_NaN());
  return out;
}

}  // namespace

template <class F>
double ulp_error(const MathFunction<F>& f, F x, F y, F got) {
  static thread_local Number x_number;
  static thread_local Number y_number;
  static thread_local Number want;
  static thread_local Number distance;
  mpfr_set_d(x_number, x, MPFR_RNDN);
  mpfr_set_d(y_number, y, MPFR_RNDN);
  f.exact(want, x_number, y_number);
  if (std::isnan(got) || mpfr_nan_p(want)) return std::isnan(got) && mpfr_nan_p(want) ? 0 : infinite;
  if (std::signbit(got) != (mpfr_signbit(want) != 0)) return infinite;
  if (mpfr_zero_p(want)) return got == 0 ? 0 : infinite;
  if (mpfr_inf_p(want)) return std::isinf(got) ? 0 : infinite;
  const auto exponent = mpfr_get_exp(want) - 1;
  constexpr int beyond = std::numeric_limits<F>::max_exponent;
  if (std::isinf(got)) {
    if (exponent >= beyond) return 0;
    mpfr_set_si_2exp(distance, got > 0 ? 1 : -1, beyond, MPFR_RNDN);
  } else {
    mpfr_set_d(distance, got, MPFR_RNDN);
  }
  mpfr_sub(distance, distance, want, MPFR_RNDN);
  const int unit = last_place<F>(static_cast<int>(std::clamp<mpfr_exp_t>(exponent, -9999, 9999)));
  mpfr_mul_2si(distance, distance, -unit, MPFR_RNDN);
  return std::abs(mpfr_get_d(distance, MPFR_RNDN));
}

template <class F>
std::string Measured<F>::text() const {
  return fmt::format("{:.4f} ulp at {:a}, {:a} among {}", ulp, x, y, count);
}

template <class F>
const std::vector<F>& special_numbers() {
  static const std::vector<F> numbers = make_special_numbers<F>();
  return numbers;
}

template <class F>
Measured<F> measure_at(const MathFunction<F>& f, const std::vector<F>& x, const std::vector<F>& y) {
  Measured<F> worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const F second = y.empty() ? F(0) : y[i];
    F out = 0;
    f.run(&x[i], &second, &out, 1);
    const double error = ulp_error(f, x[i], second, out);
    if (error > worst.ulp) worst = {error, x[i], second, 0};
    ++worst.count;
  }
  return worst;
}

template <class F>
Measured<F> measure_specials(const MathFunction<F>& f) {
  const std::vector<F>& numbers = special_numbers<F>();
  if (f.y.empty()) return measure_at(f, numbers);
  std::vector<F> x;
  std::vector<F> y;
  for (const F first : numbers) {
    for (const F second : numbers) {
      x.push_back(first);
      y.push_back(second);
    }
  }
  return measure_at(f, x, y);
}

template <class F>
Measured<F> measure_drawn(const MathFunction<F>& f, std::uint64_t count) {
  const std::vector<Range> one = {{0, 0}};
  const std::uint64_t parts = f.x.size() * (f.y.empty() ? 1 : f.y.size());
  const std::uint64_t blocks = count / (parts * block_size) + 1;
  Measured<F> worst;
  for (const Range& x_range : f.x) {
    for (const Range& y_range : f.y.empty() ? one : f.y) {
      worst = worse(worst, measure_blocks<F>(f, blocks, [&](std::uint64_t block, F* x, F* y) {
                      Draw draw(Draw(block).bits());  // sequences that do not overlap
                      for (std::size_t i = 0; i < block_size; ++i) {
                        x[i] = draw.number<F>(x_range);
                        y[i] = f.y.empty() ? F(0) : draw.number<F>(y_range);
                      }
                    }));
    }
  }
  return worst;
}

Measured<float> measure_all(const MathFunction<float>& f) {
  return measure_blocks<float>(
      f, (std::uint64_t{1} << 32) / block_size, [](std::uint64_t block, float* x, float* y) {
        for (std::size_t i = 0; i < block_size; ++i) {
          x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(block * block_size + i));
          y[i] = 0;
        }
      });
}

std::uint64_t Draw::bits() {  // splitmix64
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

template <class F>
F Draw::number(const Range& range) {
  if (!range.spread)
    return static_cast<F>(range.low + (range.high - range.low) * 0x1p-53 * double(bits() >> 11));
  const auto a = std::bit_cast<BitsOf<F>>(static_cast<F>(range.low));
  const auto b = std::bit_cast<BitsOf<F>>(static_cast<F>(range.high));
  const std::uint64_t first = std::min(a, b);
  const std::uint64_t last = std::max(a, b);
  return std::bit_cast<F>(static_cast<BitsOf<F>>(first + bits() % (last - first + 1)));
}

template float Draw::number<float>(const Range&);
template double Draw::number<double>(const Range&);
template double ulp_error(const MathFunction<float>&, float, float, float);
template double ulp_error(const MathFunction<double>&, double, double, double);
template struct Measured<float>;
template struct Measured<double>;
template const std::vector<float>& special_numbers();
template const std::vector<double>& special_numbers();
template Measured<float> measure_at(const MathFunction<float>&, const std::vector<float>&,
                                    const std::vector<float>&);
template Measured<double> measure_at(const MathFunction<double>&, const std::vector<double>&,
                                     const std::vector<double>&);
template Measured<float> measure_specials(const MathFunction<float>&);
template Measured<double> measure_specials(const MathFunction<double>&);
template Measured<float> measure_drawn(const MathFunction<float>&, std::uint64_t);
template Measured<double> measure_drawn(const MathFunction<double>&, std::uint64_t);

}  // namespace anabranch::test
