#include "apps/audio/program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>
#include <vector>

#include "apps/audio/tables.h"
#include "recording.h"

// Features of the spectra of windows beside plain loops in double.
namespace anabranch::testing {
namespace {

using apps::Feature;

constexpr std::int64_t frame = 64, bands = 8;
constexpr std::size_t bins = frame / 2 + 1;
constexpr float rate = 22'050;

/// With silence in the middle.
Recording recording() {
  const auto filters = apps::mel_filters(rate, frame, bands, 0, rate / 2);
  Recording out{signal(400, 3), {.frame_length = frame, .hop_length = 40}};
  std::fill(out.samples.begin() + 150, out.samples.begin() + 260, 0.0F);
  out.options.window = apps::window_weights("hann", frame, frame);
  out.rate = rate;
  out.mel_begins = filters.begins;
  out.mel_weights = filters.weights;
  return out;
}

/// The absolute values of the spectra of windows.
std::vector<Doubles> spectra_by_hand(const Recording& of) {
  std::vector<Doubles> out;
  for (const Signal& window : of.windows()) {
    Doubles x;
    for (std::size_t i = 0; i < window.size(); ++i)
      x.push_back(static_cast<double>(window[i]) * of.options.window[i]);
    out.push_back(magnitudes_by_hand(x));
  }
  return out;
}

/// Each piece in the middle of `frame` zeros, under a window of its length.
std::vector<Doubles> spectra_of_pieces(const std::vector<Signal>& pieces, const apps::Cosines& c) {
  std::vector<Doubles> out;
  for (const Signal& piece : pieces) {
    const std::size_t before = (frame - piece.size()) / 2;
    Doubles x(frame);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const double t = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(piece.size());
      const double weight = piece.size() == 1 ? 1 : c[0] - c[1] * std::cos(t) + c[2] * std::cos(2 * t);
      x[before + i] = weight * piece[i];
    }
    out.push_back(magnitudes_by_hand(x));
  }
  return out;
}

double sum_of(const Doubles& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum;
}

double centroid_by_hand(const Doubles& spectrum) {
  double moment = 0;
  for (std::size_t k = 0; k < bins; ++k) moment += static_cast<double>(k) * spectrum[k];
  return moment > 0 ? moment / sum_of(spectrum) * rate / frame : 0;
}

double flatness_by_hand(const Doubles& spectrum) {
  Doubles power, logarithms;
  for (const double s : spectrum) {
    power.push_back(std::max(s * s, 1e-10));
    logarithms.push_back(std::log(power.back()));
  }
  return std::exp(sum_of(logarithms) / bins) / (sum_of(power) / bins);
}

/// Whether it is the least frequency up to which there is 85 % of the sum; where a sum of floats may be on either side, both are.
bool is_rolloff(float got, const Doubles& spectrum) {
  const auto place = static_cast<std::size_t>(std::lround(got * frame / rate));
  if (place >= bins || got != static_cast<float>(place) * (rate / frame)) return false;
  double below = 0;
  for (std::size_t k = 0; k < place; ++k) below += spectrum[k];
  const double enough = 0.85 * sum_of(spectrum);
  return below + spectrum[place] >= enough * (1 - 1e-5) && (place == 0 || below <= enough * (1 + 1e-5));
}

/// One feature of each spectrum.
template <class F>
Doubles each(const std::vector<Doubles>& spectra, F f) {
  Doubles out;
  for (const Doubles& spectrum : spectra) out.push_back(f(spectrum));
  return out;
}

Doubles mel_by_hand(const Recording& of, const std::vector<Doubles>& spectra) {
  Doubles out;
  for (const Doubles& spectrum : spectra)
    for (std::int64_t m = 0; m < bands; ++m) {
      double sum = 0;
      for (std::int64_t j = 0; j < of.mel_weights.extent(1); ++j) {
        const double s = spectrum[static_cast<std::size_t>(of.mel_begins[m] + j)];
        sum += of.mel_weights[Index{m, j}] * s * s;
      }
      out.push_back(sum);
    }
  return out;
}

/// Centroid, rolloff and flatness. The centroid is a part of half of the rate, and may be off by one in thirty thousand of that;
/// the flatness is a part of 1.
template <class Results>
void check_shapes(const Results& results, const std::vector<Doubles>& spectra) {
  const auto& centroids = std::get<0>(results);
  const auto& rolloffs = std::get<1>(results);
  check_close(centroids, each(spectra, centroid_by_hand), 3e-5 * rate / 2);
  check_close(std::get<2>(results), each(spectra, flatness_by_hand), 1e-4);
  REQUIRE(rolloffs.size() == std::ssize(spectra));
  for (std::size_t w = 0; w < spectra.size(); ++w) {
    INFO("window " << w << ": " << rolloffs[static_cast<std::int64_t>(w)]);
    CHECK(is_rolloff(rolloffs[static_cast<std::int64_t>(w)], spectra[w]));
  }
}

}  // namespace

