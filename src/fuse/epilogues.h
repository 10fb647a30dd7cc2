#pragma once

#include <functional>
#include <span>
#include <utility>

#include "fuse/needs.h"
#include "fuse/options.h"
#include "ir/node_map.h"
#include "ir/staged.h"

namespace anabranch::fuse {

/// How the program reads its arrays, as far as epilogues ask.
struct Reads {
  std::span<const std::pair<const ir::Node*, const ir::Node*>> all;  ///< array, and what reads its elements
  std::function<bool(const ir::Node&)> is_needed;  ///< by the program itself, whoever reads it
};

/// Maps of what folds, scans and recurrences give, at its own position: computed where that is stored, in one kernel. The
/// result itself is stored only if somebody else reads it.
///
/// A map is such an epilogue if what it reads besides is there before the kernel runs in any case, if it cannot fail and
/// has no loops, and, of results with a shape, if it mentions nothing else that depends on the item. `order`: arrays,
/// operands first; `cost`: of an element; `for_extents`: must an
/// array be computed before other kernels can be sized?
void epilogues(ir::Staged& staged, std::span<const ir::Node* const> order, const Reads& reads,
               const Needs& needs, const std::function<std::int64_t(const ir::Node&)>& cost,
               const std::function<bool(const ir::Node&)>& for_extents, const Options& options);

}  // namespace anabranch::fuse
