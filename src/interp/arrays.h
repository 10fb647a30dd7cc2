#pragma once

#include "interp/evaluate.h"

/// Array computations, one element after the other, in row-major order.
namespace anabranch::interp {

/// Executes an array operation that runs no bodies: the array it gives, or all of several. What it needs
/// (Machine::needs) must exist.
std::vector<HostArray> execute(Evaluator& evaluator, Evaluator::Number computation);

/// Zero-filled storage; a bad shape is a RunError of `node`.
HostArray allocate(const Evaluator& evaluator, const ir::Node& node, const ir::Scalars& scalars,
                   std::span<const std::int64_t> extents);

/// The consecutive elements of `array` from row-major position `begin` on, in a shape of their own. Shares
/// the memory.
HostArray view(const HostArray& array, std::int64_t begin, std::vector<std::int64_t> extents);

}  // namespace anabranch::interp
