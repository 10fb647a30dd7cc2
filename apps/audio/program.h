#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <anabranch/anabranch.h>

/// The program that the command `anabranch audio` runs: features of the windows of a signal that streams by, with librosa's
/// names and meanings (docs/audio.md has the formulas). It is written as any user would write it.
namespace anabranch::apps {

/// A window of a signal, samples from -1 to 1; and a number of each window.
using Samples = Acc<Vector<float>>;
using Value = Acc<Scalar<float>>;

enum class Feature : std::uint8_t {
  mean,
  rms,
  zero_crossing_rate,
  spectral_centroid,
  spectral_rolloff,
  spectral_flatness,
  autocorrelation,
  lpc,
  melspectrogram,
  mfcc,  ///< what `features` gives for it is the mel spectrogram in decibels, of which `cepstrum` makes it
};

/// Is it made of the Fourier transform?
bool is_spectral(Feature feature);

/// What is known when the program is built.
struct FeatureOptions {
  std::int64_t frame_length = 2048;  ///< also of the Fourier transform, then a power of two
  std::int64_t hop_length = 512;
  bool center = true;  ///< the signal begins with frame_length / 2 samples of padding, and ends so
  /// Of each frame, frame_length weights; of use where there are spectra of them.
  std::vector<float> window{};
  std::array<float, 3> cosines{
      0.5F, 0.5F, 0};           ///< of windows of any length: c0 - c1 cos t + c2 cos 2t, t = 2 pi i / length
  std::int64_t max_size = 128;  ///< lags of the autocorrelation
  std::int64_t lpc_order = 16;
};

/// What is known of a signal when its run begins. In mel band m the power at k weighs weights[m, k - begins[m]].
using SignalFacts = std::tuple<Acc<Scalar<std::int64_t>>,  // samples
                               Acc<Scalar<float>>,         // samples a second
                               Acc<Vector<std::int64_t>>,  // begins
                               Acc<Matrix<float>>>;        // weights

/// The windows of which features are computed.
struct Windows {
  Seq<Vector<float>> samples;
  /// Those of equal length, one every hop: which sample of the signal each begins with, negative in the padding.
  std::optional<Seq<Scalar<std::int64_t>>> begins;
};
/// Windows of equal length. `blocks`: the signal with its padding, however it is cut.
Windows frames(const Seq<Vector<float>>& blocks, const SignalFacts& facts, const FeatureOptions& options);

/// A feature of each window, in the order in which they are asked for.
struct FeatureSequences {
  std::vector<std::pair<Feature, Seq<Scalar<float>>>> values;
  std::vector<std::pair<Feature, Seq<Vector<float>>>> vectors;
};
FeatureSequences features(const std::vector<Feature>& wanted, const Windows& windows,
                          const SignalFacts& facts, const FeatureOptions& options);

/// The greatest element of a stream of vectors that are not empty, minus infinity of none.
Acc<Scalar<float>> greatest(const Seq<Vector<float>>& vectors);

/// mfcc: a discrete cosine transform, the rows of `transform`, of each mel spectrum in decibels, of which nothing is less than
/// `greatest`, that of the whole signal, - 80.
Seq<Vector<float>> cepstrum(const Seq<Vector<float>>& decibels, const Acc<Scalar<float>>& greatest,
                            const Acc<Matrix<float>>& transform);

}  // namespace anabranch::apps
