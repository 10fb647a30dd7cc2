#pragma once

#include <cstdint>

namespace anabranch::detail {

/// Which prefixes of a row a scan gives.
enum class Prefixes : std::uint8_t {
  inclusive,  ///< of each element: all up to it, and it
  exclusive,  ///< of each element: the seed and all before it
  all,        ///< the seed, then the inclusive ones: one more than there are elements
};

struct ScanKind {
  Prefixes prefixes = Prefixes::inclusive;
  /// Rows are taken from their last element to their first, and the prefixes written from last to first.
  bool from_right = false;
  friend bool operator==(const ScanKind&, const ScanKind&) = default;
};

}  // namespace anabranch::detail
