#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "support/catch.h"

/// Files that somebody has damaged.
namespace io_test {

/// Calls `read` with `trials` random changes of these bytes, each of one to three places.
template <class F>
void mutate(const std::string& whole, int trials, std::uint64_t seed, F read) {
  std::mt19937_64 random(seed + 1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int trial = 0; trial < trials; ++trial) {
    std::string bytes = whole;
    for (std::size_t times = 1 + below(3); times-- > 0;) {
      const std::size_t at = below(bytes.size());
      const std::size_t n = std::min(1 + below(below(2) == 0 ? 4 : 200), bytes.size() - at);
      switch (below(7)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 1:
          bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes.erase(at, n);
          break;
        case 3:
          bytes.insert(at, bytes.substr(below(bytes.size()), n));
          break;
        case 4:
          bytes.replace(at, n, std::string(n, '\0'));
          break;
        case 5:
          bytes.replace(at, n, bytes.substr(below(bytes.size() - n + 1), n));
          break;
        default:
          for (std::size_t i = 0; i < n; ++i) bytes[at + i] = static_cast<char>(random());
      }
      if (bytes.empty()) bytes = "x";
    }
    INFO("seed " << seed << ", trial " << trial);
    read(bytes);
  }
}

}  // namespace io_test
