#pragma once

#include <atomic>
#include <cstdint>

#include "scheduler/clock.h"

namespace anabranch::scheduler::test {

/// A clock that only moves when told.
class ManualClock final : public Clock {
 public:
  int64_t now_ns() const noexcept override { return now_; }
  void advance(int64_t ns) { now_ += ns; }

 private:
  std::atomic<int64_t> now_{1000};
};

}  // namespace anabranch::scheduler::test
