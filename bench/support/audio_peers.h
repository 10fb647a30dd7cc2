#pragma once

#include <array>
#include <cstdint>
#include <span>

/// Features of windows of audio, by hand.
namespace anabranch::bench {

constexpr int audio_order = 16;  ///< of linear prediction: so many coefficients, of lags 0 ... 16

/// What is computed of a window of n samples x.
struct AudioFeatures {
  float mean = 0;       ///< of x
  float energy = 0;     ///< sum of squares of the samples under a Hann window, h
  float crossings = 0;  ///< how often x changes its sign
  std::array<float, audio_order + 1> autocorrelation{};  ///< sums of h[i] h[i + lag]
  std::array<float, audio_order> prediction{};           ///< by Levinson and Durbin's recursion
};

/// Where windows begin, and how long they are. At most `longest_window`.
struct AudioWindow {
  std::int64_t start, length;
};
constexpr std::int64_t longest_window = 4096;

/// Plain loops, compiled with -Ofast and libmvec.
void audio_in_loops(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out);
/// The same over doubles: what results are compared with.
void audio_in_doubles(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out);

/// Vectors of 16 lanes by hand; cosines by libmvec. False where the processor has none.
bool has_audio_in_vectors();
void audio_in_vectors(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out);

}  // namespace anabranch::bench
