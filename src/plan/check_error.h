#pragma once

#include "plan/kernel.h"

namespace anabranch::plan {

/// Throws the RunError of a check that failed on `value` (an index) against `bound` (the extent).
[[noreturn]] void raise(const Check& check, std::int64_t value, std::int64_t bound);

}  // namespace anabranch::plan
