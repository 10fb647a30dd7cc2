// What happened in a run, chunk by chunk, in bounded memory.
//
// A stream may have 10^8 chunks: the totals are exact, the records are kept for the first chunks (where the
// controller learns) and for every 2^k-th one after that, k growing as the stream does. A callback
// gets all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "scheduler/controller.h"

namespace anabranch::scheduler {

enum class Phase { read, compute, write };

struct Span {
  int64_t begin_ns = 0;  ///< on the run's clock
  int64_t end_ns = 0;
  int thread = 0;  ///< small number, 0 is the driver

  int64_t length() const noexcept { return end_ns - begin_ns; }
};

/// One finished chunk.
struct ChunkTimes {
  int64_t chunk = 0;  ///< 0, 1, 2 ... in stream order
  int slot = 0;
  ChunkSize size{};
  Decision decision{};  ///< what it was read with
  Span read{}, compute{}, write{};
  int64_t wait_ns = 0;
  double utilisation = 0;
};

struct Summary {
  int64_t chunks = 0;
  ChunkSize total{};
  /// Items per chunk. The median is exact up to the trace's capacity, and that of an even sample above.
  int64_t min_items = 0, median_items = 0, max_items = 0;
  int64_t max_chunk_bytes = 0;
  /// Of the whole run, begin to end; and the sum over the chunks per phase.
  int64_t wall_ns = 0;
  PhaseTimes phase_ns{};
  /// Share of all threads' time in computing, over the whole run.
  double utilisation = 0;
  int64_t halvings = 0;  ///< chunks cut and tried again for lack of memory

  double items_per_second() const noexcept;
  double work_per_second() const noexcept;
  double bytes_per_second() const noexcept;
};

/// Not thread-safe: one run calls it, one chunk after the other, though perhaps from different threads.
class Trace {
 public:
  explicit Trace(std::size_t capacity = 4096);

  /// Called for each finished chunk in stream order, while the run goes on and waits for it: be quick. What it
  /// throws stops the run as an exception in the write phase would.
  void on_chunk(std::function<void(const ChunkTimes&)> callback) { callback_ = std::move(callback); }

  /// For the pipeline.
  void begin(int64_t now_ns, int concurrency);
  void add(const ChunkTimes& record);
  void add_halving() noexcept { ++summary_.halvings; }
  void end(int64_t now_ns, int64_t busy_ns);

  /// Valid during the run (wall_ns and utilisation after its end).
  Summary summary() const;
  const std::vector<ChunkTimes>& records() const noexcept { return records_; }

 private:
  bool is_kept(int64_t chunk) const noexcept;

  std::size_t capacity_;
  std::function<void(const ChunkTimes&)> callback_;
  Summary summary_;
  int64_t begin_ns_ = 0;
  int concurrency_ = 1;
  int64_t stride_ = 1;
  std::vector<ChunkTimes> records_;
  int64_t size_stride_ = 1;
  std::vector<int64_t> sizes_;  ///< items of every size_stride_'th chunk
};

}  // namespace anabranch::scheduler
