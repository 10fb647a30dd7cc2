#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// Features of the spectra of audio, by hand.
namespace anabranch::bench {

/// What is computed of a window of samples: the features of `anabranch audio` that have these names.
struct SpectralFeatures {
  float rms = 0, zero_crossing_rate = 0, centroid = 0, rolloff = 0, flatness = 0;
};

/// Weights of the power spectrum: band m has `width` of them from begins[m] on.
struct Bands {
  std::int64_t count = 0, width = 0;
  std::span<const std::int64_t> begins;
  std::span<const float> weights;
};

/// Plain loops for windows of `length` samples, a power of two of 32 or more, compiled with -Ofast and libmvec. The transform
/// is that of half as many complex numbers, in steps of radix 4 and 2, with tables of roots.
class SpectraInLoops {
 public:
  SpectraInLoops(std::int64_t length, std::span<const float> window, float rate, const Bands& bands);
  ~SpectraInLoops();
  /// A window's features, and its bands: to `bands`.
  SpectralFeatures of(const float* samples, float* bands);

 private:
  struct Step;
  void transform();

  std::int64_t length_;
  std::span<const float> window_;
  float bin_;
  Bands bands_;
  std::vector<Step> steps_;
  std::vector<float> re_, im_, next_re_, next_im_, turn_re_, turn_im_, power_, magnitude_;
};

}  // namespace anabranch::bench
