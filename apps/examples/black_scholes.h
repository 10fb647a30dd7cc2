#pragma once

#include <anabranch/anabranch.h>

/// Prices of European call options by the formula of Black and Scholes.
namespace anabranch::examples {

constexpr float riskless_rate = 0.02F, volatility = 0.3F;

/// The cumulative normal distribution, by a polynomial (Hull).
inline Exp<float> cumulative_normal(const Exp<float>& x) {
  const auto k = 1.0F / (1.0F + 0.2316419F * abs(x));
  const auto polynomial =
      k * (0.31938153F + k * (-0.356563782F + k * (1.781477937F + k * (-1.821255978F + k * 1.330274429F))));
  const auto tail = 0.3989422804F * exp(-0.5F * x * x) * polynomial;
  return cond(x > 0.0F, 1.0F - tail, tail);
}

/// Of each option: the price of the share now, the price agreed on, the years until then.
inline Acc<Vector<float>> black_scholes(const Acc<Vector<float>>& spots, const Acc<Vector<float>>& strikes,
                                        const Acc<Vector<float>>& years) {
  return zip_with(
      [](auto spot, auto strike, auto time) {
        const auto deviation = volatility * sqrt(time);
        const auto d1 =
            (log(spot / strike) + (riskless_rate + 0.5F * volatility * volatility) * time) / deviation;
        const auto d2 = d1 - deviation;
        return spot * cumulative_normal(d1) - strike * exp(-riskless_rate * time) * cumulative_normal(d2);
      },
      spots, strikes, years);
}

}  // namespace anabranch::examples
