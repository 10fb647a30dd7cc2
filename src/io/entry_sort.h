#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "market_entries.h"

/// Sorting matrix entries in memory.
namespace anabranch::io::detail {

/// Adds integers held as doubles: false if their sum was rounded. (It tells the same of other numbers.)
inline bool add(double& sum, double value) {
  const double before = sum;
  sum += value;
  const double added = sum - before;  // the error of an addition is a double (Knuth, TAOCP 2, 4.2.2)
  return (before - (sum - added)) + (value - added) == 0;
}

template <class I>
struct Sorted {
  std::int64_t kept = 0;              ///< entries that remain
  std::optional<Entry<I>> rounded{};  ///< the first whose sum is not exact
};

/// Sorts by row, then column; entries at the same place keep their order and are then summed in it. `scratch`
/// has the same size as `entries`.
template <class I>
Sorted<I> sort_and_sum(std::span<Entry<I>> entries, std::span<Entry<I>> scratch);

}  // namespace anabranch::io::detail
