#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <anabranch/source.h>

#include "support/catch.h"

/// What a source gives, whatever its arrays are, item by item.
namespace io_test {

/// One array of an item: its shape, and the bytes of each component.
struct ReadArray {
  std::vector<std::int64_t> extents;
  std::vector<std::string> components;
  friend bool operator==(const ReadArray&, const ReadArray&) = default;
};
using ReadItem = std::vector<ReadArray>;
using ReadItems = std::vector<ReadItem>;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
template <class T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// An item that is one vector of scalars.
template <class T>
ReadItem vector_item(const std::vector<T>& values) {
  return {{{static_cast<std::int64_t>(values.size())}, {bytes_of(values)}}};
}

inline ReadArray array_at(const anabranch::ArrayInfo& info, const anabranch::ArrayChunk& chunk,
                          std::int64_t item) {
  using anabranch::OffsetType;
  ReadArray out;
  std::int64_t begin = 0, count = 1, inner = 1;
  const auto offset = [&](std::int64_t i) -> std::int64_t {
    return info.offsets == OffsetType::int32 ? static_cast<const std::int32_t*>(chunk.offsets.get())[i]
                                             : static_cast<const std::int64_t*>(chunk.offsets.get())[i];
  };
  for (std::size_t d = 0; d < info.extents.size(); ++d)
    if (info.extents[d] && d > 0) inner *= *info.extents[d];
  if (info.regular()) {
    for (const auto& e : info.extents) count *= *e;
    begin = item * count;
  } else {
    begin = offset(item);
    count = offset(item + 1) - begin;
  }
  for (std::size_t d = 0; d < info.extents.size(); ++d)
    out.extents.push_back(info.extents[d] ? *info.extents[d]
                          : info.ragged() ? (inner == 0 ? 0 : count / inner)
                                          : chunk.extents.at(d).get()[item]);
  for (std::size_t c = 0; c < info.scalars.size(); ++c) {
    const std::size_t width = anabranch::size_of(info.scalars[c]);
    const auto* data = static_cast<const char*>(chunk.data.at(c).get());
    out.components.emplace_back();
    if (count > 0)
      out.components.back().assign(data + static_cast<std::size_t>(begin) * width,
                                   static_cast<std::size_t>(count) * width);
  }
  return out;
}

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
    CHECK(pieces[i]->items() == chunks[i].items);
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
}

}  // namespace io_test
