#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

/// Makes a program that shows a fault as small as it can.
namespace anabranch::testing {

/// Does a program, the array computations it gives, still show the fault? It may not throw.
using ShowsFault = std::function<bool(const std::vector<ir::Ref>& program)>;

/// Drops results, puts operands and small constants in the place of computations, and takes items and elements
/// away from the data, as long as the fault stays. Programs are tried at most `attempts` times.
std::vector<ir::Ref> shrunk(std::vector<ir::Ref> program, const ShowsFault& shows_fault, int attempts = 2000);

/// Nodes and elements of data: what shrinking makes less of.
std::int64_t weight_of(const std::vector<ir::Ref>& program);

}  // namespace anabranch::testing
