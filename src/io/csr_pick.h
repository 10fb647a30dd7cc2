#pragma once

#include <algorithm>
#include <cstdint>

#include <anabranch/source.h>

/// How many rows fit a limit.
namespace anabranch::io::detail {

/// Bytes of a CSR chunk.
struct CsrCost {
  std::int64_t per_row = 0;    ///< of an offset
  std::int64_t per_entry = 0;  ///< of a column and a value

  std::int64_t bytes(std::int64_t rows, std::int64_t entries) const {
    return (rows + 1) * per_row + entries * per_entry;
  }
};

/// Of the rows whose ends are ends[0..n) (non-decreasing, counted like `base`, where the chunk begins), the
/// number that can join a chunk of `taken` rows under the limit. The chunk's first row always can.
template <class P>
std::int64_t rows_that_fit(const P* ends, std::int64_t n, std::int64_t base, std::int64_t taken,
                           const CsrCost& cost, const Limit& limit) {
  n = std::min(n, std::max<std::int64_t>(limit.items - taken, 0));
  std::int64_t fit = 0;
  std::int64_t length = n;
  while (length > 0) {  // the first row that does not fit, by bisection: cost rises with the row
    const std::int64_t half = length / 2;
    const std::int64_t entries = ends[fit + half] - base;
    if (entries <= limit.work && cost.bytes(taken + fit + half + 1, entries) <= limit.bytes) {
      fit += half + 1;
      length -= half + 1;
    } else {
      length = half;
    }
  }
  return taken == 0 ? std::max<std::int64_t>(fit, 1) : fit;
}

}  // namespace anabranch::io::detail
