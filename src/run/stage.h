#pragma once

#include <string>
#include <vector>

#include "run/backends/cpu_chunk.h"
#include "run/backends/device_stage.h"
#include "run/collector.h"

/// One stage at run time: opens its bases, executes its chunk group for every chunk, collects results.
namespace anabranch::runtime {

/// A whole stage.
class StageRun {
 public:
  StageRun(RunContext& context, int stage, GlobalValues& global);
  /// Runs the stream to its end and gives the terminals' results. `into`: for each result of the stage memory
  /// that the caller gives, or null.
  std::vector<HostArray> run(const std::vector<HostArray>& into);
  /// What the account holds for the results of `run`.
  std::vector<scheduler::Reservation> take_reservations();
  /// One chunk at a time, for streaming out: false at the end.
  bool next_chunk(std::vector<std::vector<HostArray>>& items);

 private:
  void compute(const std::vector<SourceChunk>& chunks);
  void compute_part(const std::vector<SourceChunk>& chunks, std::int64_t begin, std::int64_t end);

  std::int64_t largest_chunk() const;
  Limit limit_of(std::int64_t items, std::int64_t bytes, std::int64_t work, std::int64_t memory) const;
  scheduler::Decision next_size();
  bool read_next(const scheduler::Target& target);
  scheduler::ChunkSize make_next_items(std::vector<std::vector<HostArray>>& items);
  void make_items(const std::vector<SourceChunk>& chunks, std::vector<std::vector<HostArray>>& items);
  void make_collectors(const std::vector<HostArray>& into);
  std::int64_t likely_elements(int result, const plan::PlanArray& array) const;
  void collect(const ChunkResults& part);
  /// What is held now, for the trace, if there is one.
  void draw_memory(std::int64_t chunk);
  void device_chunk(const std::vector<SourceChunk>& chunks, const ChunkRun::ResultRoom& room,
                    std::vector<std::vector<std::vector<std::int64_t>>>& extents);

  RunContext& context_;
  int number_;  ///< of the plan's stages
  const plan::StagePlan& stage_;
  GlobalValues& global_;
  std::vector<std::shared_ptr<SourceBase>> sources_;
  std::vector<SourcePass> passes_;  ///< over those of them that other runs could read too
  std::vector<std::vector<ArrayInfo>> infos_;
  std::unique_ptr<ZippedSources> zipped_;
  std::vector<std::int64_t> uniforms_;
  std::vector<std::unique_ptr<ResultCollector>> collectors_;  ///< per stage result
  std::unique_ptr<ChunkRun> chunk_;
  std::unique_ptr<DeviceStage> device_;  ///< of a run on a GPU
  std::int64_t element_bytes_ = 0;       ///< of the items, per element of work
  scheduler::Reservation resident_;
  scheduler::Policy policy_;

  // Streamed out: what has been read, from which on it has not been computed, and how many items of it fit.
  std::vector<SourceChunk> read_;
  std::int64_t read_at_ = 0, read_to_ = 0;
  std::vector<scheduler::Reservation> given_;          ///< of it
  std::vector<scheduler::Reservation> results_given_;  ///< of the items that are being handed out
  std::unique_ptr<scheduler::Controller> controller_;  ///< of a source that is not live
  scheduler::Decision size_;
  scheduler::ChunkSize so_far_;
  std::int64_t chunks_ = 0;
};

}  // namespace anabranch::runtime
