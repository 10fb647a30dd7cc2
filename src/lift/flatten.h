#pragma once

#include <functional>

#include "ir/node_map.h"
#include "ir/staged.h"

/// Sequences inside of the functions of sequences (*Streaming Irregular Arrays*, section 4.4, lifts the lifted once more).
/// Here the items of all inner sequences of a chunk become the items of one stage of an ordinary program: item j of it
/// is item j - first(p) of the sequence inside of item p. What belongs to the outer item is a part of a vector that
/// holds all items', so it is read where it lies. Programs inside of that one are made in the same way, so sequences
/// may lie in each other to any depth.
namespace anabranch::lift {

/// What the outer stage's lifting knows.
struct Outer {
  const ir::Staged& program;
  const ir::Stage& stage;
  /// An array of the outer stage, as lifting has rewritten it; its facts are known then.
  std::function<ir::Ref(const ir::Ref& array)> lifted;
  std::function<ir::Ref(const ir::Ref& scalar)> simplified;
  std::function<bool(const ir::Ref& term)> uniform;  ///< for all items
};

/// Per result of the inner stage and dimension: the extent, if it is the same for all items of the inner sequence,
/// as a term of the outer stage; else null. Of a loop or branch: per array that it gives, those extents that the stage
/// knows before it runs.
using KnownExtents = std::vector<std::vector<ir::Ref>>;

/// A program of the number of items (a Scalar<int64>) and of what `nested.body.captured` will be, which is set, as the
/// body's parameters are and nested.results.
std::vector<ir::Ref> flatten(const Outer& outer, ir::Nested& nested, const KnownExtents& known);

/// Are the results of all sequences, loops and branches that it is computed from among these?
bool all_planned(const ir::Ref& term, const ir::NodeSet& computed);

/// Extents of the array that a consume node gives for an outer item, null where only its program tells.
std::vector<ir::Ref> extents_of_sink(const Outer& outer, const ir::Stage& inner, const ir::Stage::Sink& sink,
                                     const KnownExtents& known);

}  // namespace anabranch::lift
