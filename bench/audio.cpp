#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/audio_peers.h"
#include "support/contest.h"

/// Features of windows of audio whose lengths differ: mean, energy under a Hann window, zero crossings, autocorrelation
/// of lags 0 to 16, linear prediction by Levinson and Durbin's recursion.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

using Samples = Acc<Vector<float>>;
using Number = Exp<std::int64_t>;

constexpr int lags = audio_order + 1;

/// The samples under a Hann window.
Samples hann(const Samples& x) {
  const Exp<float> step = 6.2831853F / cast<float>(size(x) - 1);
  return imap([=](auto at, auto sample) { return sample * (0.5F - 0.5F * cos(step * cast<float>(at[0]))); },
              x);
}

auto crossings(const Samples& x) {
  return sum(generate(size(x), [=](Number i) {
    return cond(i > 0, cond((x[i] < 0.0F) != (x[max(i - 1, Number(0))] < 0.0F), 1.0F, 0.0F), 0.0F);
  }));
}

/// Element `lag` is the sum of h[i] h[i + lag].
Samples autocorrelation(const Samples& h) {
  const Number n = size(h);
  return sum(generate(make<Index<2>>(Number(lags), n), [=](auto at) {
    const Number lag = at[0], i = at[1];
    return cond(i + lag < n, h[i] * h[min(i + lag, n - 1)], 0.0F);
  }));
}

template <class>
struct Repeated;
template <std::size_t... I>
struct Repeated<std::index_sequence<I...>> {
  using type = std::tuple<std::enable_if_t<I == I, float>...>;
};
using Coefficients = Repeated<std::make_index_sequence<audio_order>>::type;

/// The coefficients that predict a sample from those before it. A recursion over scalars, written as C++.
Acc<Scalar<Coefficients>> prediction(const Samples& r) {
  std::vector<Exp<float>> a;
  Exp<float> error = r[0];
  for (int i = 0; i < audio_order; ++i) {
    const auto at = [](const auto& v, int j) { return v[static_cast<std::size_t>(j)]; };
    Exp<float> rest = r[i + 1];
    for (int j = 0; j < i; ++j) rest = rest - at(a, j) * r[i - j];
    const Exp<float> k = cond(error > 0.0F, rest / error, 0.0F);
    std::vector<Exp<float>> next;
    for (int j = 0; j < i; ++j) next.push_back(at(a, j) - k * at(a, i - 1 - j));
    next.push_back(k);
    a = std::move(next);
    error = error * (1.0F - k * k);
  }
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return unit(make<Coefficients>(a[I]...));
  }(std::make_index_sequence<audio_order>());
}

struct Recording {
  std::vector<float> samples;
  std::vector<AudioWindow> windows;
};

