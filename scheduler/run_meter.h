// The times of one run: who did which phase from when to when, and how busy all threads were meanwhile.
//
// Computing is measured in its leaves (busy.h); a read or a write counts as one busy thread from begin to
// end, even while it waits for a disk, because its thread can do nothing else. Not thread-safe except where
// it says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "scheduler/busy.h"
#include "scheduler/clock.h"
#include "scheduler/trace.h"

namespace anabranch::scheduler {

class RunMeter {
 public:
  /// Made on the driver's thread.
  RunMeter(const Clock& clock, int concurrency);

  int64_t now_ns() const noexcept { return clock_.now_ns(); }
  /// Where the compute phase counts its busy time; thread-safe.
  BusyMeter& compute_meter() noexcept { return compute_; }

  /// Something begins now, on this thread.
  Span stamp() { return {.begin_ns = now_ns(), .thread = thread_number()}; }
  /// A phase begins and ends on this thread; at most one of each kind at a time.
  Span begin(Phase phase);
  void end(Phase phase, Span& span);
  bool is_open(Phase phase) const noexcept { return since_[static_cast<std::size_t>(phase)] != not_open; }

  /// Share of all threads' time that was busy between the marks, 0..1.
  struct Mark {
    int64_t at_ns;
    int64_t busy_ns;
  };
  Mark mark() const noexcept;
  double utilisation(const Mark& from, const Mark& to) const noexcept;

 private:
  static constexpr int64_t not_open = -1;
  int thread_number();

  const Clock& clock_;
  const int concurrency_;
  BusyMeter compute_;
  std::array<int64_t, 3> since_{not_open, not_open, not_open};
  int64_t io_ns_ = 0;  ///< reads and writes that have ended
  std::vector<std::thread::id> threads_;
};

}  // namespace anabranch::scheduler
