#pragma once

#include <span>
#include <vector>

#include "ir/node.h"

/// Sharing recovery. A C++ variable used twice is one handle and so already one node: sharing is observable
/// and never lost (the problem of section 3 of *Optimising Purely Functional GPU Programs* does not arise).
/// What this pass adds is hash-consing: terms that are structurally equal, though written twice, become one
/// node, and constant integer subterms are folded. Functions are equal only where they are the same node, so an
/// array with a function that is written twice is two. Where a shared scalar is then bound (never outside the
/// branch that needs it) is decided when bodies are scheduled into kernels; where a shared array is stored is
/// decided by array fusion.
namespace anabranch::front {

std::vector<ir::Ref> share(std::span<const ir::Ref> roots);

}  // namespace anabranch::front
