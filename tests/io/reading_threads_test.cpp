#include "support/catch.h"

#include <algorithm>
#include <cstdint>

#include "io/sparse/entry_sorter.h"
#include "io/text/text_blocks.h"
#include "support/one_processor.h"

using namespace anabranch::io::detail;

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

}  // namespace

TEST_CASE("more than eight threads parse and sort where each has as much memory as one of eight") {
  for (const std::int64_t memory : {std::int64_t{1}, mib, 256 * mib, 100'000 * mib})
    for (const int asked : {1, 2, 7, 8}) CHECK(reading_threads(asked, memory) == asked);
  for (const int asked : {64, 192}) {
    CHECK(reading_threads(asked, 1) == 8);
    CHECK(reading_threads(asked, 256 * mib) == 8);
    CHECK(reading_threads(asked, 512 * mib) == 16);
    CHECK(reading_threads(asked, 1'024 * mib) == 32);
    CHECK(reading_threads(asked, 100'000 * mib) == 32);
    CHECK(reading_threads(asked, reading_memory(asked)) == 32);
  }
  CHECK(reading_memory(2) == 256 * mib);
  for (const std::int64_t memory : {mib, 200 * mib, 256 * mib, 300 * mib, 1'000 * mib, 5'000 * mib}) {
    // Lines may be as long.
    CHECK(text_block_bytes(memory, reading_threads(192, memory)) == text_block_bytes(memory, 8));
    CHECK(SortMemory(memory, 192).sorting >= std::min(SortMemory(memory, 8).sorting, 16 * mib));
  }
}

TEST_CASE("who names no number of threads to parse with has as many as there are processors") {
  CHECK(reading_threads(0, INT64_MAX) >= 1);
  const anabranch::testing::OneProcessor one;
  CHECK(reading_threads(0, INT64_MAX) == 1);
}

TEST_CASE("of more than eight threads those are started that have something to do") {
  CHECK(threads_for(2, 1) == 2);
  CHECK(threads_for(8, 1) == 8);
  CHECK(threads_for(32, 1) == 8);
  CHECK(threads_for(32, 20) == 20);
  CHECK(threads_for(32, 1'000) == 32);
}
