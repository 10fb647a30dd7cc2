#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

#include "apps/audio/program.h"
#include "apps/audio/tables.h"
#include "support/contest.h"
#include "support/spectra_peers.h"

/// The program of `anabranch audio`, over samples in memory: rms, zero crossings, centroid, rolloff and flatness of spectra, mel
/// spectra of 128 bands; windows of 2048 samples, one every 512.
namespace {

using namespace anabranch;
using namespace anabranch::bench;
using namespace anabranch::apps;

constexpr std::int64_t length = 2048, hop = 512, mels = 128;
constexpr float rate = 44100;

struct Recording {
  std::vector<float> samples;
  std::vector<Vector<float>> blocks;  ///< of the same
  std::vector<float> window = window_weights("hann", length, length);
  MelFilters filters = mel_filters(rate, length, mels, 0, rate / 2);
  std::int64_t windows = 0;
};

std::shared_ptr<Recording> recording(std::int64_t windows) {
  auto out = std::make_shared<Recording>();
  out->windows = windows;
  std::mt19937_64 random(7);
  std::normal_distribution<float> noise(0, 0.05F);
  for (std::int64_t i = 0; i < (windows - 1) * hop + length; ++i)
    out->samples.push_back(
        0.5F * std::sin(1e-5F * static_cast<float>(i % 30'000) * static_cast<float>(i % 1000)) +
        noise(random));
  constexpr std::int64_t block = 1 << 16;
  for (std::int64_t i = 0; i < std::ssize(out->samples); i += block)
    out->blocks.push_back(
        Vector<float>::view(Index{std::min(block, std::ssize(out->samples) - i)}, out->samples.data() + i));
  return out;
}

auto program_of(const Recording& of) {
  const SignalFacts facts{unit(Exp<std::int64_t>(std::ssize(of.samples))), unit(rate), use(of.filters.begins),
                          use(of.filters.weights)};
  const FeatureOptions options{
      .frame_length = length, .hop_length = hop, .center = false, .window = of.window};
  const std::vector<Feature> wanted{Feature::rms,
                                    Feature::zero_crossing_rate,
                                    Feature::spectral_centroid,
                                    Feature::spectral_rolloff,
                                    Feature::spectral_flatness,
                                    Feature::melspectrogram};
  const auto all =
      features(wanted, frames(stream_in(std::views::all(of.blocks)), facts, options), facts, options);
  const auto value = [&](std::size_t i) { return consume(elements(all.values[i].second)); };
  return compile(
      std::tuple(value(0), value(1), value(2), value(3), value(4), consume(elements(all.vectors[0].second))));
}

struct Results {
  std::vector<SpectralFeatures> features;
  std::vector<float> bands;
};

/// Sums of floats in another order. The bin at which a sum passes a threshold may be the next one.
bool near(const SpectralFeatures& a, const SpectralFeatures& b) {
  const auto within = [](float x, float y, float part) { return std::abs(x - y) <= part * std::abs(y); };
  return within(a.rms, b.rms, 1e-5F) && a.zero_crossing_rate == b.zero_crossing_rate &&
         within(a.centroid, b.centroid, 1e-4F) && std::abs(a.rolloff - b.rolloff) <= 1.5F * rate / length &&
         within(a.flatness, b.flatness, 1e-3F);
}

void add(std::int64_t windows, int threads) {
  add_contest(fmt::format("audio spectra/{} threads", threads), [=] {
    const auto data = recording(windows);
    const auto program = std::make_shared<decltype(program_of(*data))>(program_of(*data));
    using Got = decltype(program->run());
    const auto got = std::make_shared<Got>(program->run());
    const auto peer =
        std::make_shared<Results>(Results{std::vector<SpectralFeatures>(static_cast<std::size_t>(windows)),
                                          std::vector<float>(static_cast<std::size_t>(windows * mels))});
    const auto by_hand = [=] {
      const Bands bands{mels, data->filters.weights.shape()[1], data->filters.begins.values(),
                        data->filters.weights.values()};
      const auto part = [=](std::int64_t begin, std::int64_t end) {
        SpectraInLoops loops(length, data->window, rate, bands);
        for (std::int64_t w = begin; w < end; ++w)
          peer->features[static_cast<std::size_t>(w)] =
              loops.of(data->samples.data() + w * hop, peer->bands.data() + w * mels);
      };
      const std::int64_t half = threads == 1 ? windows : windows / 2;
      std::thread other([=] { part(half, windows); });
      part(0, half);
      other.join();
    };
    by_hand();
    const auto agree = [=] {
      const auto& [rms, crossings, centroid, rolloff, flatness, bands] = *got;
      for (std::int64_t w = 0; w < windows; ++w)
        if (!near({rms[w], crossings[w], centroid[w], rolloff[w], flatness[w]},
                  peer->features[static_cast<std::size_t>(w)]))
          return false;
      for (std::int64_t i = 0; i < windows * mels; ++i) {
        const float other = peer->bands[static_cast<std::size_t>(i)];
        if (std::abs(bands[i] - other) > 1e-3F * other + 1e-6F) return false;
      }
      return true;
    };
    Contest contest;
    contest.unit = "kwindow/s";
    contest.amount = 1e6 * static_cast<double>(windows);
    contest.note = fmt::format("{} windows of {} samples, one every {}", windows, length, hop);
    // Into memory that is there, as the loops do.
    const auto ours = [=] {
      std::apply([&](auto&... results) { program->run_into(std::tie(results...), {.threads = threads}); },
                 *got);
    };
    contest.contenders.push_back({"anabranch", Role::library, threads, ours, agree});
    contest.contenders.push_back({"loops, -Ofast", Role::peer, threads, by_hand, {}});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add(20'000, 1);
  add(20'000, 2);
  return run_all(argc, argv);
}
