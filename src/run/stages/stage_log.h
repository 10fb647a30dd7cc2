#pragma once

#include <cstdint>

#include "run/chunks/backend.h"
#include "run/feeds/stage_input.h"
#include "run/record/run_record.h"
#include "scheduler/trace.h"

/// What is told of a stage while it runs: to the record of the run, its timeline, and the caller's progress.
namespace anabranch::runtime {

/// One chunk after the other, though perhaps by different threads. Where nobody is told of the run it does nothing.
class StageLog {
 public:
  StageLog(RunContext& context, const RunBackend& backend) : context_(context), backend_(backend) {}
  ~StageLog() { end(0); }
  StageLog(const StageLog&) = delete;
  StageLog& operator=(const StageLog&) = delete;

  struct How {
    int ring = 1;              ///< chunks in flight at most
    bool in_pieces = false;    ///< they are drawn in the rows of their slots
    bool by_pipeline = false;  ///< the scheduler begins and ends the trace, and adds chunks
    bool progress = true;      ///< is told of each chunk that is added
  };
  void begin(const StageInput& input, How how);
  /// What the scheduler writes to; null: nobody is told.
  scheduler::Trace* trace() { return record_ ? &record_->trace : nullptr; }

  /// The computation of the next chunk begins.
  void next_chunk();
  /// Of what is computed now, this many bytes are held.
  void draw_memory();
  void add(const scheduler::ChunkTimes& times);
  void count_gpu_chunk() {
    if (record_) ++record_->gpu_chunks;
  }
  /// A chunk of this size is the caller's.
  void tell_progress(const scheduler::ChunkSize& size);
  /// The stream is over.
  void complete();
  /// No more comes. `busy_ns`: that all threads computed.
  void end(std::int64_t busy_ns);

 private:
  void draw(const scheduler::ChunkTimes& times);

  RunContext& context_;
  const RunBackend& backend_;
  RunRecord::Stage* record_ = nullptr;
  bool open_ = false;  ///< of a trace that it begins and ends itself
  Progress progress_;
  std::int64_t begin_ns_ = 0;
};

}  // namespace anabranch::runtime
