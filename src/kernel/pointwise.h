#pragma once

#include "kernel/kernel.h"

/// Reads that need no index: those at the position a kernel writes.
namespace anabranch::kernel {

/// Is the node a read at the domain's position at hand, of an array laid out like the domain?
bool is_pointwise(const Kernel& kernel, const ir::Node& node);

/// Is everything the kernel reads at the position it writes?
/// Then it runs over flat positions, whatever the shapes.
bool is_flat(const Kernel& kernel);

/// Of a kernel with rows: is the node a read of the row's element at hand, of an array in which the elements of all rows
/// lie one row after the other?
bool at_own_element(const Kernel& kernel, const ir::Node& node);

/// Of a kernel with rows: are these the only reads but for what all rows share, and is nothing else of an element its
/// own? Then elements can be computed without knowing which row they belong to.
bool is_flat_fold(const Kernel& kernel);

}  // namespace anabranch::kernel
