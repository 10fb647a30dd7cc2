#include "scheduler/clock.h"

#include <chrono>

namespace anabranch::scheduler {

int64_t SteadyClock::now_ns() const noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const Clock& steady_clock() noexcept {
  static const SteadyClock clock;
  return clock;
}

}  // namespace anabranch::scheduler
