#pragma once

#include "fuse/options.h"
#include "ir/staged.h"

/// Array fusion: decides which array computations are stored (*manifest*) and which exist only as an index
/// function inside the kernels that read them (*delayed*). (*Optimising Purely Functional GPU Programs*,
/// section 5; the choice here is made on the whole graph by a cost model.)
///
/// Manifest are: what is given (host arrays, items, arguments, results of streams, loops and branches),
/// reductions and scans, results, what a loop, a branch or a stream of rows takes, arrays that the extents of others
/// read, and what is read at positions that only run time knows. Then, unless computing it again is as cheap as reading it
/// back, what a chunk uses though it does not depend on the item (once per run, not once per item), what is
/// read repeatedly, and what several kernels read (one kernel, at its own position, reads it once). Last,
/// where a chain would exceed the size of a kernel or must be read by row-major position and cannot be.
/// Everything else is delayed into its reader.
namespace anabranch::fuse {

ir::Staged arrays(ir::Staged staged, const Options& options = {});

/// Does an array computation read more of this array than its shape? A map may have a function that does not mention the
/// element.
bool takes(const ir::Node& reader, const ir::Node& source);

/// May elements of this delayed array be found by row-major position without division?
bool reads_linearly(const ir::Staged& staged, const ir::Node& array);

}  // namespace anabranch::fuse
