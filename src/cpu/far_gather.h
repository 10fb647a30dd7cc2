#pragma once

#include "cpu/launch.h"

/// Whether what a gather reads should be fetched ahead. It costs some instructions for each element, and gains where elements
/// come from beyond the core's own caches, one by one.
namespace anabranch::cpu {

/// Where the positions of a launch end in memory, if the array that is read is larger than the caches (of the core where rows are
/// short, else the shared one), and of neighbouring positions, of which some are looked at, many lie in lines of their own;
/// else null.
const void* end_of_far_positions(const GatherFacts& facts, const Bindings& bindings);

}  // namespace anabranch::cpu
