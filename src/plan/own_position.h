#pragma once

#include "plan/kernel.h"

/// Reads that need no index: those at the position a kernel writes.
namespace anabranch::plan {

/// Is the node a read at the output's own position, of an array laid out like the output?
bool at_own_position(const Kernel& kernel, const ir::Node& node);

/// Is everything the kernel reads at the position it writes? Then it runs over flat positions, whatever the
/// shapes.
bool is_flat(const Kernel& kernel);

}  // namespace anabranch::plan
