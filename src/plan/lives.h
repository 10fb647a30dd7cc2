#pragma once

#include "plan/plan.h"

namespace anabranch::plan {

/// Finds, for each action, the global arrays that nothing after it needs: Plan::last_needed.
void find_lives(Plan& plan);

}  // namespace anabranch::plan
