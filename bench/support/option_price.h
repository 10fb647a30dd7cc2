#pragma once

#include <cmath>

namespace anabranch::bench {

/// The price of a call by the formula of Black and Scholes, the normal distribution by a polynomial. Each file that includes it
/// compiles it for itself, as their compilers' options differ.
static inline float option_price(float spot, float strike, float years, float rate, float volatility) {
  const auto normal = [](float x) {
    const float k = 1.0F / (1.0F + 0.2316419F * std::fabs(x));
    const float polynomial =
        k * (0.31938153F + k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
    const float tail = 0.3989422804F * std::exp(-0.5F * x * x) * polynomial;
    return x > 0 ? 1.0F - tail : tail;
  };
  const float deviation = volatility * std::sqrt(years);
  const float d1 = (std::log(spot / strike) + (rate + 0.5F * volatility * volatility) * years) / deviation;
  const float d2 = d1 - deviation;
  return spot * normal(d1) - strike * std::exp(-rate * years) * normal(d2);
}

}  // namespace anabranch::bench
