#pragma once

#include "plan/kernel.h"

namespace anabranch::plan {

/// What a failed check of an integer division leaves as its bound.
inline constexpr std::int64_t divided_by_zero = 1, division_overflows = 2;

/// Throws the RunError of a check that failed on `value` (an index, a dividend) against `bound` (the extent,
/// one of the above; 0: not said).
[[noreturn]] void raise(const Check& check, std::int64_t value, std::int64_t bound);

}  // namespace anabranch::plan
