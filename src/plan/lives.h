#pragma once

#include <vector>

#include "plan/plan.h"

namespace anabranch::plan {

/// Per global array the number of the last action that needs it; -1 where none does, and as many as there are actions
/// where the array is a result.
std::vector<int> last_actions(const Plan& plan);

/// Finds, for each action, the global arrays that nothing after it needs: Plan::last_needed.
void find_lives(Plan& plan);

}  // namespace anabranch::plan
