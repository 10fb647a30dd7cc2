#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "fuse/needs.h"
#include "fuse/options.h"
#include "ir/staged.h"

/// Horizontal fusion: stored arrays that are computed element by element and share a kernel (`Staged::together`).
///
/// They have the same extents, belong to the run or to the same stage, and neither needs the other. Those with a dimension
/// read what they read at their own position, and have some array in common: it is read once, and what several compute
/// from it is computed once. Single elements, of which there is one for each item or one in all, share a kernel whatever
/// they read: a launch takes longer than they do. What may fail stays alone, so that the first failure is the first
/// operation's.
namespace anabranch::fuse {

/// `order`: all array computations, operands first. `cost`: what an element of each costs, its operands
/// included. `alone`: must an array be computed before other kernels can be sized?
void maps(ir::Staged& staged, std::span<const ir::Node* const> order, const Needs& needs,
          const std::function<std::int64_t(const ir::Node&)>& cost,
          const std::function<bool(const ir::Node&)>& alone, const Options& options);

}  // namespace anabranch::fuse
