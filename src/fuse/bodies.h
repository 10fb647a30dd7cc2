#pragma once

#include <span>
#include <vector>

#include "ir/node_map.h"
#include "ir/staged.h"

/// Loops and branches: which arrays a program computes itself, and which ones the bodies inside of it take
/// from it.
///
/// What a loop's body mentions and what does not depend on its state is computed once, before the loop. Of
/// what the sides of a branch mention that only is computed before it which the program computes anyway; all
/// else belongs to the side, as the side that is not taken does not run.
namespace anabranch::fuse {

/// All nodes that the program with these results computes itself, children before parents: bodies are left
/// out, what a loop takes is in.
std::vector<const ir::Node*> own_nodes(std::span<const ir::Ref> results);

/// A body of a loop, or a side of a branch, as a program before its passes.
struct OpenBody {
  std::vector<ir::Ref> captured;  ///< arrays of the outer program
  std::vector<ir::Ref> parameters, results;
};
OpenBody body_of_loop(const ir::Ref& function);
/// `computed`: the arrays that the outer program computes itself.
OpenBody side_of_branch(const ir::Ref& function, const ir::NodeSet& computed);

}  // namespace anabranch::fuse
