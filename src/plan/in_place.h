#pragma once

#include <cstddef>

#include "plan/plan.h"

/// In-place update at last use: a map that reads an array at its own position only, and is the last to read it, writes
/// what it makes into the array's memory (PlanArray::in_place_of).
///
/// The array is one that a step of the same group has computed, and nobody else has: no source, no sink or result, no body
/// of a loop or branch, whose results may be what they were given; and no extent is made of it. What is made is laid out as
/// it is, and no result of a stage, which lies where the sink says. A component takes the memory of one component, of
/// elements of the same size: a smaller one at the same position would lie where another element still is to be read. A map
/// that can fail computes its elements again to tell the first failure, so it writes elsewhere.
///
/// Of the arguments of a program only the state of a loop's body may be overwritten, in those rounds that have it for
/// themselves (LoopAction::own).
namespace anabranch::plan {

/// In the group of a chunk. PlanArray::last_step is known.
void write_in_place(Group& chunk);
/// In the global group, where Plan::last_needed is known; and who has the states of its loops. The first `states` arguments
/// are the state of a loop, of which the plan is the body.
void write_in_place(Plan& plan, std::size_t states);

/// Throws InternalError where something is still needed when it is overwritten, by any step or action.
void verify_in_place(const Plan& plan);

}  // namespace anabranch::plan
