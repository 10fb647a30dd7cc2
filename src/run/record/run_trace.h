#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/budget.h"
#include "scheduler/trace.h"
#include "timeline/writer.h"

/// The timeline of one run: which rows it has and what is drawn in them.
namespace anabranch::runtime {

/// A chunk of a stage; outside of the stages chunk is -1.
struct ChunkPlace {
  int stage = -1;
  std::int64_t chunk = -1;
};

/// Of a long stream the first 8192 chunks are drawn, and of the next 8192, 16384, 32768 ... 4096 each, evenly
/// spaced, so that 10^8 chunks make a file of some 150 MB. What is not drawn is counted nevertheless.
///
/// Thread-safe except where it says otherwise. Where the file cannot be written, `chunk`, `complete` and `finish` throw.
class RunTrace {
 public:
  /// Creates the file, or throws IoError. Time begins `before_ns`
  /// before now, with what had been done before the run.
  RunTrace(const std::string& path, std::int64_t before_ns);

  /// On the clock of the scheduler's records.
  static std::int64_t now_ns();
  std::int64_t begin_ns() const { return begin_ns_; }
  timeline::Writer& writer() { return writer_; }

  /// Rows of the host, top down. No two things of one row happen at the same time.
  enum class Row : std::uint8_t {
    run,  ///< as a whole, and its stages
    passes,
    compiling,
    compiling_for_gpu,
    read,
    compute,
    kernels,
    write,
    first_slot  ///< from here on one for each slot of pieces
  };
  static constexpr int host_group = 1, gpu_group = 2;
  void span(Row row, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
            const timeline::Arguments& arguments = {});

  static bool is_drawn(std::int64_t chunk);
  /// A finished chunk of the present stage: what read, compute and write took. Of pieces, in the row of their slot.
  void chunk(const scheduler::ChunkTimes& record);
  /// How much of the memory bounds is in use now, drawn with this chunk.
  void memory(std::int64_t chunk, const scheduler::Budget& host, const scheduler::Budget* gpu);

  /// Which stage runs, and which of its chunks is computed. Called by the thread that computes; `place` by any.
  /// `done`: its chunks in earlier rounds of a loop. `in_pieces`: they are computed side by side, and drawn in the rows of
  /// their slots.
  void begin_stage(int number, std::int64_t done, bool in_pieces = false);
  void next_chunk() { ++chunk_; }
  void end_stage();
  ChunkPlace place() const;

  /// While it lives, this thread computes a piece: its kernels are drawn in the row of the slot.
  class InPiece {
   public:
    /// `trace`: null: not traced.
    InPiece(const RunTrace* trace, std::int64_t number, int slot);
    ~InPiece();
    InPiece(const InPiece&) = delete;
    InPiece& operator=(const InPiece&) = delete;

   private:
    friend class RunTrace;
    ChunkPlace place_;
    int slot_;
    const InPiece* outer_;
  };

  /// Facts that are shown with the run as a whole. For the thread that runs it.
  timeline::Arguments& facts() { return facts_; }
  /// The run has ended: the file is whole, but not yet in place. Only the first call of these two does something.
  void complete();
  /// Puts it in place, or throws and has not.
  void finish();
  /// The same for a run that failed. Does not throw: the run's own error is the one to be seen.
  void fail(std::string_view error) noexcept;

 private:
  timeline::Row row_of_slot(int slot);

  const std::int64_t begin_ns_;
  timeline::Writer writer_;
  timeline::Arguments facts_;
  // Threads that write results compute, too, and so do other stages that read the same source: they ask at any time.
  std::atomic<int> stage_ = -1;
  std::atomic<std::int64_t> chunk_ = -1;
  std::int64_t stage_begin_ns_ = 0;
  bool in_pieces_ = false;
  bool complete_ = false, finished_ = false;
};

/// Calls f. Where there is a trace, what it took becomes a span, unless it throws.
template <class F>
void timed(RunTrace* trace, RunTrace::Row row, std::string_view name, F&& f) {
  if (!trace) return f();
  const std::int64_t begin = RunTrace::now_ns();
  f();
  trace->span(row, name, begin, RunTrace::now_ns());
}

}  // namespace anabranch::runtime
