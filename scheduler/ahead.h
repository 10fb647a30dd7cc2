// How far a stream runs ahead of whoever takes its items. Numbers in, numbers out: no thread and no clock of its own.
//
// Ahead is what has been read and not been taken. When all that may be is, a new chunk is begun as soon as half of it is
// gone, so that the other half lasts while it is made.
#pragma once

#include <atomic>
#include <cstdint>

#include "scheduler/chunk_size.h"

namespace anabranch::scheduler {

/// Bounds on what is ahead. Any of the first three that is 0: nothing is.
struct AheadLimits {
  int64_t items = no_limit;
  int64_t bytes = no_limit;
  int64_t ns =
      no_limit;  ///< for so long what is ahead lasts, at the pace at which items are taken; one item may last longer
  int64_t chunk = 0;        ///< all chunks have so many items; 0: as many as there is room for
  bool one_by_one = false;  ///< items are read one by one

  bool none() const noexcept { return items <= 0 || bytes <= 0 || ns <= 0; }
};

class Ahead {
 public:
  explicit Ahead(const AheadLimits& limits) noexcept;

  // Told by the thread that takes items.

  /// It wants the next item.
  void asks(int64_t now_ns) noexcept;
  /// It has got it.
  void takes(int64_t now_ns) noexcept;
  /// How long it has worked on an item, of late; 0: it has not yet. Any thread may ask.
  int64_t pace_ns() const noexcept { return load(pace_ns_); }
  /// What it has taken may have made room.
  bool may_resume() const noexcept { return taken_.load() >= resume_at_.load(); }

  // The rest under a lock of the caller's.

  /// So many items of the source, read and not yet computed.
  void was_read(int64_t items, int64_t bytes) noexcept;
  /// They have become so many results.
  void was_computed(const ChunkSize& read, int64_t results, int64_t bytes) noexcept;
  /// A chunk of results is the taker's now: its items are ahead until they are taken, its bytes are not.
  void was_handed_out(int64_t bytes) noexcept { bytes_ -= bytes; }

  /// How much may be read now; no items: nothing. `wanted`: the taker waits, and there is nothing ahead.
  Target room(int64_t now_ns, bool wanted) noexcept;
  bool is_full() const noexcept { return bytes_ >= limits_.bytes; }

 private:
  static int64_t load(const std::atomic<int64_t>& value) noexcept {
    return value.load(std::memory_order_relaxed);
  }
  int64_t most_by_time(int64_t now_ns) const noexcept;

  const AheadLimits limits_;
  int64_t unread_ = 0;   // items read and not computed
  int64_t results_ = 0;  // of all that has been computed
  int64_t bytes_ = 0;    // of both, unless they have been handed out
  bool filling_ = true;  // until no room is left
  // Written by the taker.
  std::atomic<int64_t> taken_{0};
  std::atomic<int64_t> pace_ns_{0};  // between one item and the next, a moving average
  std::atomic<int64_t> since_{0};    // when the last one was taken; 0: the next one is asked for
  // Written under the lock.
  std::atomic<int64_t> resume_at_{no_limit};
};

}  // namespace anabranch::scheduler
