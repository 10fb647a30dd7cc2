#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "io/sparse/entry.h"

/// Sorting matrix entries in memory.
namespace anabranch::io::detail {

template <class E>
struct Sorted {
  std::int64_t kept = 0;       ///< entries that remain
  std::optional<E> rounded{};  ///< the first whose sum is not exact
};

/// Sorts by row, then column; entries at the same place keep their order and are then joined in it. `scratch`
/// has the same size as `entries`.
template <class E>
Sorted<E> sort_and_join(std::span<E> entries, std::span<E> scratch);

}  // namespace anabranch::io::detail
