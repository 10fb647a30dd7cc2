#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "market_entries.h"

/// Sorting matrix entries in memory.
namespace anabranch::io::detail {

/// Sorts by row, then column; entries at the same place keep their order and are then summed in it. Returns
/// the number that remain. `scratch` has the same size as `entries`.
template <class I>
std::int64_t sort_and_sum(std::span<Entry<I>> entries, std::span<Entry<I>> scratch);

}  // namespace anabranch::io::detail
