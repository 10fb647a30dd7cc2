// Runs a stream, chunk by chunk: source -> compute -> sink, with a bounded ring of chunks in flight.
//
// While chunk k computes, chunk k+1 is read and chunk k-1 is written. Reads are one at a time and in order,
// so are computes and writes; a compute is parallel inside, through the Executor it shares with the pipeline.
// The calling thread is the driver: it computes, and does by itself whatever other phase no thread has begun
// yet, so that a run makes progress even when every other thread is taken. With concurrency 1 all is inline
// and in order.
//
// Whatever goes wrong, the effects are those of a serial run: when a phase of chunk k throws, chunks before k
// are computed and written to the end, nothing of a chunk after k is written, and the exception of the lowest
// chunk reaches the caller with its type.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "scheduler/clock.h"
#include "scheduler/controller.h"
#include "scheduler/executor.h"
#include "scheduler/trace.h"

namespace anabranch::scheduler {

/// How a chunk has been computed.
enum class Computed { whole, in_parts /* there was not memory enough for all of it at once */ };

/// The work of a run. `slot` is 0 .. max_ring - 1: an index into the caller's buffers. A slot belongs to one
/// chunk from its read to the end of its write; two phases never touch the same slot at the same time, and
/// each phase sees all that the one before it did.
struct ChunkPhases {
  /// Reads the next chunk into the slot, within the target, at least one item; nullopt at the end of the
  /// stream (it is not called again). May throw ChunkTooBig before it has consumed anything from the source.
  std::function<std::optional<ChunkSize>(int slot, const Target& target)> read;
  /// After `in_parts` the controller asks for smaller chunks.
  std::function<Computed(int slot)> compute;
  std::function<void(int slot)> write;
  /// The run has failed: told once, while phases may still be running, so that one that waits for somebody else can be woken.
  /// It does not throw, and may be null.
  std::function<void()> failed;

  /// The phase is trivially cheap (a view of memory): call it in line, without a switch of threads.
  bool inline_read = false;
  bool inline_write = false;
};

struct PipelineOptions {
  Policy policy{};
  /// Ring slots that exist; the controller may use fewer.
  int max_ring = 4;
  /// For all chunks in flight. Handed to `read` as Target::bytes, the ring'th part for each slot.
  int64_t memory_limit = no_limit;
  /// The size of the whole stream, where it is known.
  std::optional<ChunkSize> total{};
  int64_t max_chunk_ns = 100'000'000;
  bool reads_again = false;  ///< ControllerConfig says what these two are
  int64_t start_work = ControllerConfig{}.start_work;
  int64_t cache_bytes = 0;  ///< of a thread's own; for pieces (piecewise.h)
  /// Acts between phases: what runs is finished, nothing else is begun.
  std::stop_token stop{};
  const Clock* clock = nullptr;  ///< null: steady_clock()
  Trace* trace = nullptr;        ///< null: only the summary is kept
  /// Of an earlier run of the same phases by as many threads, or null.
  std::shared_ptr<const Learned> learned{};
};

struct PipelineResult {
  bool cancelled = false;
  Summary summary{};
  std::shared_ptr<const Learned> learned{};  ///< for the next run; null: nothing
};

/// Ring slots that a run with these phases uses at most: buffers that the caller must have.
int ring_slots(const Executor& executor, const ChunkPhases& phases, const PipelineOptions& options) noexcept;

/// Blocks until the stream ends, is cancelled or fails. Any number of runs may share an executor.
PipelineResult run_pipeline(Executor& executor, const ChunkPhases& phases, const PipelineOptions& options);

}  // namespace anabranch::scheduler
