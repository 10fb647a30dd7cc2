#pragma once

#include <vector>

#include "plan/plan.h"
#include "rearrange/rearrange.h"
#include "run/context/context.h"

/// Rearrangements of a plan, on host memory.
namespace anabranch::runtime {

/// An array that a step reads or writes: where its components lie, and the parts of it that are computed apart.
struct PlacedArray {
  std::vector<void*> components;
  rearrange::Parts parts;
  /// Of a part, where the step asks for them (asks_for_extents): per dimension one for all parts, or one for each.
  std::vector<std::vector<std::int64_t>> extents{};
};

/// The first of the arrays that the step gives, but those that nobody asks for, which have no components.
/// Throws the RunError of the first part that cannot be computed, which is one of these items.
void run_rearrangement(RunContext& context, const plan::RearrangeStep& step,
                       const std::vector<PlacedArray>& inputs, const std::vector<PlacedArray>& outputs,
                       const ir::ItemNumbers& items);

/// Of the last array that it reads.
ir::Scalars types_of_rearranged(const plan::RearrangeStep& step);
/// Where the parts lie of an array that is there whole.
rearrange::Parts parts_of_whole(const detail::ArrayData& array, const plan::RearrangeStep& step);
/// Does the operation work on each row of its arrays, not on all of an item?
bool works_on_rows(const plan::RearrangeStep& step);
/// Does it look at the shapes of the arrays that it reads, not only at their elements?
bool asks_for_extents(const plan::RearrangeStep& step);

}  // namespace anabranch::runtime
