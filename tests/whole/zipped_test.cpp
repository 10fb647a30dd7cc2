// Sources that are read in step share the bytes of a chunk.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
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
  const auto counter = [] { return runtime::make_counter(10'000, true); };
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
  for (std::size_t p = 0; p < read.size(); ++p)
    for (const auto& part : read[p]) {
      REQUIRE(part.size() == 2);
      if (&part == read[p].data()) REQUIRE(pieces[p]->first() == item);
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

/// Items that pieces have, all sources alike.
std::int64_t items_of_pieces(runtime::ZippedSources& zipped, const Limit& limit) {
  std::int64_t items = 0;
  while (const auto piece = zipped.split(limit)) {
    REQUIRE(piece->first() == items);
    for (const auto& part : piece->read())
      for (const SourceChunk& chunk : part) {
        REQUIRE(chunk.items == part[0].items);
        if (&chunk == &part.back()) items += chunk.items;
      }
    piece->complete();
  }
  return items;
}

using Sources = std::vector<std::shared_ptr<SourceBase>>;

/// Calls f with the three sources that `make` makes, in every order.
void in_every_order(const std::function<Sources()>& make, const std::function<void(Sources)>& f) {
  std::vector<std::size_t> order{0, 1, 2};
  do {
    const Sources all = make();
    INFO("order " << order[0] << order[1] << order[2]);
    f({all[order[0]], all[order[1]], all[order[2]]});
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("of three sources in pieces, one that ends ends the stream, and not before its last item") {
  // The bytes of a chunk allow the first one, which leads, 50 small items, and the last one five large ones: by then the one
  // in the middle may be known to have ended.
  const auto lengths_of = [](std::int64_t first, std::int64_t then) {
    std::vector<std::int64_t> all(100, then);
    std::fill_n(all.begin(), 50, first);
    return all;
  };
  for (const std::int64_t end : {1, 3, 10, 45, 60, 99, 100}) {
    INFO("items of the shortest " << end);
    const auto make = [&] {
      return Sources{std::make_shared<Pieces>(lengths_of(1, 500)),
                     std::make_shared<Pieces>(std::vector<std::int64_t>(static_cast<std::size_t>(end), 1)),
                     std::make_shared<Pieces>(lengths_of(100, 1))};
    };
    in_every_order(make, [&](Sources sources) {
      runtime::ZippedSources zipped(std::move(sources), INT64_MAX);
      CHECK(items_of_pieces(zipped, {.bytes = 2'000, .memory = 1'000'000}) == end);
    });
  }
}

TEST_CASE("nine sources in pieces end with the shortest, wherever it is") {
  for (std::size_t shortest = 0; shortest < 9; ++shortest) {
    INFO("the shortest is source " << shortest);
    Sources sources;
    for (std::size_t s = 0; s < 9; ++s)
      sources.push_back(std::make_shared<Pieces>(
          std::vector<std::int64_t>(s == shortest ? 70 : 100, static_cast<std::int64_t>(1 + 13 * s))));
    runtime::ZippedSources zipped(std::move(sources), INT64_MAX);
    CHECK(items_of_pieces(zipped, {.bytes = 2'000, .memory = 1'000'000}) == 70);
  }
}

/// Single numbers, of which one cannot be read.
class Damaged final : public SourceBase {
 public:
  Damaged(std::int64_t items, std::int64_t damaged, bool in_pieces, std::int64_t most = INT64_MAX)
      : items_(items), damaged_(damaged), most_(most) {
    info_.name = "damaged";
    info_.arrays = {{{ScalarType::float64}, {}}};
    info_.live = false;
    info_.splits = in_pieces;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (at_ == damaged_) throw DataError("damaged");
    if (at_ == items_) return false;
    std::int64_t n = std::min({limit.items, items_ - at_, most_});
    if (at_ < damaged_) n = std::min(n, damaged_ - at_);
    const auto values = std::make_shared<std::vector<double>>(static_cast<std::size_t>(n));
    chunk = SourceChunk{n, n, 8 * n, {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    at_ += n;
    return true;
  }

 private:
  SourceInfo info_;
  std::int64_t items_, damaged_, most_, at_ = 0;
};

TEST_CASE("what is damaged behind the end of the shortest source is no error, in whichever order they are") {
  const auto sources = [](int order, std::int64_t end, bool in_pieces) {
    std::vector<std::shared_ptr<SourceBase>> all{std::make_shared<Damaged>(100, 50, in_pieces),
                                                 std::make_shared<Damaged>(end, -1, in_pieces)};
    if (order == 1) std::swap(all[0], all[1]);
    return all;
  };
  for (const int order : {0, 1})
    for (const bool in_pieces : {false, true})
      for (const std::int64_t limit : {1, 7, 50, 1000}) {
        INFO("order " << order << ", in pieces " << in_pieces << ", limit " << limit);
        const auto items = [&](std::int64_t end) {
          runtime::ZippedSources zipped(sources(order, end, in_pieces), INT64_MAX);
          if (in_pieces) return items_of_pieces(zipped, {.items = limit, .memory = 1'000'000});
          std::int64_t count = 0;
          for (std::vector<SourceChunk> chunks; zipped.next({.items = limit}, chunks);)
            count += chunks[0].items;
          return count;
        };
        CHECK(items(50) == 50);
        CHECK(items(20) == 20);
        CHECK_THROWS_AS(items(51), DataError);
      }
}

TEST_CASE("of three sources in pieces, what is damaged behind the end of the shortest is no error, either") {
  for (const std::int64_t end : {40, 50, 51}) {
    INFO("items of the shortest " << end);
    const auto make = [&] {
      return Sources{std::make_shared<Damaged>(100, -1, true), std::make_shared<Damaged>(100, 50, true, 30),
                     std::make_shared<Damaged>(end, -1, true)};
    };
    in_every_order(make, [&](Sources sources) {
      runtime::ZippedSources zipped(std::move(sources), INT64_MAX);
      const Limit limit{.items = 1000, .memory = 1'000'000};
      if (end <= 50)
        CHECK(items_of_pieces(zipped, limit) == end);
      else
        CHECK_THROWS_AS(items_of_pieces(zipped, limit), DataError);
    });
  }
}

/// Single numbers. When it is asked for item 20 it does something else, once.
class Scripted final : public SourceBase {
 public:
  explicit Scripted(std::function<std::int64_t()> at_20) : at_20_(std::move(at_20)) {
    info_.name = "scripted";
    info_.arrays = {{{ScalarType::float64}, {}}};
    info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (ended_ || at_ == 100) return false;
    std::int64_t n = std::min({limit.items, 100 - at_, std::int64_t{5}});
    if (at_ == 20 && at_20_) {
      try {
        n = std::exchange(at_20_, nullptr)();
      } catch (const DataError&) {
        ended_ = true;  // whoever goes on behind a failure finds no more
        throw;
      }
    }
    const auto values = std::make_shared<std::vector<double>>(static_cast<std::size_t>(n));
    chunk = SourceChunk{n, n, 8 * n, {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    at_ += n;
    return true;
  }

 private:
  SourceInfo info_;
  std::int64_t at_ = 0;
  bool ended_ = false;
  std::function<std::int64_t()> at_20_;
};

TEST_CASE("what fails in one source while another one waits for memory is told") {
  // The first is tried again; that the second one has failed by then must not be forgotten.
  const auto items_of = [](std::function<std::int64_t()> first, std::function<std::int64_t()> second) {
    std::int64_t items = 0;
    runtime::ZippedSources zipped(
        {std::make_shared<Scripted>(std::move(first)), std::make_shared<Scripted>(std::move(second))});
    for (std::vector<SourceChunk> chunks;;) {
      try {
        if (!zipped.next({.items = 5}, chunks)) return items;
        items += chunks[0].items;
      } catch (const ItemTooBig&) {  // NOLINT(bugprone-empty-catch): once more
      }
    }
  };
  const auto too_big = []() -> std::int64_t { throw ItemTooBig("an item waits", 100); };
  const auto damaged = []() -> std::int64_t { throw DataError("damaged"); };
  CHECK_THROWS_AS(items_of(too_big, damaged), DataError);
  CHECK_THROWS_AS(items_of(damaged, too_big), DataError);
  CHECK_THROWS_AS(items_of(too_big, [] { return std::int64_t{7}; }), RunError);  // more than it was asked for
  CHECK(items_of(nullptr, nullptr) == 100);
}

}  // namespace anabranch::testing
