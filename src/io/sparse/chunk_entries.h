#pragma once

#include <cstdint>

#include <anabranch/source.h>

/// Chunks of rows, entry by entry.
namespace anabranch::io::detail {

/// Calls give(row, number) for each element of a chunk of vectors in order: the number of its item in the stream, the first
/// of which is `first`, and its number in the chunk's buffers.
template <class Give>
void each_element(const SourceChunk& chunk, const ArrayInfo& info, std::int64_t first, Give give) {
  const auto walk = [&](const auto* offsets) {
    for (std::int64_t i = 0; i < chunk.items; ++i)
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) give(first + i, e);
  };
  const void* const offsets = chunk.arrays[0].offsets.get();
  info.offsets == OffsetType::int32 ? walk(static_cast<const std::int32_t*>(offsets))
                                    : walk(static_cast<const std::int64_t*>(offsets));
}

}  // namespace anabranch::io::detail
