// The whole compiler against the reference interpreter, on random programs: one corpus under many
// configurations. The same on a simulated GPU: tests/cuda/random_program_test.cpp.

#include <array>

#include "support/differential.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

constexpr Backend cpu = Backend::cpu;

void compare_arrays(std::uint64_t from, std::uint64_t to) {
  static constexpr std::array<Configuration, 2> all{
      {{cpu, "adaptive", 2, ""}, {cpu, "adaptive", 1, "fusion,share,caches"}}};
  for (std::uint64_t seed = from; seed < to; ++seed) compare(array_program_of(seed), all);
}

void compare_sequences(std::uint64_t from, std::uint64_t to) {
  static constexpr std::array<Configuration, 5> all{{{cpu, "adaptive", 2, ""},
                                                     {cpu, "fixed:1", 1, ""},
                                                     {cpu, "fixed:7", 2, "fusion"},
                                                     {cpu, "fixed:64", 4, "shapes,caches"},
                                                     {cpu, "paper", 1, "share"}}};
  for (std::uint64_t seed = from; seed < to; ++seed) compare(sequence_program_of(seed), all);
}

}  // namespace

TEST_CASE("random array programs give the interpreter's bits") { compare_arrays(0, 30); }
TEST_CASE("random sequence programs give the interpreter's bits") { compare_sequences(0, 30); }
TEST_CASE("more random array programs give the interpreter's bits") { compare_arrays(30, 60); }
TEST_CASE("more random sequence programs give the interpreter's bits") { compare_sequences(30, 60); }
TEST_CASE("many random array programs give the interpreter's bits", "[.long]") {
  compare_arrays(10'000, 11'000);
}
TEST_CASE("many random sequence programs give the interpreter's bits", "[.long]") {
  compare_sequences(10'000, 11'000);
}

// Seeds that once failed: a loop over a captured read, a shape used without its array, a uniform extent
// outside its stage, a seed with a conditional, a seed that shares with the elements what may fail.
TEST_CASE("programs that once went wrong") {
  static constexpr std::array<Configuration, 1> arrays{{{cpu, "adaptive", 2, ""}}};
  static constexpr std::array<Configuration, 2> sequences{
      {{cpu, "adaptive", 2, ""}, {cpu, "fixed:7", 1, "fusion"}}};
  for (const std::uint64_t seed : {1ULL, 6ULL, 52ULL}) compare(array_program_of(seed), arrays);
  for (const std::uint64_t seed : {1ULL, 2ULL, 5ULL, 10088ULL, 10094ULL, 10100ULL, 10103ULL, 10145ULL})
    compare(sequence_program_of(seed), sequences);
}
