// When items that come one by one, from a caller who does not wait, are worth a chunk. Numbers in, numbers out: no thread and no
// clock of its own.
//
// An item alone pays all fixed costs of a chunk. It waits for others as long as these can be expected, at the pace of the
// last ones, before some chunks' worth of fixed costs has passed; so who pushes rarely gets each result at once, and who
// pushes often pays a small part of them for each item.
#pragma once

#include <cstdint>

#include "scheduler/chunk_size.h"

namespace anabranch::scheduler {

class Gather {
 public:
  /// An item waits at most `longest_ns`, as far as calls come. `chunk`: all chunks have so many items, however long that
  /// takes; 0: as many as are worth it.
  Gather(int64_t longest_ns, int64_t chunk) noexcept : longest_ns_(longest_ns), chunk_(chunk) {}

  /// Another item has come.
  void comes(int64_t now_ns) noexcept;
  /// The caller has been given back his thread.
  void returns(int64_t now_ns) noexcept { returned_ns_ = now_ns; }
  /// Whether what has been gathered is to be computed now.
  bool is_due(int64_t now_ns) const noexcept;
  /// It has been, in this time.
  void was_computed(int64_t items, int64_t ns) noexcept;
  int64_t items() const noexcept { return items_; }

 private:
  int64_t longest_wait() const noexcept;

  const int64_t longest_ns_, chunk_;
  int64_t items_ = 0, first_ns_ = 0;
  int64_t returned_ns_ = 0;
  int64_t gap_ns_ = no_limit;    // from one item to the next, without our own time, a moving average
  int64_t fixed_ns_ = no_limit;  // what no chunk has been quicker than
  int64_t per_item_ns_ = 0;      // in the latest chunk
};

}  // namespace anabranch::scheduler
