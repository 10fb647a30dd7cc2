#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <anabranch/source.h>

#include "support/catch.h"
#include "support/chunk_items.h"

/// What a source gives, whatever its arrays are, item by item.
namespace io_test {

using anabranch::testing::array_at;
using anabranch::testing::bytes_of;
using anabranch::testing::ReadArray;
using anabranch::testing::ReadItem;
using anabranch::testing::ReadItems;
using anabranch::testing::values_of;
using anabranch::testing::vector_item;

inline void append_items(const anabranch::SourceBase& source, const anabranch::SourceChunk& chunk,
                         ReadItems& items) {
  const auto& infos = source.info().arrays;
  REQUIRE(chunk.arrays.size() == infos.size());
  for (std::int64_t i = 0; i < chunk.items; ++i) {
    ReadItem& item = items.emplace_back();
    for (std::size_t a = 0; a < infos.size(); ++a) item.push_back(array_at(infos[a], chunk.arrays[a], i));
  }
}

/// All that is left of it, in chunks under this limit.
inline ReadItems items_of(anabranch::SourceBase& source, const anabranch::Limit& limit = {}) {
  ReadItems items;
  anabranch::SourceChunk chunk;
  while (source.next(limit, chunk)) {
    REQUIRE(chunk.items > 0);
    REQUIRE(chunk.items <= std::max<std::int64_t>(limit.items, 1));
    append_items(source, chunk, items);
  }
  CHECK_FALSE(source.next(limit, chunk));
  return items;
}

/// The same by pieces, which three threads read, the last ones first.
inline ReadItems items_in_pieces(anabranch::SourceBase& source, const anabranch::Limit& limit = {}) {
  std::vector<std::unique_ptr<anabranch::SourcePiece>> pieces;
  while (auto piece = source.split(limit)) pieces.push_back(std::move(piece));
  std::vector<anabranch::SourceChunk> chunks(pieces.size());
  std::vector<std::exception_ptr> failed(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < failed.size(); ++t)
      threads.emplace_back([&, t] {
        try {
          for (std::size_t i = pieces.size(); i-- > 0;)
            if (i % failed.size() == t) pieces[i]->read(chunks[i]);
        } catch (...) {
          failed[t] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failed)
    if (failure) std::rethrow_exception(failure);
  ReadItems items;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is_open = pieces[i]->items() < 0 && !limit.counted;
    CHECK((is_open || pieces[i]->items() == chunks[i].items));
    CHECK((chunks[i].items > 0 && chunks[i].items <= limit.items));
    pieces[i]->complete();
    append_items(source, chunks[i], items);
  }
  return items;
}

inline const std::vector<anabranch::Limit>& some_limits() {
  static const std::vector<anabranch::Limit> limits{
      {}, {1}, {7}, {INT64_MAX, 500}, {INT64_MAX, 0}, {INT64_MAX, INT64_MAX, 13}};
  return limits;
}

/// Memory for chunks, which knows what it gave.
class GivenMemory {
 public:
  anabranch::ChunkMemory function() {
    return [this](std::int64_t bytes) -> std::shared_ptr<void> {
      void* const at = std::aligned_alloc(64, (static_cast<std::size_t>(bytes) + 63) / 64 * 64);
      const std::lock_guard lock(mutex_);
      ranges_[static_cast<const char*>(at)] = std::max<std::int64_t>(bytes, 1);
      return {at, [this](void* p) {
                const std::lock_guard erasing(mutex_);
                ranges_.erase(static_cast<const char*>(p));
                std::free(p);
              }};
    };
  }
  /// How many buffers of the chunk lie there, and how many elsewhere.
  std::pair<int, int> count(const anabranch::SourceChunk& chunk) const {
    std::pair<int, int> out;
    const auto note = [&](const void* at) {
      if (at) ++(contains(static_cast<const char*>(at)) ? out.first : out.second);
    };
    for (const anabranch::ArrayChunk& array : chunk.arrays) {
      for (const auto& data : array.data) note(data.get());
      note(array.offsets.get());
    }
    return out;
  }
  bool holds_nothing() const { return ranges_.empty(); }

 private:
  bool contains(const char* at) const {
    const auto next = ranges_.upper_bound(at);
    return next != ranges_.begin() && at < std::prev(next)->first + std::prev(next)->second;
  }

  std::mutex mutex_;
  std::map<const char*, std::int64_t> ranges_;
};

/// What is left of a source, the first chunk where it likes, some in memory that is given for them, the others where it
/// likes again.
inline anabranch::testing::ReadItems items_in_given_memory(anabranch::SourceBase& source) {
  GivenMemory given;
  ReadItems items;
  anabranch::SourceChunk chunk;
  const auto read = [&](bool there) {
    if (!source.next({2}, chunk)) return;
    append_items(source, chunk, items);
    const auto [here, elsewhere] = given.count(chunk);
    CHECK((there ? elsewhere : here) == 0);
  };
  read(false);
  source.use_memory(given.function());
  for (int k = 0; k < 3; ++k) read(true);
  chunk = {};
  source.use_memory({});
  CHECK(given.holds_nothing());
  while (source.next({7}, chunk)) {
    CHECK(given.count(chunk).first == 0);
    append_items(source, chunk, items);
  }
  return items;
}

/// The source gives these items, in chunks and pieces of any size, in every pass.
inline void check_source(anabranch::SourceBase& source, const ReadItems& expected) {
  for (const anabranch::Limit& limit : some_limits()) {
    source.rewind();
    CHECK(items_of(source, limit) == expected);
    source.rewind();
    CHECK(items_in_pieces(source, limit) == expected);
  }
  // A pass that is given up.
  source.rewind();
  anabranch::SourceChunk chunk;
  CHECK(source.next({3}, chunk) == !expected.empty());
  source.rewind();
  (void)source.split({3});
  source.rewind();
  CHECK(items_of(source, {64}) == expected);
  source.rewind();
  CHECK(items_in_given_memory(source) == expected);
}

}  // namespace io_test
