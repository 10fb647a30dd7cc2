#include "apps/audio/program.h"

#include <tuple>
#include <vector>

#include "recording.h"

// Windows of a signal, and the features of their samples, beside plain loops in double.
namespace anabranch::testing {
namespace {

using apps::Feature;

double product_sum(const Signal& x, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < x.size(); ++i) sum += static_cast<double>(x[i]) * x[i + lag];
  return sum;
}

double mean_by_hand(const Signal& x) {
  double sum = 0;
  for (const float v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

/// `begin`: the first sample's number in a signal of `samples`; no border of which counts.
float crossing_rate_by_hand(const Signal& x, std::int64_t begin, std::int64_t samples) {
  std::int32_t count = 0;
  for (std::int64_t i = 1; i < std::ssize(x); ++i) {
    const bool before = x[static_cast<std::size_t>(i - 1)] < -1e-10F;
    const bool here = x[static_cast<std::size_t>(i)] < -1e-10F;
    if (begin + i > 0 && begin + i < samples && before != here) ++count;
  }
  return static_cast<float>(count) / static_cast<float>(x.size());
}

/// Burg's method: the errors of prediction forwards and backwards of one order give those of the next.
Doubles prediction_by_hand(const Signal& x, std::size_t order) {
  Doubles forwards(x.begin() + 1, x.end()), backwards(x.begin(), x.end() - 1), out(order + 1);
  out[0] = 1;
  for (std::size_t m = 1; m <= order; ++m) {
    double both = 0, all = 0;
    for (std::size_t i = 0; i < forwards.size(); ++i) {
      both += forwards[i] * backwards[i];
      all += forwards[i] * forwards[i] + backwards[i] * backwards[i];
    }
    const double reflection = all > 0 ? -2 * both / all : 0;
    const Doubles before = out;
    for (std::size_t j = 1; j <= m; ++j) out[j] = before[j] + reflection * before[m - j];
    Doubles f, b;
    for (std::size_t i = 0; i < forwards.size(); ++i) {
      f.push_back(forwards[i] + reflection * backwards[i]);
      b.push_back(backwards[i] + reflection * forwards[i]);
    }
    forwards.assign(f.begin() + 1, f.end());
    backwards.assign(b.begin(), b.end() - 1);
  }
  return out;
}

/// Noise and a tone, silence for longer than a window, and numbers that are all but zero.
Signal varied_signal(std::int64_t samples) {
  Signal out = signal(samples, 2);
  for (std::size_t i = 60; i < 110; ++i) out[i] = 0;
  out[3] = 0;
  out[4] = -0.0F;
  out[5] = -5e-11F;
  out[6] = -2e-10F;
  return out;
}

}  // namespace

TEST_CASE("audio: windows, where they begin, and the padding") {
  struct Case {
    std::int64_t samples, length, hop;
    bool center;
    std::int64_t windows;
  };
  for (const auto& [samples, length, hop, center, windows] :
       {Case{0, 8, 4, true, 1}, Case{5, 8, 4, false, 0}, Case{8, 8, 3, false, 1}, Case{20, 8, 3, false, 5},
        Case{20, 8, 3, true, 7}, Case{21, 7, 2, true, 11}, Case{3, 8, 100, true, 1}}) {
    INFO(samples << " samples, windows of " << length << ", one every " << hop << ", centred " << center);
    const Recording recording{signal(samples, 1),
                              {.frame_length = length, .hop_length = hop, .center = center}};
    const apps::Windows frames = recording.frames(recording.facts());
    const auto [got, begins] =
        agree(std::tuple(consume(elements(frames.samples)), consume(elements(frames.begins.value()))));
    REQUIRE(begins.size() == windows);
    REQUIRE(std::ssize(recording.windows()) == windows);
    for (std::int64_t w = 0; w < windows; ++w) CHECK(begins[w] == w * hop - recording.padding());
    Signal expected;
    for (const Signal& window : recording.windows())
      expected.insert(expected.end(), window.begin(), window.end());
    require_same(got, Vector<float>(expected));
  }
}

TEST_CASE("audio: features of the samples of windows") {
  constexpr std::int64_t lags = 30;  // more than a window has
  const auto check = [&](const apps::FeatureOptions& options) {
    const Recording recording{varied_signal(300), options};
    const auto all = recording.features(
        {Feature::mean, Feature::rms, Feature::zero_crossing_rate, Feature::autocorrelation});
    const auto [means, rms, rates, correlations] =
        agree(std::tuple(values_of(all, 0), values_of(all, 1), values_of(all, 2), vectors_of(all, 0)));
    const auto windows = recording.windows();
    REQUIRE(means.size() == std::ssize(windows));
    REQUIRE(rms.size() == means.size());
    REQUIRE(rates.size() == means.size());
    REQUIRE(correlations.size() == lags * means.size());
    for (std::int64_t w = 0; w < means.size(); ++w) {
      INFO("window " << w);
      const Signal& x = windows[static_cast<std::size_t>(w)];
      const double energy = product_sum(x, 0), power = energy / static_cast<double>(x.size());
      CHECK(std::abs(means[w] - mean_by_hand(x)) <= 1e-6);
      CHECK(std::abs(rms[w] - std::sqrt(power)) <= 1e-6 * std::sqrt(power));
      CHECK(rates[w] == crossing_rate_by_hand(x, w * options.hop_length - recording.padding(), 300));
      for (std::int64_t lag = 0; lag < lags; ++lag)
        CHECK(std::abs(correlations[w * lags + lag] - product_sum(x, static_cast<std::size_t>(lag))) <=
              1e-6 * energy);
    }
  };
  check({.frame_length = 24, .hop_length = 10, .max_size = lags});
  check({.frame_length = 25, .hop_length = 40, .center = false, .max_size = lags});
}

namespace {

void check_prediction(std::int64_t order) {
  const Recording recording{varied_signal(300), {.frame_length = 40, .hop_length = 20, .lpc_order = order}};
  const Vector<float> got = agree(vectors_of(recording.features({Feature::lpc}), 0));
  Doubles expected;
  for (const Signal& x : recording.windows())
    for (const double coefficient : prediction_by_hand(x, static_cast<std::size_t>(order)))
      expected.push_back(coefficient);
  check_close(got, expected, 1e-5);
}

}  // namespace

TEST_CASE("audio: linear prediction") { check_prediction(2); }
TEST_CASE("audio: linear prediction of a higher order", "[once]") { check_prediction(8); }

TEST_CASE("audio: features of pieces of different lengths") {
  const Signal samples = varied_signal(300);
  std::vector<Vector<float>> pieces;
  std::vector<Signal> by_hand;
  std::int64_t at = 0;
  for (const std::int64_t length : {1, 2, 3, 40, 7, 33, 100}) {
    by_hand.emplace_back(samples.begin() + at, samples.begin() + at + length);
    pieces.emplace_back(by_hand.back());
    at += length;
  }
  const Recording recording{samples, {.max_size = 5}};
  const auto all = apps::features({Feature::mean, Feature::zero_crossing_rate, Feature::autocorrelation},
                                  {stream_in(pieces), {}}, recording.facts(), recording.options);
  const auto [means, rates, correlations] =
      agree(std::tuple(values_of(all, 0), values_of(all, 1), vectors_of(all, 0)));
  REQUIRE(means.size() == std::ssize(pieces));
  REQUIRE(rates.size() == means.size());
  REQUIRE(correlations.size() == 5 * means.size());
  for (std::size_t p = 0; p < by_hand.size(); ++p) {
    INFO("piece of " << by_hand[p].size());
    const auto w = static_cast<std::int64_t>(p);
    CHECK(std::abs(means[w] - mean_by_hand(by_hand[p])) <= 1e-6);
    CHECK(rates[w] == crossing_rate_by_hand(by_hand[p], 1, 1000));
    for (std::size_t lag = 0; lag < 5; ++lag)
      CHECK(std::abs(correlations[5 * w + static_cast<std::int64_t>(lag)] - product_sum(by_hand[p], lag)) <=
            1e-6 * product_sum(by_hand[p], 0));
  }
}

}  // namespace anabranch::testing
