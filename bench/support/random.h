#pragma once

#include <cstdint>
#include <random>

/// Random numbers that are the same with every standard library, which its distributions are not.
namespace anabranch::bench {

using Random = std::mt19937_64;

/// In [-1, 1).
inline double unit(Random& random) {
  return static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
}

/// In [0, n).
inline std::int64_t below(Random& random, std::int64_t n) {
  __extension__ using Wide = unsigned __int128;  // multiply-shift: no division a number
  return static_cast<std::int64_t>((static_cast<Wide>(random()) * static_cast<std::uint64_t>(n)) >> 64);
}

}  // namespace anabranch::bench
