#pragma once

#include <memory>
#include <vector>

#include "run/backend.h"
#include "run/feeds.h"
#include "run/item_results.h"
#include "run/run_record.h"
#include "scheduler/busy.h"
#include "scheduler/controller.h"
#include "scheduler/trace.h"

/// One stage whose items are streamed out: a chunk is read and computed when its items are asked for.
namespace anabranch::runtime {

class StageReader {
 public:
  /// `number`: of the plan's stages.
  StageReader(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
              const RunBody& run_body);
  ~StageReader();
  /// The items of the next chunk, one vector of arrays per item; false at the end. What it handed out before is no
  /// longer reserved.
  bool next(std::vector<std::vector<HostArray>>& items);

 private:
  bool make_next(std::vector<std::vector<HostArray>>& items, scheduler::ChunkTimes& times);
  scheduler::Decision next_size();
  bool read(const scheduler::Target& target);
  scheduler::ChunkSize compute(std::vector<std::vector<HostArray>>& items);
  bool fits(const std::vector<SourceChunk>& chunks, std::vector<std::vector<HostArray>>& items);
  void observe(const scheduler::ChunkTimes& times);
  void on_chunk(const scheduler::ChunkTimes& times);

  RunContext& context_;
  RunBackend& backend_;
  const BackendTraits traits_;
  PassStreams pass_;
  Streams streams_;
  StageInput input_;
  ItemResults results_;
  // What has been read, the first of its items that has not been computed, and how many items fit.
  std::vector<SourceChunk> read_;
  std::int64_t read_at_ = 0, items_that_fit_ = 0;
  std::vector<scheduler::Reservation> read_reservations_;
  std::unique_ptr<StageBackend> computing_;
  std::exception_ptr refusal_;                         ///< of the latest part that did not fit
  std::unique_ptr<scheduler::Controller> controller_;  ///< of a source that is not live
  scheduler::Decision size_;
  scheduler::ChunkSize so_far_;
  RunRecord::Stage& record_;
  std::int64_t begin_ns_;
  scheduler::BusyMeter busy_{scheduler::steady_clock()};
};

}  // namespace anabranch::runtime
