#include "apps/audio/program.h"

#include <limits>
#include <numbers>

#include "apps/audio/fft.h"

// Expressions are handles, which are copied as numbers are.
// NOLINTBEGIN(performance-unnecessary-value-param)
namespace anabranch::apps {

namespace {

using Number = Exp<std::int64_t>;

constexpr float tiny = std::numeric_limits<float>::min();

// ---- Of samples -------------------------------------------------------------------------------------------

Value rms(const Samples& x) {
  const auto power = mean(map([](auto v) { return v * v; }, x));
  return map([](auto p) { return sqrt(p); }, power);
}

/// How many of the neighbours in a window differ in sign, where `counts(i)` says that those at i - 1 and i do count.
template <class F>
Value crossings(const Samples& x, F counts) {
  const auto negative = [](auto v) { return v < -1e-10F; };
  const auto changes = generate(size(x), [=](auto i) {
    const auto differ = negative(x[i]) != negative(x[max(i - 1, Number(0))]);
    return cond(i > 0 && counts(i) && differ, std::int32_t{1}, std::int32_t{0});
  });
  return map([=](auto n) { return cast<float>(n) / cast<float>(size(x)); },
             fold(plus, std::int32_t{0}, changes));
}

/// Element `lag` is the sum of x[i] x[i + lag].
Samples autocorrelation(const Samples& x, std::int64_t lags) {
  const Number n = size(x);
  return sum(generate(make<Index<2>>(Number(lags), n), [=](auto at) {
    const Number lag = at[0], i = at[1];
    return cond(i + lag < n, x[i] * x[min(i + lag, n - 1)], 0.0F);
  }));
}

/// Burg's method: of the errors of prediction forwards and backwards that of order m + 1 is made, and its reflection coefficient,
/// of those of order m. Their energy is summed each time: Marple's (1980) recurrence, which makes it of the one before, cancels in
/// floats where a signal can be predicted well, as tones can, and what is left may be anything. Of sums of the same numbers no
/// coefficient is larger than 1.
Samples prediction(const Samples& x, std::int64_t order) {
  const auto sum_of_squares = [](auto f, auto b) { return f * f + b * b; };
  Samples forwards = tail(x), backwards = init(x);
  Samples coefficients = generate(order + 1, [](auto i) { return cond(i == 0, 1.0F, 0.0F); });
  for (std::int64_t m = 0; m < order; ++m) {
    const Value energy = sum(zip_with(sum_of_squares, forwards, backwards));
    const Value reflection = zip_with([](auto both, auto all) { return both * -2 / (all + tiny); },
                                      sum(zip_with(times, backwards, forwards)), energy);
    const auto with = [=](auto own, auto other) { return own + the(reflection) * other; };
    coefficients = generate(order + 1, [=, before = coefficients](auto j) {
      const Number mirrored = m + 1 - j;
      return cond(j >= 1 && mirrored >= 0, with(before[j], before[max(mirrored, Number(0))]), before[j]);
    });
    const Samples f = zip_with(with, forwards, backwards), b = zip_with(with, backwards, forwards);
    forwards = tail(f);
    backwards = init(b);
  }
  return coefficients;
}

// ---- Of spectra -------------------------------------------------------------------------------------------

/// A piece of any length up to n in the middle of n samples, under a window of its length.
Samples centred(const Samples& x, std::int64_t n, const std::array<float, 3>& c) {
  const Number length = size(x), before = (n - length) / 2;
  const Exp<float> step = static_cast<float>(2 * std::numbers::pi) / cast<float>(length);
  return generate(n, [=](auto i) {
    const Number at = min(max(i - before, Number(0)), length - 1);
    const Exp<float> t = step * cast<float>(at);
    const Exp<float> weight = cond(length > 1, c[0] - c[1] * cos(t) + c[2] * cos(2 * t), 1.0F);
    return cond(i >= before && i < before + length, x[at] * weight, 0.0F);
  });
}

Samples magnitudes(const Samples& power) {
  return map([](auto p) { return sqrt(p); }, power);
}

Value centroid(const Samples& magnitude, const Exp<float>& bin) {
  const auto moments = imap([](auto at, auto s) { return cast<float>(at[0]) * s; }, magnitude);
  return zip_with([=](auto moment, auto all) { return cond(all >= tiny, moment / all, 0.0F) * bin; },
                  sum(moments), sum(magnitude));
}

/// The frequency up to which there is 85 % of the sum; no number where the sum is none.
Value rolloff(const Samples& magnitude, const Exp<float>& bin) {
  const auto sums = scanl1(plus, magnitude);
  const auto all = sums[size(sums) - 1];
  const auto enough = 0.85F * all;
  const auto below = map([=](auto s) { return cond(s < enough, std::int32_t{1}, std::int32_t{0}); }, sums);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
  return map([=](auto n) { return cond(all < infinity, cast<float>(n) * bin, no_number); },
             fold(plus, std::int32_t{0}, below));
}

/// The geometric mean over the arithmetic one.
Value flatness(const Samples& power) {
  const auto floored = map([](auto p) { return max(p, 1e-10F); }, power);
  const auto logarithms = map([](auto p) { return log(p); }, floored);
  return zip_with([](auto l, auto m) { return exp(l) / m; }, mean(logarithms), mean(floored));
}

Samples mel(const Samples& power, const Acc<Vector<std::int64_t>>& begins,
            const Acc<Matrix<float>>& weights) {
  return sum(imap([=](auto at, auto weight) { return weight * power[begins[at[0]] + at[1]]; }, weights));
}

Samples decibels(const Samples& power) {
  return map([](auto p) { return 10 * log10(max(p, 1e-10F)); }, power);
}

}  // namespace

bool is_spectral(Feature feature) {
  switch (feature) {
    case Feature::mean:
    case Feature::rms:
    case Feature::zero_crossing_rate:
    case Feature::autocorrelation:
    case Feature::lpc:
      return false;
    case Feature::spectral_centroid:
    case Feature::spectral_rolloff:
    case Feature::spectral_flatness:
    case Feature::melspectrogram:
    case Feature::mfcc:
      return true;
  }
  return true;
}

// ---- Of streams -------------------------------------------------------------------------------------------

Windows frames(const Seq<Vector<float>>& blocks, const SignalFacts& facts, const FeatureOptions& options) {
  const std::int64_t length = options.frame_length, hop = options.hop_length;
  const std::int64_t padding = options.center ? length / 2 : 0;
  const Number padded = the(std::get<0>(facts)) + 2 * padding;
  const Number count = cond(padded < length, Number(0), (padded - length) / hop + 1);
  // Taken apart again after the join, so that all features are computed in one pass, also those of samples alone.
  const auto [samples, begins] = unzip_seq(
      zip_seq(windows(blocks, length, hop), produce(count, [=](auto k) { return unit(k * hop - padding); })));
  return {samples, begins};
}

FeatureSequences features(const std::vector<Feature>& wanted, const Windows& windows,
                          const SignalFacts& facts, const FeatureOptions& options) {
  const auto count = std::get<0>(facts);
  const auto rate = std::get<1>(facts);
  const auto begins = std::get<2>(facts);
  const auto weights = std::get<3>(facts);
  const std::int64_t n = options.frame_length;
  const Seq<Vector<float>>& samples = windows.samples;

  const Samples window = reshape(n, use(options.window));
  const auto spectrum = [&](const Samples& x) {
    if (windows.begins) return power_spectrum(n, [=](const Number& i) { return x[i] * window[i]; });
    return power_spectrum(n, [y = centred(x, n, options.cosines)](const Number& i) { return y[i]; });
  };
  // Made where a feature needs it, and once: transforms of their own have tables of their own, and are computed each.
  std::optional<Seq<Vector<float>>> made;
  const auto power = [&]() -> Seq<Vector<float>> {
    if (!made) made = map_seq(spectrum, samples);
    return *made;
  };
  const auto of_magnitudes = [&](auto f) {
    return map_seq([&](auto p) { return f(magnitudes(p)); }, power());
  };
  const auto bands = [&] { return map_seq([=](auto p) { return mel(p, begins, weights); }, power()); };
  const Exp<float> bin = the(rate) / static_cast<float>(n);  // Hz between neighbours

  FeatureSequences out;
  for (const Feature feature : wanted) {
    const auto value = [&](const Seq<Scalar<float>>& s) { out.values.emplace_back(feature, s); };
    const auto vector = [&](const Seq<Vector<float>>& s) { out.vectors.emplace_back(feature, s); };
    switch (feature) {
      case Feature::mean:
        value(map_seq([](auto x) { return mean(x); }, samples));
        break;
      case Feature::rms:
        value(map_seq(rms, samples));
        break;
      case Feature::zero_crossing_rate:
        // In the padding there are none, nor on its borders.
        if (windows.begins)
          value(zip_with_seq(
              [=](auto x, auto begin) {
                return crossings(x,
                                 [=](auto i) { return the(begin) + i > 0 && the(begin) + i < the(count); });
              },
              samples, *windows.begins));
        else
          value(map_seq([](auto x) { return crossings(x, [](auto) { return Exp<bool>(true); }); }, samples));
        break;
      case Feature::spectral_centroid:
        value(of_magnitudes([=](auto s) { return centroid(s, bin); }));
        break;
      case Feature::spectral_rolloff:
        value(of_magnitudes([=](auto s) { return rolloff(s, bin); }));
        break;
      case Feature::spectral_flatness:
        value(map_seq(flatness, power()));
        break;
      case Feature::autocorrelation:
        vector(map_seq([&](auto x) { return autocorrelation(x, options.max_size); }, samples));
        break;
      case Feature::lpc:
        vector(map_seq([&](auto x) { return prediction(x, options.lpc_order); }, samples));
        break;
      case Feature::melspectrogram:
        vector(bands());
        break;
      case Feature::mfcc:
        vector(map_seq(decibels, bands()));
        break;
    }
  }
  return out;
}

Acc<Scalar<float>> greatest(const Seq<Vector<float>>& vectors) {
  return consume(fold_seq(maximum_of, -std::numeric_limits<float>::infinity(),
                          map_seq([](auto v) { return maximum(v); }, vectors)));
}

Seq<Vector<float>> cepstrum(const Seq<Vector<float>>& decibels, const Acc<Scalar<float>>& greatest,
                            const Acc<Matrix<float>>& transform) {
  return map_seq(
      [=](auto spectrum) {
        return matmul(transform, map([=](auto v) { return max(v, the(greatest) - 80); }, spectrum));
      },
      decibels);
}

}  // namespace anabranch::apps
// NOLINTEND(performance-unnecessary-value-param)
