#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "fuse/arrays.h"
#include "fuse/needs.h"

/// Horizontal fusion: reductions that share a traversal.
///
/// Reductions become one kernel (`Staged::together`) where their rows have the same extents, their operators
/// are of the same class of order, both belong to the run or to the same stage, neither's value is needed
/// for the other, and both are computed before other kernels can be sized, or neither. Their results are what separate kernels give, bit for bit, as the order of a reduction is a
/// function of the row's length and the operator's class alone. (Futhark's SegRed with several operators.)
namespace anabranch::fuse {

/// `order`: all array computations, operands first. `cost`: what an element of each costs, its operands
/// included. `for_extents`: must a reduction be computed before other kernels can be sized?
void folds(ir::Staged& staged, std::span<const ir::Node* const> order, const Needs& needs,
           const std::function<std::int64_t(const ir::Node&)>& cost,
           const std::function<bool(const ir::Node&)>& for_extents, const Options& options);

}  // namespace anabranch::fuse