/// Windows that overlap by half, of lengths drawn between 256 and 4096.
std::shared_ptr<Recording> recording(std::int64_t count) {
  auto out = std::make_shared<Recording>();
  std::mt19937_64 random(7);
  std::int64_t start = 0;
  for (std::int64_t w = 0; w < count; ++w) {
    const auto length = static_cast<std::int64_t>(256 + random() % (longest_window - 255));
    out->windows.push_back({start, length});
    start += length / 2;
  }
  std::normal_distribution<float> noise(0, 0.1F);
  for (std::int64_t i = 0; i < start + longest_window; ++i)
    out->samples.push_back(std::sin(0.01F * static_cast<float>(i % 100'000)) + noise(random));
  return out;
}

auto features(const Recording& of) {
  const auto numbers = [&](auto member) {
    std::vector<std::int64_t> out;
    for (const AudioWindow& w : of.windows) out.push_back(w.*member);
    return use(Vector<std::int64_t>(out));
  };
  const auto starts = numbers(&AudioWindow::start), lengths = numbers(&AudioWindow::length);
  const auto samples =
      use(Vector<float>::view(Index{static_cast<std::int64_t>(of.samples.size())}, of.samples.data()));
  const auto windows = produce(size(starts), [=](Number w) {
    return generate(lengths[w], [=](Number i) { return samples[starts[w] + i]; });
  });
  const auto all = map_seq(
      [](const Samples& x) {
        const Samples h = hann(x);
        const Samples r = autocorrelation(h);
        return std::tuple(mean(x), sum(map([](auto v) { return v * v; }, h)), crossings(x), r, prediction(r));
      },
      windows);
  const auto [means, energies, changes, correlations, predictions] = unzip_seq(all);
  return compile(std::tuple(consume(elements(means)), consume(elements(energies)), consume(elements(changes)),
                            consume(elements(correlations)), consume(elements(predictions))));
}

/// The features of a window as the program gives them.
template <class R>
AudioFeatures features_of(const R& results, std::int64_t i) {
  const auto& [means, energies, changes, correlations, predictions] = results;
  AudioFeatures f{.mean = means[i], .energy = energies[i], .crossings = changes[i]};
  std::copy_n(correlations.data() + i * lags, lags, f.autocorrelation.begin());
  f.prediction = std::apply([](auto... a) { return std::array{a...}; }, Coefficients(predictions[i]));
  return f;
}

/// Sums of floats beside sums of doubles: within 2e-6 of the sum of magnitudes. Coefficients solve equations that
/// magnify this some hundred times: within 3e-4.
bool near(const AudioFeatures& got, const AudioFeatures& expected) {
  const auto within = [](float tolerance) {
    return [=](float x, float y) { return std::abs(x - y) <= tolerance; };
  };
  const float of_sums = 2e-6F * expected.energy;
  return within(2e-6F)(got.mean, expected.mean) && within(of_sums)(got.energy, expected.energy) &&
         got.crossings == expected.crossings &&
         std::ranges::equal(got.autocorrelation, expected.autocorrelation, within(of_sums)) &&
         std::ranges::equal(got.prediction, expected.prediction, within(3e-4F));
}

void add(std::int64_t count, int threads) {
  add_contest(fmt::format("audio/{} threads", threads), [=] {
    const auto data = recording(count);
    const auto program = std::make_shared<decltype(features(*data))>(features(*data));
    using Got = decltype(program->run());
    const auto got = std::make_shared<Got>();
    const auto expected = std::make_shared<std::vector<AudioFeatures>>(data->windows.size());
    audio_in_doubles(data->samples.data(), data->windows, expected->data());
    // `of` gives the features of a window by its number.
    const auto agree = [=](auto of) {
      for (std::size_t w = 0; w < expected->size(); ++w)
        if (!near(of(w), (*expected)[w])) return false;
      return true;
    };
    Contest contest;
    contest.unit = "kwindow/s";
    contest.amount = 1e6 * static_cast<double>(count);
    contest.note = fmt::format("{} windows of 256 to 4096 samples", count);
    const auto add_ours = [&](const std::string& name, Role role, const std::string& scheduler) {
      contest.contenders.push_back(
          {name, role, threads, [=] { *got = program->run({.threads = threads, .scheduler = scheduler}); },
           [=] {
             return agree([&](std::size_t w) { return features_of(*got, static_cast<std::int64_t>(w)); });
           }});
    };
    add_ours("anabranch", Role::library, "adaptive");
    // What the trials of chunks that are too large for the caches cost, and how the paper's scheduler does.
    for (const int items : {16, 64, 256, 1024})
      add_ours(fmt::format("anabranch, chunks of {}", items), Role::shown, fmt::format("fixed:{}", items));
    add_ours("anabranch, paper", Role::shown, "paper");
    const auto add_peer = [&](const char* name, auto compute) {
      const auto out = std::make_shared<std::vector<AudioFeatures>>(data->windows.size());
      const auto run = [=] {
        const std::span<const AudioWindow> all(data->windows);
        const std::size_t half = threads == 1 ? all.size() : all.size() / 2;
        std::thread other([=] { compute(data->samples.data(), all.subspan(half), out->data() + half); });
        compute(data->samples.data(), all.first(half), out->data());
        other.join();
      };
      contest.contenders.push_back(
          {name, Role::peer, threads, run, [=] { return agree([&](std::size_t w) { return (*out)[w]; }); }});
    };
    add_peer("loops, -Ofast", audio_in_loops);
    if (has_audio_in_vectors()) add_peer("AVX-512 by hand", audio_in_vectors);
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add(20'000, 1);
  add(20'000, 2);
  return run_all(argc, argv);
}
