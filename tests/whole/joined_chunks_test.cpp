#include <cstdint>
#include <memory>
#include <vector>

#include <anabranch/source.h>

#include "run/chunks/chunk_layout.h"
#include "run/sources/sources.h"
#include "support/catch.h"

// Chunks that are gathered of several.
namespace anabranch::testing {
namespace {

template <class T>
std::shared_ptr<const void> memory_of(std::vector<T> values) {
  const auto owner = std::make_shared<std::vector<T>>(std::move(values));
  return {owner, owner->data()};
}

TEST_CASE("of chunks that are joined one without elements may have no memory") {
  const std::vector<ArrayInfo> infos{{{ScalarType::float64}, {std::nullopt}}};
  SourceChunk without{.items = 2, .work = 2, .arrays = {{}}};
  without.arrays[0].data.push_back(nullptr);
  without.arrays[0].offsets = memory_of<std::int64_t>({0, 0, 0});
  SourceChunk with{.items = 2, .work = 3, .arrays = {{}}};
  with.arrays[0].data.push_back(memory_of<double>({1, 2, 3}));
  with.arrays[0].offsets = memory_of<std::int64_t>({0, 1, 3});
  with.first = 2;
  for (const bool first : {true, false}) {
    INFO("the one without elements comes " << (first ? "first" : "last"));
    const SourceChunk all = runtime::joined(
        first ? std::vector<SourceChunk>{without, with} : std::vector<SourceChunk>{with, without}, infos);
    CHECK(all.items == 4);
    CHECK(all.first == (first ? 0 : 2));
    const auto* const data = static_cast<const double*>(all.arrays[0].data[0].get());
    REQUIRE(data);
    CHECK(std::vector<double>(data, data + 3) == std::vector<double>{1, 2, 3});
    const auto* const offsets = static_cast<const std::int64_t*>(all.arrays[0].offsets.get());
    CHECK(std::vector<std::int64_t>(offsets, offsets + 5) ==
          (first ? std::vector<std::int64_t>{0, 0, 0, 1, 3} : std::vector<std::int64_t>{0, 1, 3, 3, 3}));
  }
}

TEST_CASE("numbers that are not stored have no memory, joined or sliced; those that are have some") {
  for (const bool stored : {false, true}) {
    const auto counter = runtime::make_counter(10, stored);
    const std::vector<ArrayInfo>& infos = counter->info().arrays;
    std::vector<SourceChunk> chunks(2);
    REQUIRE(counter->next({.items = 3}, chunks[0]));
    REQUIRE(counter->next({.items = 4}, chunks[1]));
    CHECK(chunks[1].bytes == (stored ? 32 : 0));
    const SourceChunk all = runtime::joined(chunks, infos);
    const SourceChunk part = runtime::slice(all, infos, 2, 6);
    CHECK(all.items == 7);
    CHECK(part.first == 2);
    const auto* const numbers = static_cast<const std::int64_t*>(part.arrays[0].data[0].get());
    REQUIRE((numbers != nullptr) == stored);
    if (stored)
      CHECK(std::vector<std::int64_t>(numbers, numbers + 4) == std::vector<std::int64_t>{2, 3, 4, 5});
  }
}

}  // namespace
}  // namespace anabranch::testing
