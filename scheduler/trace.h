// What happened in the runs of a stream, chunk by chunk, in bounded memory.
//
// A stream may have 10^8 chunks: the totals are exact, the records are kept for the first chunks (where the
// controller learns) and for every 2^k-th one after that, k growing as the stream does. A callback
// gets all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "scheduler/controller.h"
#include "scheduler/even_sample.h"

namespace anabranch::scheduler {

enum class Phase { read, compute, write };

struct Span {
  int64_t begin_ns = 0;  ///< on the run's clock
  int64_t end_ns = 0;
  int thread = 0;  ///< small number, 0 is the driver

  int64_t length() const noexcept { return end_ns - begin_ns; }
};

/// Bytes in use when a chunk is finished, as the owner of the run measures them.
struct MemoryUse {
  int64_t held = 0;         ///< of the memory bound
  int64_t device_held = 0;  ///< of the bound on another device's memory
  int64_t resident = 0;     ///< by the process
};

/// One finished chunk.
struct ChunkTimes {
  int64_t chunk = 0;  ///< 0, 1, 2 ... in stream order
  int slot = 0;
  int in_flight = 0;  ///< chunks in the ring when it was read, itself included
  ChunkSize size{};
  ChunkSize so_far{};   ///< of the stream, this chunk included
  Decision decision{};  ///< what it was read with
  Span read{}, compute{}, write{};
  int64_t wait_ns = 0;
  int64_t taken_ns = 0;  ///< of a piece: taking it from its source, which may have read it for that
  int64_t aside_ns = 0;  ///< of its compute phase, in which it was not computed (busy.h)
  double utilisation = 0;
  MemoryUse memory{};

  int64_t read_ns() const noexcept { return taken_ns + read.length(); }
  int64_t compute_ns() const noexcept { return std::max<int64_t>(compute.length() - aside_ns, 0); }
};

struct Summary {
  int64_t chunks = 0;
  ChunkSize total{};
  /// The smallest and the largest of each number, which may be of different chunks.
  ChunkSize least{}, most{};
  /// Of the whole run, begin to end; and the sum over the chunks per phase.
  int64_t wall_ns = 0;
  PhaseTimes phase_ns{};
  /// Share of all threads' time in computing, over the whole run.
  double utilisation = 0;
  int64_t halvings = 0;  ///< chunks cut and tried again for lack of memory
  /// Chunks in the ring when one was read: the mean, and the most there were.
  double mean_in_flight = 0;
  int most_in_flight = 0;
  /// How many chunks had their size for which reason.
  std::array<int64_t, reasons> by_reason{};
  MemoryUse most_memory{};  ///< the most of each number, at the end of a chunk

  double items_per_second() const noexcept;
  double work_per_second() const noexcept;
  double bytes_per_second() const noexcept;
};

/// Of several runs, one after the other, it adds up what happened. Not thread-safe: one run calls it, one chunk
/// after the other, though perhaps from different threads.
class Trace {
 public:
  explicit Trace(std::size_t capacity = 4096);

  /// Called for each finished chunk in stream order, while the run goes on and waits for it: be quick. What it
  /// throws stops the run as an exception in the write phase would.
  void on_chunk(std::function<void(const ChunkTimes&)> callback) { callback_ = std::move(callback); }
  /// Asked before that what memory is in use. Be as quick, and throw nothing.
  void measure_memory(std::function<MemoryUse(int64_t now_ns)> measure) { measure_ = std::move(measure); }

  /// For the pipeline. A second run goes on with the numbers of chunks.
  void begin(int64_t now_ns, int concurrency);
  void add(ChunkTimes record);
  void add_halving() noexcept { ++summary_.halvings; }
  void end(int64_t now_ns, int64_t busy_ns);

  /// Valid during the run (wall_ns and utilisation after its end).
  const Summary& summary() const noexcept { return summary_; }
  const std::vector<ChunkTimes>& records() const noexcept { return records_.kept(); }
  /// The median of each number of the chunks: exact up to the trace's capacity, and that of an even sample above.
  ChunkSize median() const;

 private:
  std::size_t capacity_;
  std::function<void(const ChunkTimes&)> callback_;
  std::function<MemoryUse(int64_t)> measure_;
  Summary summary_;
  int64_t begin_ns_ = 0;
  int concurrency_ = 1;
  double busy_ns_ = 0, thread_ns_ = 0;
  int64_t in_flight_ = 0;  ///< summed over the chunks
  EvenSample<ChunkTimes> records_;
  EvenSample<ChunkSize> sizes_;
};

}  // namespace anabranch::scheduler
