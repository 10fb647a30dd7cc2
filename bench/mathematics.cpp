#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "support/contest.h"
#include "support/mathematics_peers.h"
#include "support/matrices.h"

/// Mathematical functions beside glibc's libmvec, which is as fast as it gets: its errors reach 4 ulp. One thread,
/// data in a cache.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

constexpr std::int64_t n = 200'000;
constexpr int calls = 10;

template <class T>
bool near(const Vector<T>& got, const Buffer<T>& expected) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T e = expected[static_cast<std::size_t>(i)];
    if (std::abs(got[i] - e) > 64 * std::numeric_limits<T>::epsilon() * (1 + std::abs(e))) return false;
  }
  return true;
}

/// Numbers from `low` to `high`.
template <class T>
Vector<T> between(T low, T high, std::uint64_t seed) {
  Buffer<T> x = random_numbers<T>(n, seed);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = low + (high - low) * std::abs(x[i]);
  return Vector<T>::view(Index<1>{{n}}, x.data()).copy();
}

/// `function` of two numbers, the first times 1, 0.75, 0.5 and 0.25: the first from `least` to `most`, the second from
/// 1 to 2.
template <class T, class F>
void add_function(const std::string& name, F function, T least, T most) {
  add_contest(fmt::format("mathematics/{}_{}", name, std::is_same_v<T, float> ? "f32" : "f64"), [=] {
    const auto xs = between<T>(least, most, 1), ys = between<T>(1, 2, 2);
    const auto expected = std::make_shared<Buffer<T>>(static_cast<std::size_t>(n));
    const MathLoop<T> loop = math_loop<T>(name);
    loop(xs.data(), ys.data(), expected->data(), n);
    const auto program = compile<Vector<T>, Vector<T>>([=](const auto& first, const auto& second) {
      return zip_with(
          [=](auto x, auto y) {
            return function(x, y) + function(T(0.75) * x, y) + function(T(0.5) * x, y) +
                   function(T(0.25) * x, y);
          },
          first, second);
    });
    const auto result = std::make_shared<Vector<T>>(Index<1>{{n}});
    Contest contest;
    contest.unit = "G/s";
    contest.amount = 4.0 * n;
    contest.note = fmt::format("{} to {}", least, most);
    contest.contenders.push_back({"anabranch", Role::library, 1,
                                  [=] { program.run_into(*result, {.threads = 1}, xs, ys); },
                                  [=] { return near(*result, *expected); }, calls});
    contest.contenders.push_back(
        {"libmvec", Role::peer, 1, [=] { loop(xs.data(), ys.data(), expected->data(), n); }, {}, calls});
    return contest;
  });
}

constexpr float rate = 0.02F, volatility = 0.3F;

/// The distribution function of the normal distribution (Abramowitz and Stegun 26.2.17).
Exp<float> normal(const Exp<float>& x) {
  const auto k = 1 / (1 + 0.2316419F * abs(x));
  const auto polynomial =
      k * (0.31938153F + k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
  const auto tail = 0.3989422804F * exp(-0.5F * x * x) * polynomial;
  return cond(x > 0, 1 - tail, tail);
}

/// Prices of options: a logarithm, three exponentials, a root and three quotients for each.
void add_black_scholes() {
  add_contest("mathematics/black_scholes", [] {
    const auto spots = between<float>(5, 30, 1), strikes = between<float>(1, 100, 2);
    const auto years = between<float>(0.25F, 10, 3);
    const auto expected = std::make_shared<Buffer<float>>(static_cast<std::size_t>(n));
    const auto loop = [=] {
      black_scholes_loop(spots.data(), strikes.data(), years.data(), expected->data(), n, rate, volatility);
    };
    loop();
    const auto program = compile<Vector<float>, Vector<float>, Vector<float>>(
        [](const auto& spot, const auto& strike, const auto& year) {
          return zip_with(
              [=](auto s, auto k, auto t) {
                const auto deviation = volatility * sqrt(t);
                const auto d1 = (log(s / k) + (rate + 0.5F * volatility * volatility) * t) / deviation;
                return s * normal(d1) - k * exp(-rate * t) * normal(d1 - deviation);
              },
              spot, strike, year);
        });
    const auto result = std::make_shared<Vector<float>>(Index<1>{{n}});
    Contest contest;
    contest.unit = "G options/s";
    contest.amount = n;
    contest.note = "the loop: -ffast-math, libmvec; by hand: AVX-512 intrinsics, no call";
    contest.contenders.push_back({"anabranch", Role::library, 1,
                                  [=] { program.run_into(*result, {.threads = 1}, spots, strikes, years); },
                                  [=] { return near(*result, *expected); }, calls});
    contest.contenders.push_back({"loop", Role::peer, 1, loop, {}, calls});
    const auto by_hand = std::make_shared<Buffer<float>>(static_cast<std::size_t>(n));
    const auto intrinsics = [=] {
      return black_scholes_intrinsics(spots.data(), strikes.data(), years.data(), by_hand->data(), n, rate,
                                      volatility);
    };
    if (intrinsics())
      contest.contenders.push_back(
          {"by hand", Role::peer, 1, [=] { intrinsics(); },
           [=] { return near(Vector<float>::view(Index<1>{{n}}, by_hand->data()), *expected); }, calls});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
#define ANABRANCH_BOTH(name, least, most)                                                      \
  add_function<float>(#name, [](auto x, auto) { return name(x); }, float(least), float(most)); \
  add_function<double>(#name, [](auto x, auto) { return name(x); }, double(least), double(most));
  ANABRANCH_BOTH(exp, 0, 20)
  ANABRANCH_BOTH(log, 0.01, 100)
  ANABRANCH_BOTH(sin, 0, 100)
  ANABRANCH_BOTH(cos, 0, 100)
  ANABRANCH_BOTH(tan, 0, 100)
  ANABRANCH_BOTH(tanh, 0, 4)
  ANABRANCH_BOTH(exp2, 0, 20)
  ANABRANCH_BOTH(log2, 0.01, 100)
  ANABRANCH_BOTH(log10, 0.01, 100)
  ANABRANCH_BOTH(asin, 0, 1)
  ANABRANCH_BOTH(acos, 0, 1)
  ANABRANCH_BOTH(atan, 0, 10)
  ANABRANCH_BOTH(sinh, 0, 10)
  ANABRANCH_BOTH(cosh, 0, 10)
  ANABRANCH_BOTH(asinh, 0, 10)
  ANABRANCH_BOTH(acosh, 4, 10)
  ANABRANCH_BOTH(atanh, 0, 0.9)
  ANABRANCH_BOTH(erf, 0, 3)
  ANABRANCH_BOTH(cbrt, 0, 100)
#define ANABRANCH_BOTH_OF_TWO(name, least, most)                                                    \
  add_function<float>(#name, [](auto x, auto y) { return name(x, y); }, float(least), float(most)); \
  add_function<double>(#name, [](auto x, auto y) { return name(x, y); }, double(least), double(most));
  ANABRANCH_BOTH_OF_TWO(pow, 0.01, 100)
  ANABRANCH_BOTH_OF_TWO(atan2, 0, 10)
  ANABRANCH_BOTH_OF_TWO(hypot, 0, 10)
  add_black_scholes();
  return run_all(argc, argv);
}
