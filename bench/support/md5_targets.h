#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace anabranch::bench {

/// The first 32 bits of digests that are looked for, with the table of bits that the program of `anabranch md5` has: one for each
/// value of their low bits.
struct Md5Targets {
  const std::vector<std::uint32_t>& firsts;  ///< in rising order
  std::vector<std::uint64_t> bits;
  std::uint32_t mask;
  explicit Md5Targets(const std::vector<std::uint32_t>& f) : firsts(f) {
    const std::size_t count = std::clamp<std::size_t>(std::bit_ceil(f.size() * 64), 1 << 15, 1 << 26);
    bits.resize(count / 64);
    mask = static_cast<std::uint32_t>(count - 1);
    for (const std::uint32_t first : f) bits[(first & mask) / 64] |= std::uint64_t{1} << (first % 64);
  }
  bool marked(std::uint32_t first) const { return (bits[(first & mask) / 64] >> (first % 64) & 1) != 0; }
  bool has(std::uint32_t first) const {
    return marked(first) && std::binary_search(firsts.begin(), firsts.end(), first);
  }
};

}  // namespace anabranch::bench
