#include "apps/audio/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

constexpr double pi = std::numbers::pi;

/// Coefficients as scipy.signal.windows has them.
const std::map<std::string, std::array<double, 3>>& windows() {
  static const std::map<std::string, std::array<double, 3>> all{{"hann", {0.5, 0.5, 0}},
                                                                {"hamming", {0.54, 0.46, 0}},
                                                                {"blackman", {0.42, 0.5, 0.08}},
                                                                {"boxcar", {1, 0, 0}}};
  return all;
}

/// Slaney's scale: linear up to 1000 Hz, which are 15 mel, logarithmic above: 27 mel are a factor of 6.4.
double mel_of(double hz) { return hz < 1000 ? hz * 3 / 200 : 15 + 27 * std::log(hz / 1000) / std::log(6.4); }
double hz_of(double mel) {
  return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}

}  // namespace

const std::vector<std::string>& window_names() {
  static const std::vector<std::string> names{"hann", "hamming", "blackman", "boxcar"};
  return names;
}

Cosines window_cosines(const std::string& name) {
  const auto found = windows().find(name);
  if (found == windows().end()) throw UsageError("'" + name + "' is no window");
  return {static_cast<float>(found->second[0]), static_cast<float>(found->second[1]),
          static_cast<float>(found->second[2])};
}

std::vector<float> window_weights(const std::string& name, std::int64_t length, std::int64_t frame_length) {
  const auto& c = windows().at(name);
  std::vector<float> out(static_cast<std::size_t>(frame_length));
  const std::int64_t before = (frame_length - length) / 2;
  for (std::int64_t i = 0; i < length; ++i) {
    const double t = 2 * pi * static_cast<double>(i) / static_cast<double>(length);
    out[static_cast<std::size_t>(before + i)] =
        length == 1 ? 1 : static_cast<float>(c[0] - c[1] * std::cos(t) + c[2] * std::cos(2 * t));
  }
  return out;
}

void BandCounts::raise_to(const BandCounts& other) {
  empty = std::max(empty, other.empty);
  above = std::max(above, other.above);
  beyond = std::max(beyond, other.beyond);
}

MelFilters mel_filters(double rate, std::int64_t frame_length, std::int64_t count, double least, double most,
                       const std::function<void(std::int64_t bytes)>& before) {
  std::vector<double> corners;
  for (std::int64_t m = 0; m < count + 2; ++m)
    corners.push_back(hz_of(mel_of(least) + (mel_of(most) - mel_of(least)) * static_cast<double>(m) /
                                                static_cast<double>(count + 1)));
  const auto weight = [&](std::size_t m, std::int64_t k) {
    const double left = corners[m], top = corners[m + 1], right = corners[m + 2];
    const double hz = static_cast<double>(k) * rate / static_cast<double>(frame_length);
    const double side = std::min((hz - left) / (top - left), (right - hz) / (right - top));
    return std::max(0.0, side) * 2 / (right - left);
  };
  // A filter is zero outside of its corners.
  struct Range {
    std::int64_t begin, end;
  };
  std::vector<Range> ranges;
  const std::int64_t bins = frame_length / 2 + 1;
  std::int64_t width = 1;
  MelFilters out;
  for (std::size_t m = 0; m < static_cast<std::size_t>(count); ++m) {
    const auto bin_at = [&](double hz) {
      const double bin = hz * static_cast<double>(frame_length) / rate;  // may be beyond all integers
      return static_cast<std::int64_t>(std::clamp(bin, 0.0, static_cast<double>(bins)));
    };
    Range range{bin_at(corners[m]), std::min(bin_at(corners[m + 2]) + 2, bins)};
    while (range.begin < range.end && !(weight(m, range.begin) > 0)) ++range.begin;
    while (range.begin < range.end && !(weight(m, range.end - 1) > 0)) --range.end;
    if (range.begin == range.end) ++out.bands.empty;
    if (most > rate / 2 && corners[m + 2] > rate / 2) ++out.bands.above;
    if (range.begin == range.end && corners[m] >= rate / 2) ++out.bands.beyond;
    width = std::max(width, range.end - range.begin);
    ranges.push_back(range);
  }
  if (before) before(count * width * static_cast<std::int64_t>(sizeof(float)));
  out.begins = Vector<std::int64_t>(Index{count});
  out.weights = Matrix<float>(Index{count, width});
  for (std::int64_t m = 0; m < count; ++m) {
    const std::int64_t begin = std::min(ranges[static_cast<std::size_t>(m)].begin, bins - width);
    out.begins.set(m, begin);
    for (std::int64_t j = 0; j < width; ++j)
      if (const std::int64_t k = begin + j;
          k >= ranges[static_cast<std::size_t>(m)].begin && k < ranges[static_cast<std::size_t>(m)].end)
        out.weights.set(m * width + j, static_cast<float>(weight(static_cast<std::size_t>(m), k)));
  }
  return out;
}

Matrix<float> cosine_transform(std::int64_t rows, std::int64_t columns) {
  Matrix<float> out(Index{rows, columns});
  const auto n = static_cast<double>(columns);
  for (std::int64_t k = 0; k < rows; ++k)
    for (std::int64_t i = 0; i < columns; ++i)
      out.set(k * columns + i, static_cast<float>(std::sqrt((k == 0 ? 1 : 2) / n) *
                                                  std::cos(pi * static_cast<double>(k) *
                                                           (2 * static_cast<double>(i) + 1) / (2 * n))));
  return out;
}

}  // namespace anabranch::apps
