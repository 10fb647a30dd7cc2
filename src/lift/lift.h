#pragma once

#include <functional>
#include <span>

#include "ir/staged.h"

/// Lifting: decides, for every array computation of a stage, what it looks like inside a chunk of items:
/// avoided, regular or segmented, and never more than it must be (*Streaming Irregular Arrays*, section 4;
/// ours differs in that the decision is made by a symbolic shape analysis rather than by types alone).
///
/// The analysis gives every array its extents as int64 expressions over three kinds of leaves: extents of the
/// item's own arrays (components of a source that share a descriptor share these leaves), uniform extents,
/// and values that do not depend on the item. Expressions are hash-consed and folded, so two values whose
/// extents come from the same place have identical extents: zip_with on them needs no intersection, and they
/// share one descriptor. An extent is uniform if no item parameter is free in it; an array with uniform
/// extents only is regular; one that does not depend on the item at all is avoided and will be computed once
/// per run.
///
/// Scalar code is never turned into array code: inside a kernel it stays a function of (item, index). So
/// lifting rewrites only `shape`, which becomes these expressions; everything else is in Staged::facts.
namespace anabranch::lift {

struct Options {
  /// false: components of a source that share a descriptor are not known equal in shape (for tests).
  bool shape_analysis = true;
  bool ranges = true;  ///< false: every index is checked that is not in range by construction (for tests)
  /// Sequence fusion, for the programs of sequences inside of stages.
  std::function<ir::Staged(std::span<const ir::Ref> results, std::span<const ir::Ref> parameters)>
      sequences{};
};

ir::Staged lift(ir::Staged staged, const Options& options = {});

}  // namespace anabranch::lift
