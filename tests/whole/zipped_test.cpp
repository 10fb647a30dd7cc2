// Sources that are read in step share the bytes of a chunk.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <anabranch/error.h>
#include <anabranch/source.h>

#include "run/sources/sources.h"
#include "run/sources/zipped_sources.h"
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

/// Vectors of different lengths, in pieces of which is written down what becomes of them.
class Pieces final : public SourceBase {
 public:
  explicit Pieces(std::vector<std::int64_t> lengths, std::int64_t fails_at = -1)
      : lengths_(std::move(lengths)), fails_at_(fails_at) {
    info_.name = "pieces";
    info_.arrays = {{{ScalarType::float64}, {std::nullopt}}};
    info_.live = false;
    info_.splits = true;
    info_.items = static_cast<std::int64_t>(lengths_.size());
    info_.work = std::accumulate(lengths_.begin(), lengths_.end(), std::int64_t{0});
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit&, SourceChunk&) override { throw std::logic_error("not in pieces"); }
  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    const auto count = static_cast<std::int64_t>(lengths_.size());
    const std::int64_t begin = at_;
    for (std::int64_t bytes = 0; at_ < count && at_ - begin < limit.items; ++at_) {
      bytes += 8 * length(at_);
      if (at_ > begin && bytes > limit.bytes) break;
    }
    return at_ == begin ? nullptr : std::make_unique<Piece>(*this, begin, at_);
  }
  int reads = 0;
  std::int64_t complete = 0;  ///< items

 private:
  class Piece final : public SourcePiece {
   public:
    Piece(Pieces& source, std::int64_t begin, std::int64_t end) : source_(source), begin_(begin), end_(end) {}
    std::int64_t items() const override { return end_ - begin_; }
    std::int64_t work() const override { return bytes() / 8; }
    std::int64_t bytes() const override {
      std::int64_t bytes = 0;
      for (std::int64_t i = begin_; i < end_; ++i) bytes += 8 * source_.length(i);
      return bytes;
    }
    void read(SourceChunk& chunk) override {
      ++source_.reads;
      if (source_.fails_at_ >= begin_ && source_.fails_at_ < end_) throw IoError("pieces: damaged");
      const auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
      const auto values = std::make_shared<std::vector<double>>();
      for (std::int64_t i = begin_; i < end_; ++i) {
        values->resize(values->size() + static_cast<std::size_t>(source_.length(i)), static_cast<double>(i));
        offsets->push_back(static_cast<std::int64_t>(values->size()));
      }
      chunk = SourceChunk{items(), work(), bytes(), {}};
      chunk.arrays.resize(1);
      chunk.arrays[0].data.emplace_back(values, values->data());
      chunk.arrays[0].offsets = {offsets, offsets->data()};
    }
    void complete() override {
      CHECK(source_.complete == begin_);
      source_.complete = end_;
    }

   private:
    Pieces& source_;
    std::int64_t begin_, end_;
  };
  std::int64_t length(std::int64_t item) const { return lengths_[static_cast<std::size_t>(item)]; }

  SourceInfo info_;
  std::vector<std::int64_t> lengths_;
  std::int64_t fails_at_, at_ = 0;
};

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

/// Half of the items small, half large; the others the other way round.
std::vector<std::int64_t> lengths(std::int64_t first, std::int64_t second) {
  std::vector<std::int64_t> lengths(400, second);
  std::fill(lengths.begin(), lengths.begin() + 200, first);
  return lengths;
}

TEST_CASE("pieces of sources side by side keep to the bytes of a chunk, and no item is lost") {
  const auto leading = std::make_shared<Pieces>(lengths(1, 50));
  const auto other = std::make_shared<Pieces>(lengths(40, 0));
  runtime::ZippedSources zipped({leading, other}, INT64_MAX);
  std::vector<std::unique_ptr<runtime::ZippedPiece>> pieces;
  while (auto piece = zipped.split({.bytes = 4'000, .memory = 1'000'000})) {
    // Of one what it is asked for, of the other twice that; and a part counts the whole.
    CHECK(piece->bytes() <= 3 * 4'000);
    pieces.push_back(std::move(piece));
  }
  CHECK(pieces.size() >= 20);
  // Read by whoever, whenever: the last first.
  std::vector<std::vector<std::vector<SourceChunk>>> read;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
    read.insert(read.begin(), (*piece)->read());
  std::int64_t item = 0;
  for (const auto& parts : read)
    for (const auto& part : parts) {
      REQUIRE(part.size() == 2);
      REQUIRE(part[0].first == item);
      REQUIRE(part[0].items == part[1].items);
      for (std::int64_t i = 0; i < part[0].items; ++i, ++item)
        for (std::size_t s = 0; s < 2; ++s) {
          const auto* offsets = static_cast<const std::int64_t*>(part[s].arrays[0].offsets.get());
          const std::int64_t length = s == 0 ? (item < 200 ? 1 : 50) : (item < 200 ? 40 : 0);
          REQUIRE(offsets[i + 1] - offsets[i] == length);
          if (length > 0)
            CHECK(static_cast<const double*>(part[s].arrays[0].data[0].get())[offsets[i]] ==
                  static_cast<double>(item));
        }
    }
  CHECK(item == 400);
  CHECK(leading->reads == 21);  // 206 items, then 20 times at most 10: what is parted is read once
  for (const auto& piece : pieces) piece->complete();
  CHECK(leading->complete == 400);
  CHECK(other->complete == 400);
}

TEST_CASE("each part of a piece that cannot be read says so, and it is tried once") {
  const auto leading = std::make_shared<Pieces>(lengths(1, 50), 7);
  const auto other = std::make_shared<Pieces>(lengths(40, 0));
  runtime::ZippedSources zipped({leading, other}, INT64_MAX);
  for (int piece = 0; piece < 3; ++piece)
    CHECK_THROWS_AS(zipped.split({.bytes = 4'000, .memory = 1'000'000})->read(), IoError);
  CHECK(leading->reads == 1);
}

}  // namespace anabranch::testing
