#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include "public/agree.h"

/// Signals, and what the programs of `anabranch audio` are compared with: plain loops in double.
namespace anabranch::testing {

using Signal = std::vector<float>;
using Doubles = std::vector<double>;

/// A tone and noise, from -1 to 1.
inline Signal signal(std::int64_t samples, std::uint64_t seed) {
  Signal out;
  for (std::int64_t i = 0; i < samples; ++i) {
    const float noise = number<float>(static_cast<std::uint64_t>(i) + 1'000'003 * seed) / 250;
    out.push_back(0.6F * std::sin(0.3F * static_cast<float>(i)) + 0.3F * noise);
  }
  return out;
}

/// With zeros before and behind.
inline Signal padded(const Signal& samples, std::int64_t padding) {
  Signal out(static_cast<std::size_t>(padding));
  out.insert(out.end(), samples.begin(), samples.end());
  out.resize(out.size() + static_cast<std::size_t>(padding));
  return out;
}

/// The signal in blocks of these lengths, again and again.
inline std::vector<Vector<float>> blocks_of(const Signal& samples, const std::vector<std::int64_t>& lengths) {
  std::vector<Vector<float>> out;
  for (auto at = samples.begin(); at != samples.end();) {
    const auto n = std::min(lengths[out.size() % lengths.size()], samples.end() - at);
    out.emplace_back(Signal(at, at + n));
    at += n;
  }
  return out;
}

inline std::vector<Signal> windows_by_hand(const Signal& samples, std::int64_t length, std::int64_t hop) {
  std::vector<Signal> out;
  for (std::int64_t at = 0; at + length <= std::ssize(samples); at += hop)
    out.emplace_back(samples.begin() + at, samples.begin() + at + length);
  return out;
}

/// The discrete Fourier transform as its definition has it.
inline std::vector<std::complex<double>> transform_by_hand(const std::vector<std::complex<double>>& x) {
  const std::size_t n = x.size();
  std::vector<std::complex<double>> roots, out(n);
  for (std::size_t i = 0; i < n; ++i)
    roots.push_back(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n)));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i) out[k] += x[i] * roots[i * k % n];
  return out;
}

/// |X[k]| for k = 0 ... n / 2.
inline Doubles magnitudes_by_hand(const Doubles& x) {
  const auto transform = transform_by_hand({x.begin(), x.end()});
  Doubles out;
  for (std::size_t k = 0; k <= x.size() / 2; ++k) out.push_back(std::abs(transform[k]));
  return out;
}

/// The root of the sum of the squares. By it errors of a transform are measured, as the elements of one are as large, on
/// average.
template <class Numbers>
double norm_of(const Numbers& x) {
  double sum = 0;
  for (const auto& one : x) sum += std::norm(std::complex<double>(one));
  return std::sqrt(sum);
}

}  // namespace anabranch::testing
