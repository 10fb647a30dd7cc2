#pragma once

#include <cstdint>
#include <vector>

#include <anabranch/source.h>

/// What sinks ask of a chunk's arrays.
namespace anabranch::io::detail {

/// What a sink holds for each file that it writes.
inline constexpr std::int64_t buffered_bytes = 1 << 20;

using Shape = std::vector<std::int64_t>;

/// Of item number `item`. Offsets are int64.
inline Shape shape_of(const ArrayInfo& info, const ArrayChunk& array, std::int64_t item) {
  Shape shape;
  std::int64_t inner = 1;
  for (std::size_t d = 1; d < info.extents.size(); ++d) inner *= info.extents[d].value_or(1);
  for (std::size_t d = 0; d < info.extents.size(); ++d) {
    if (info.extents[d]) {
      shape.push_back(*info.extents[d]);
    } else if (info.ragged()) {
      const auto* offsets = static_cast<const std::int64_t*>(array.offsets.get()) + item;
      shape.push_back((offsets[1] - offsets[0]) / inner);
    } else {
      shape.push_back(array.extents[d].get()[item]);
    }
  }
  return shape;
}

/// Of the first `items` together.
inline std::int64_t elements_of(const ArrayInfo& info, const ArrayChunk& array, std::int64_t items) {
  if (!info.regular()) return static_cast<const std::int64_t*>(array.offsets.get())[items];
  auto elements = static_cast<std::uint64_t>(items);  // beside an extent of 0 the others may be of any size
  for (const auto& extent : info.extents) elements *= static_cast<std::uint64_t>(*extent);
  return static_cast<std::int64_t>(elements);
}

/// Where the elements of vector `item` begin, of chunks of vectors. With the number of items: where the last one ends.
inline std::int64_t begin_of(const ArrayInfo& info, const ArrayChunk& array, std::int64_t item) {
  return elements_of(info, array, item);
}

}  // namespace anabranch::io::detail
