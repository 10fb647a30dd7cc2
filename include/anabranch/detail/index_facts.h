#pragma once

namespace anabranch::detail {

/// What is known of the indices at which a reordering (backpermute) reads its array.
struct IndexFacts {
  bool injective = false;  ///< no element is read twice
  bool in_bounds = false;  ///< every index is in range
};

}  // namespace anabranch::detail
