// Where the scheduler gets its time from.
//
// Everything that measures takes a Clock, so that controllers and traces can be tested on simulated time: a
// test that depends on how fast this machine is today proves nothing.
#pragma once

#include <cstdint>

namespace anabranch::scheduler {

/// What a thread has done since it began.
struct ThreadUse {
  int64_t busy_ns = 0;  ///< it had a processor
  int64_t waits = 0;    ///< how often it gave it back, because there was something to wait for
};

class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since a fixed but arbitrary moment; never goes back. Callable from any thread.
  virtual int64_t now_ns() const noexcept = 0;
  /// Of the calling thread. A clock that does not know says that it has never waited.
  virtual ThreadUse thread_use() const noexcept { return {}; }
};

/// std::chrono::steady_clock, about 20 ns a call, and the clock and the account of a thread, about 500.
class SteadyClock final : public Clock {
 public:
  int64_t now_ns() const noexcept override;
  ThreadUse thread_use() const noexcept override;
};

/// One shared SteadyClock, for defaults.
const Clock& steady_clock() noexcept;

}  // namespace anabranch::scheduler
