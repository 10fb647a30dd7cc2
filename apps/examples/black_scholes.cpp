#include "black_scholes.h"

#include "example.h"

namespace {

/// The formula itself, with the error function of the C library.
double price(double spot, double strike, double years) {
  using namespace anabranch::examples;
  const double rate = riskless_rate, deviation = volatility * std::sqrt(years);
  const auto normal = [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); };
  const double d1 = (std::log(spot / strike) + rate * years) / deviation + 0.5 * deviation;
  return spot * normal(d1) - strike * std::exp(-rate * years) * normal(d1 - deviation);
}

}  // namespace

/// black_scholes [OPTIONS]
int main(int argc, char** argv) try {
  using namespace anabranch;
  using namespace anabranch::examples;
  const std::int64_t n = size_from(argc, argv, 10'000);
  Numbers numbers;
  const Vector<float> spots = numbers.vector(n, 5, 30), strikes = numbers.vector(n, 1, 100),
                      years = numbers.vector(n, 0.25F, 10);
  const Vector<float> prices = run(black_scholes(use(spots), use(strikes), use(years)));

  bool right = prices.size() == n;
  for (std::int64_t i = 0; right && i < n; ++i)
    right = close(prices[i], price(spots[i], strikes[i], years[i]), 1e-4);
  for (std::int64_t i = 0; i < n && i < 3; ++i)
    std::printf("now %.2f, for %.2f in %.2f years: %.4f\n", spots[i], strikes[i], years[i], prices[i]);
  return verdict(right);
} catch (const anabranch::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
