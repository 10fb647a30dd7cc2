#pragma once

#include <cstdint>
#include <string_view>

#include <anabranch/array.h>
#include <anabranch/source.h>

namespace anabranch::apps {

/// Calls f(number from 1 on, line) for all lines of a text.
template <class F>
void each_line(const Source<Vector<std::uint8_t>>& lines, F&& f) {
  SourceChunk chunk;
  for (std::int64_t number = 1; lines.erased()->next({.bytes = 1 << 20}, chunk);) {
    const void* const offsets = chunk.arrays[0].offsets.get();
    const auto offset = [&](std::int64_t i) -> std::int64_t {
      if (lines.info().arrays[0].offsets == OffsetType::int32)
        return static_cast<const std::int32_t*>(offsets)[i];
      return static_cast<const std::int64_t*>(offsets)[i];
    };
    const auto* bytes = static_cast<const char*>(chunk.arrays[0].data[0].get());
    for (std::int64_t i = 0; i < chunk.items; ++i)
      f(number++, std::string_view(bytes + offset(i), static_cast<std::size_t>(offset(i + 1) - offset(i))));
  }
}

}  // namespace anabranch::apps
