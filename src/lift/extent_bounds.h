#pragma once

#include <cstdint>
#include <functional>

#include "ir/node.h"

/// Interval analysis of int64 terms: what the extents of computed arrays can be.
namespace anabranch::lift {

struct Bounds {
  std::int64_t least = INT64_MIN, most = INT64_MAX;
};

/// Elements that an array in memory has at most, of any type.
inline constexpr std::int64_t most_in_memory = std::int64_t{1} << 48;

/// What the term can be, whatever the data are. Where a part of it may wrap around nothing is known. `is_extent`: a term
/// that is between 0 and ir::most_extent, because it is given or because the run compares it.
Bounds bounds_of(const ir::Ref& term, const std::function<bool(const ir::Node&)>& is_extent);

}  // namespace anabranch::lift
