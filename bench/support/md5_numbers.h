#pragma once

#include <cstdint>
#include <vector>

/// An attack by hand that computes only: its candidates are made of numbers, and nothing is read but a table of bits. Candidate
/// `number` is eight letters, a to p: four bits of the number each, its low bits first.
namespace anabranch::bench {

enum class Md5NumbersWay : std::uint8_t {
  scalar,    ///< a candidate at a time
  avx2,      ///< two groups of eight
  avx512x4,  ///< four groups of sixteen side by side, since a step is a chain of four operations
  avx512x5   ///< five
};
bool has_md5_numbers_way(Md5NumbersWay way);

/// The first 32 bits of the candidate's digest.
std::uint32_t md5_of_number(std::uint32_t number);

/// How many of the candidates 0, ..., `count` - 1, whole blocks of 65,536, have a digest whose first 32 bits are one of `firsts`,
/// which rise.
std::int64_t md5_number_matches(std::int64_t count, const std::vector<std::uint32_t>& firsts,
                                Md5NumbersWay way, int threads);

}  // namespace anabranch::bench
