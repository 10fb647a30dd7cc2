#pragma once

#include <span>
#include <vector>

#include "fuse/options.h"
#include "ir/node.h"

/// Components of tuples each by itself. A map or generate that makes tuples, all of whose readers are maps that take
/// components of them, becomes several, one for each set of components that belong together; components that
/// nobody takes are gone. So array fusion counts the uses of each component, and what is stored has no component
/// that is not needed. What a component is computed from is not computed twice: where two have more in common
/// than it takes to read an element back they stay together. So do those that the same readers take, but for what
/// several of them can compute again.
namespace anabranch::fuse {

std::vector<ir::Ref> components(std::span<const ir::Ref> roots, const Options& options = {});

}  // namespace anabranch::fuse
