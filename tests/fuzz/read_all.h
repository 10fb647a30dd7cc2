#pragma once

#include <cstddef>
#include <cstdint>

#include <anabranch/source.h>

namespace fuzz {

using namespace anabranch;

/// Reads every byte that the chunk says is there.
inline void touch(const SourceInfo& info, const SourceChunk& chunk) {
  unsigned sum = 0;
  for (std::size_t a = 0; a < info.arrays.size(); ++a) {
    const ArrayInfo& array = info.arrays[a];
    // Elements that the items have; with offsets there need not be any before those.
    std::int64_t begin = 0, end = chunk.items;
    for (const auto& extent : array.extents) end *= extent.value_or(1);
    if (!array.regular()) {
      const auto offset = [&](std::int64_t item) -> std::int64_t {
        const void* const offsets = chunk.arrays[a].offsets.get();
        return array.offsets == OffsetType::int32 ? static_cast<const std::int32_t*>(offsets)[item]
                                                  : static_cast<const std::int64_t*>(offsets)[item];
      };
      begin = offset(0);
      end = offset(chunk.items);
    }
    for (std::size_t c = 0; c < array.scalars.size(); ++c) {
      const auto width = static_cast<std::int64_t>(size_of(array.scalars[c]));
      for (std::int64_t i = begin * width; i < end * width; ++i)
        sum += static_cast<const unsigned char*>(chunk.arrays[a].data[c].get())[i];
    }
  }
  if (sum == 0xdeadbeef) __builtin_trap();  // so that the reads are made
}

/// Reads what a source gives, in chunks of at most so many items.
inline void read_all(SourceBase& source, std::int64_t items = 1000) {
  SourceChunk chunk;
  Limit limit;
  limit.items = items;
  limit.work = 1000;
  // A few bytes may stand for very many items without elements.
  for (int chunks = 0; chunks < 1000 && source.next(limit, chunk); ++chunks) touch(source.info(), chunk);
}

}  // namespace fuzz
