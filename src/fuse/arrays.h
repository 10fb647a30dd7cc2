#pragma once

#include "ir/staged.h"

/// Array fusion: decides which array computations are stored (*manifest*) and which exist only as an index
/// function inside the kernels that read them (*delayed*). (*Optimising Purely Functional GPU Programs*,
/// section 5; the choice here is made on the whole graph by a cost model.)
///
/// Manifest are: results; folds; what is read at positions that only run time knows, and so more than once
/// or out of range (index, a slice at a computed position); what does not depend on the item but is used by
/// a chunk (once per run, not once per item), and what several readers need, unless recomputing it is as
/// cheap as reading it back. Everything else is delayed into its reader: map, generate, backpermute,
/// reshape in any chain.
namespace anabranch::fuse {

struct Options {
  bool fusion = true;       ///< false: everything is manifest (for tests, and to see what fusion does)
  int cheap = 3;            ///< additions-equivalents up to which recomputing beats storing
  int kernel_cap = 2000;    ///< operations of a kernel at most; longer chains are cut
  int most_components = 8;  ///< of elements that one kernel reduces at most: all its totals are in registers
};

ir::Staged arrays(ir::Staged staged, const Options& options = {});

/// May elements of this delayed array be found by row-major position without division?
bool reads_linearly(const ir::Staged& staged, const ir::Node& array);

}  // namespace anabranch::fuse
