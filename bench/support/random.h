#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

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

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(i)))]);
}

}  // namespace anabranch::bench
