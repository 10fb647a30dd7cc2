#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

/// Range analysis: which indices that a generate or a backpermute computes are in range whatever the data are. An index
/// is taken as a sum of multiples of terms: positions, of which 0 <= i < n is known, extents, which are not negative,
/// minimums, maximums and conditionals, which are one of their operands, quotients and remainders by constants. Both
/// i >= 0 and n - 1 - i >= 0 are then shown by putting bounds in the place of terms. A read of which that is known needs no
/// check, and its array need not be stored. Reads in the bodies of loops inside of an element's computation are not looked at.
namespace anabranch::lift {

using ExtentsOf = std::function<const std::vector<ir::Ref>&(const ir::Ref& array)>;

/// The same array, whose reads are marked as in range, and injective, where it is known that they are. Terms are
/// simplified, and shapes are extents. `extents` are those of `array`; `is_compared`: terms that the run compares with
/// what extents can be.
ir::Ref with_ranges(const ir::Ref& array, const std::vector<ir::Ref>& extents, const ExtentsOf& extents_of,
                    const std::function<bool(const ir::Node&)>& is_compared);

}  // namespace anabranch::lift
