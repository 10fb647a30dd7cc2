#pragma once

#include <span>
#include <vector>

#include "fuse/options.h"
#include "ir/node.h"

/// Components of tuples each by itself. A map or generate that makes tuples of which all readers take components becomes
/// several, one for each set of components that belong together; components that nobody takes are gone. So array fusion
/// counts the uses of each component, and what is stored has no component that is not needed. What a component is
/// computed from is not computed twice: where two have more in common than it takes to read an element back they stay
/// together. So do those that the same readers take, but for what several of them can compute again, and those that are
/// read at one computed position.
///
/// What has its elements from another array (backpermute, reshape, part, select, compute) is apart as that one is. Of what
/// a sequence's function or a branch gives, only those components are computed that are taken of the items, or of the
/// branch. Folds, scans, sorts and the states of loops stay whole, as their components depend on each other.
namespace anabranch::fuse {

std::vector<ir::Ref> components(std::span<const ir::Ref> roots, const Options& options = {});

}  // namespace anabranch::fuse
