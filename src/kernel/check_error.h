#pragma once

#include "kernel/kernel.h"

namespace anabranch::kernel {

/// What a failed division leaves as `bound`: why there is no quotient, and of what type the dividend is.
inline constexpr std::int64_t division_by_zero = 1, division_overflow = 2, division_by_zero_of_uint64 = 3;

/// The first or last of these.
inline std::int64_t no_divisor(ScalarType type) {
  return type == ScalarType::uint64 ? division_by_zero_of_uint64 : division_by_zero;
}

/// Throws the RunError of a check that failed on `value` (an index, a dividend) against `bound` (the extent,
/// or one of the above), in this item of the stream (ir/run_error.h).
[[noreturn]] void raise(const Check& check, std::int64_t value, std::int64_t bound, std::int64_t item);

}  // namespace anabranch::kernel
