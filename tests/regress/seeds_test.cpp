// Seeds that once failed: a loop over a captured read, a shape used without its array, a uniform extent outside its
// stage, a seed with a conditional, a seed that shares with the elements what may fail.

#include "oracle/check.h"

using namespace anabranch;
using namespace anabranch::testing;

TEST_CASE("programs that once went wrong") {
  for (const std::uint64_t seed : {1ULL, 6ULL, 52ULL})
    check(random_array_program(seed, 1 + static_cast<int>(seed % 20)), {{}, {.threads = 1, .off = "fusion"}});
  for (const std::uint64_t seed : {1ULL, 2ULL, 5ULL, 10088ULL, 10094ULL, 10100ULL, 10103ULL, 10145ULL})
    check(random_sequence_program(seed, 1 + static_cast<int>(seed % 12)),
          {{}, {.scheduler = "fixed:7", .threads = 1, .off = "fusion"}});
}