TEST_CASE("audio: centroid, rolloff, flatness and mel bands of windows") {
  const Recording of = recording();
  const auto all = of.features({Feature::spectral_centroid, Feature::spectral_rolloff,
                                Feature::spectral_flatness, Feature::melspectrogram, Feature::mfcc});
  const auto results = agree(std::tuple(values_of(all, 0), values_of(all, 1), values_of(all, 2),
                                        vectors_of(all, 0), vectors_of(all, 1)));
  const auto spectra = spectra_by_hand(of);
  check_shapes(results, spectra);
  const Doubles mel = mel_by_hand(of, spectra);
  Doubles decibels;
  for (const double m : mel) decibels.push_back(10 * std::log10(std::max(m, 1e-10)));
  check_close(std::get<3>(results), mel, 1e-5 * *std::max_element(mel.begin(), mel.end()));
  check_close(std::get<4>(results), decibels, 1e-3);
  constexpr std::int64_t silent = 5;  // the window of samples 168 to 231
  REQUIRE(sum_of(spectra[silent]) == 0);
  CHECK(std::get<0>(results)[silent] == 0);
  CHECK(std::get<1>(results)[silent] == 0);
}

TEST_CASE("audio: spectra of pieces of different lengths, under windows of their lengths") {
  Recording of = recording();
  of.options.window.clear();
  of.options.cosines = apps::window_cosines("blackman");
  std::vector<Signal> pieces;
  for (const std::int64_t length : {64, 33, 2, 1, 17, 48})
    pieces.emplace_back(of.samples.begin() + length, of.samples.begin() + 2 * length);
  std::vector<Vector<float>> streamed;
  for (const Signal& piece : pieces) streamed.emplace_back(piece);
  const auto all =
      apps::features({Feature::spectral_centroid, Feature::spectral_rolloff, Feature::spectral_flatness},
                     {stream_in(streamed), {}}, of.facts(), of.options);
  const auto results = agree(std::tuple(values_of(all, 0), values_of(all, 1), values_of(all, 2)));
  check_shapes(results, spectra_of_pieces(pieces, of.options.cosines));
}

TEST_CASE("audio: cepstra, where nothing is less than 80 decibels below the greatest value") {
  constexpr std::int64_t count = 9, rows = 5;
  std::vector<Vector<float>> decibels;
  float most = -1000;
  for (std::int64_t w = 0; w < count; ++w) {
    decibels.push_back(numbers<float>(bands, static_cast<std::uint64_t>(w)));
    for (const float v : decibels.back()) most = std::max(most, v);
  }
  CHECK(agree(apps::greatest(stream_in(decibels)))[0] == most);
  CHECK(agree(apps::greatest(stream_in(std::vector<Vector<float>>{})))[0] ==
        -std::numeric_limits<float>::infinity());
  const auto got = agree(consume(elements(apps::cepstrum(stream_in(decibels), use(Scalar<float>(most)),
                                                         use(apps::cosine_transform(rows, bands))))));
  Doubles expected;
  for (const Vector<float>& spectrum : decibels)
    for (std::int64_t k = 0; k < rows; ++k) {
      double sum = 0;
      for (std::int64_t i = 0; i < bands; ++i)
        sum += std::max(spectrum[i], most - 80) *
               std::cos(std::numbers::pi * static_cast<double>(k * (2 * i + 1)) / (2 * bands));
      expected.push_back(sum * std::sqrt((k == 0 ? 1.0 : 2.0) / bands));
    }
  check_close(got, expected, 1e-3);
}

}  // namespace anabranch::testing
