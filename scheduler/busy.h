// Measures how long threads are really busy with a run's work.
//
// Utilisation decides whether a chunk was too small to fill the machine. Process CPU time cannot tell:
// it counts the spinning of idle workers and other runs. So time is taken in the leaves: from the moment
// a thread begins its first piece of a loop to the end of its last, less the time it only waits for a
// nested loop. A meter belongs to one run; the executor hands it on from the thread that starts a loop
// to those that help.
#pragma once

#include <atomic>
#include <cstdint>

#include "scheduler/clock.h"

namespace anabranch::scheduler {

class BusyMeter {
 public:
  explicit BusyMeter(const Clock& clock) : clock_(clock) {}
  BusyMeter(const BusyMeter&) = delete;
  BusyMeter& operator=(const BusyMeter&) = delete;

  int64_t now_ns() const noexcept { return clock_.now_ns(); }
  void add(int64_t ns) noexcept { busy_ns_.fetch_add(ns, std::memory_order_relaxed); }
  /// Sum of all closed spans.
  int64_t busy_ns() const noexcept { return busy_ns_.load(std::memory_order_relaxed); }

 private:
  const Clock& clock_;
  std::atomic<int64_t> busy_ns_{0};
};

/// The meter of the span this thread is in; null outside of any.
BusyMeter* current_meter() noexcept;

/// While it lives, this thread counts as busy for `meter`; with null as busy for nobody. A span that was open
/// on this thread stands still meanwhile, so no time is counted twice.
class BusySpan {
 public:
  explicit BusySpan(BusyMeter* meter) noexcept;
  ~BusySpan();
  BusySpan(const BusySpan&) = delete;
  BusySpan& operator=(const BusySpan&) = delete;

 private:
  BusyMeter* outer_;
};

/// So much of what this thread has just done was not its chunk's: making code that is needed for the first time. It counts
/// as busy for nobody, nor as computing the chunk (time_aside_ns).
void put_aside(int64_t ns) noexcept;
/// What this thread has put aside, from its beginning on.
int64_t time_aside_ns() noexcept;

}  // namespace anabranch::scheduler
