#pragma once

#include <cstdint>

#include <anabranch/source.h>

#include "ir/extents.h"

/// Parts of chunks, and of their arrays.
namespace anabranch::runtime {

/// Items [begin, end) of a chunk, or elements of an array.
struct ItemRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t items() const { return end - begin; }
};

/// May the items of an array lie over each other, each where its last extents say? Such arrays are regular.
bool overlap(const ArrayChunk& array, const ArrayInfo& info);
/// Where the items of such an array lie: they come in rising order.
ItemRange stretch(const ArrayChunk& array, const ArrayInfo& info, std::int64_t items);

}  // namespace anabranch::runtime
