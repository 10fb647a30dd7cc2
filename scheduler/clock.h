// Where the scheduler gets its time from.
//
// Everything that measures takes a Clock, so that controllers and traces can be tested on simulated time: a
// test that depends on how fast this machine is today proves nothing.
#pragma once

#include <cstdint>

namespace anabranch::scheduler {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since a fixed but arbitrary moment; never goes back. Callable from any thread.
  virtual int64_t now_ns() const noexcept = 0;
};

/// std::chrono::steady_clock; about 20 ns a call.
class SteadyClock final : public Clock {
 public:
  int64_t now_ns() const noexcept override;
};

/// One shared SteadyClock, for defaults.
const Clock& steady_clock() noexcept;

}  // namespace anabranch::scheduler
