#pragma once

#include <span>
#include <vector>

#include "ir/node.h"

/// Contraction: `x * y + z` on floats, written inside one user function, becomes an explicit fma(x, y, z),
/// once, before any back end sees the program. After this pass nothing is ever contracted or reassociated, so
/// the interpreter, the CPU and the GPU round in the same places. A product that is used elsewhere too is
/// left alone (it would be computed twice), and so are x * y - z and functions that fusion later puts
/// together: `fold(plus, 0, zip_with(times, ...))` keeps its two roundings.
namespace anabranch::front {

std::vector<ir::Ref> contract(std::span<const ir::Ref> roots);

}  // namespace anabranch::front
