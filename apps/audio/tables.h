#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <anabranch/array.h>

/// Numbers that features are weighted with, computed once: docs/audio.md has the formulas.
namespace anabranch::apps {

/// A sum of cosines: c0 - c1 cos t + c2 cos 2t.
using Cosines = std::array<float, 3>;
const std::vector<std::string>& window_names();
/// Throws UsageError of another name.
Cosines window_cosines(const std::string& name);
/// So many weights of a periodic window, in the middle of `frame_length`.
std::vector<float> window_weights(const std::string& name, std::int64_t length, std::int64_t frame_length);

/// Mel bands that there is something to say of.
struct BandCounts {
  std::int64_t empty =
      0;  ///< without any weight: between two frequencies of the transform, or above all of them
  std::int64_t above = 0;   ///< that reach above half of the rate
  std::int64_t beyond = 0;  ///< of these, such as begin there: they are empty

  /// Of each the greater one.
  void raise_to(const BandCounts& other);
};

/// Slaney's triangular filters of equal area, evenly spaced in mel between two frequencies.
struct MelFilters {
  Vector<std::int64_t> begins;  ///< of each filter, where its weights begin
  Matrix<float> weights;        ///< a row for each filter
  BandCounts bands;
};
/// `before`: called with the bytes that the weights take, before there are any.
MelFilters mel_filters(double rate, std::int64_t frame_length, std::int64_t count, double least, double most,
                       const std::function<void(std::int64_t bytes)>& before = nullptr);

/// The first `rows` rows of the orthonormal discrete cosine transform (DCT-II) of so many numbers.
Matrix<float> cosine_transform(std::int64_t rows, std::int64_t columns);

}  // namespace anabranch::apps
