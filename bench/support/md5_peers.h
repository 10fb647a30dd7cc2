#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A dictionary attack by hand, on the digests' first 32 bits, as the program of `anabranch md5` finds its suspects.
namespace anabranch::bench {

enum class Md5Way : std::uint8_t {
  scalar,   ///< a word at a time
  avx2,     ///< eight words at a time
  avx512,   ///< sixteen words at a time
  avx512x4  ///< four times sixteen, so that one step need not wait for the one before
};
bool has_md5_way(Md5Way way);

/// How many lines of a file, of 55 bytes at most, have a digest whose first 32 bits are one of `firsts`, which rise. Each thread
/// reads blocks, finds the lines in them, and hashes them.
std::int64_t md5_matches(const std::string& file, const std::vector<std::uint32_t>& firsts, Md5Way way,
                         int threads);

}  // namespace anabranch::bench
