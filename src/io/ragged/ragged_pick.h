#pragma once

#include <algorithm>
#include <cstdint>

#include <anabranch/source.h>

/// How many items of different lengths fit a limit.
namespace anabranch::io::detail {

/// Bytes of a chunk of them.
struct RaggedCost {
  std::int64_t per_item = 0;     ///< of an offset
  std::int64_t per_element = 0;  ///< of all arrays

  std::int64_t bytes(std::int64_t items, std::int64_t elements) const {
    return (items + 1) * per_item + elements * per_element;
  }
};

/// Of the items whose ends are ends[0..n) (non-decreasing, counted like `base`, where the chunk begins), the
/// number that can join a chunk of `taken` items under the limit. The chunk's first item always can.
template <class P>
std::int64_t items_that_fit(const P* ends, std::int64_t n, std::int64_t base, std::int64_t taken,
                            const RaggedCost& cost, const Limit& limit) {
  n = std::min(n, std::max<std::int64_t>(limit.items - taken, 0));
  std::int64_t fit = 0;
  std::int64_t length = n;
  while (length > 0) {  // the first item that does not fit, by bisection: cost rises with the item
    const std::int64_t half = length / 2;
    const std::int64_t elements = ends[fit + half] - base;
    if (elements <= limit.work && cost.bytes(taken + fit + half + 1, elements) <= limit.bytes) {
      fit += half + 1;
      length -= half + 1;
    } else {
      length = half;
    }
  }
  return taken == 0 ? std::max<std::int64_t>(fit, 1) : fit;
}

}  // namespace anabranch::io::detail
