#include "scheduler/clock.h"

#include <sys/resource.h>

#include <chrono>
#include <ctime>

namespace anabranch::scheduler {

int64_t SteadyClock::now_ns() const noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ThreadUse SteadyClock::thread_use() const noexcept {
  // (The times of getrusage are those of the last tick.)
  timespec busy{};
  rusage use{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &busy) != 0 || ::getrusage(RUSAGE_THREAD, &use) != 0)
    return {};
  return {.busy_ns = static_cast<int64_t>(busy.tv_sec) * 1'000'000'000 + busy.tv_nsec, .waits = use.ru_nvcsw};
}

const Clock& steady_clock() noexcept {
  static const SteadyClock clock;
  return clock;
}

}  // namespace anabranch::scheduler
