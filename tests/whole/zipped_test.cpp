// Sources that are read in step share the bytes of a chunk.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <anabranch/source.h>

#include "run/sources.h"
#include "support/catch.h"

namespace anabranch::testing {
namespace {

/// Vectors of so many doubles, as many as the limit allows.
class Rows final : public SourceBase {
 public:
  Rows(std::int64_t length, std::int64_t items) : length_(length), left_(items) {
    info_.name = "rows";
    info_.arrays = {{{ScalarType::float64}, {length}}};
    info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (left_ == 0) return false;
    const std::int64_t width = 8 * length_;
    const std::int64_t n = std::clamp<std::int64_t>(
        std::min({limit.items, limit.bytes / width, limit.work / length_}), 1, left_);
    const std::shared_ptr<double[]> memory(new double[static_cast<std::size_t>(n * length_)]());
    chunk = {};
    chunk.items = n;
    chunk.work = n * length_;
    chunk.bytes = n * width;
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(memory, memory.get());
    left_ -= n;
    return true;
  }

 private:
  SourceInfo info_;
  std::int64_t length_, left_;
};

/// Items of the chunks of a stream that is read within so many bytes a chunk.
std::vector<std::int64_t> chunks_of(std::vector<std::shared_ptr<SourceBase>> sources, std::int64_t bytes) {
  runtime::ZippedSources zipped(std::move(sources), INT64_MAX);
  std::vector<std::int64_t> items;
  std::vector<SourceChunk> chunks;
  Limit limit;
  limit.bytes = bytes;
  while (zipped.next(limit, chunks)) {
    std::int64_t read = 0;
    for (const SourceChunk& chunk : chunks) {
      REQUIRE(chunk.items == chunks[0].items);
      read += chunk.bytes;
    }
    CHECK(read <= bytes + bytes / 8);
    items.push_back(chunks[0].items);
  }
  return items;
}

std::shared_ptr<SourceBase> rows(std::int64_t length) { return std::make_shared<Rows>(length, 10'000); }

}  // namespace

TEST_CASE("sources that are read in step share the bytes of a chunk by the size of their items") {
  const auto counter = [] { return runtime::make_counter(10'000); };
  const std::vector<std::vector<std::shared_ptr<SourceBase>>> all{{rows(100), rows(1)},
                                                                  {rows(1), rows(100)},
                                                                  {rows(100), counter()},
                                                                  {counter(), rows(100)},
                                                                  {rows(1), counter(), rows(99)}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("sources " << i);
    const auto items = chunks_of(all[i], 80'800);
    // A hundred and a few fit. The first chunk is read before it is known how large items are.
    CHECK(items.size() >= 100);
    CHECK(items.size() <= 115);
    CHECK(*std::max_element(items.begin(), items.end()) <= 101);
  }
  // Of one size.
  const auto items = chunks_of({rows(10), rows(10)}, 1600);
  CHECK(items.size() <= 1005);
}

}  // namespace anabranch::testing
