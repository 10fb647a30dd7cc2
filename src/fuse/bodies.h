#pragma once

#include <vector>

#include "ir/node_map.h"
#include "ir/staged.h"

namespace anabranch::fuse {

/// A body of a loop, or a side of a branch, as a program before its passes.
struct OpenBody {
  std::vector<ir::Ref> captured;  ///< arrays of the outer program
  std::vector<ir::Ref> parameters, results;
};
OpenBody body_of_loop(const ir::Ref& function);
/// `computed`: the arrays that the outer program computes itself.
OpenBody side_of_branch(const ir::Ref& function, const ir::NodeSet& computed);

}  // namespace anabranch::fuse
