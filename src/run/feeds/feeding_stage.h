#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "run/chunks/backend.h"
#include "run/feeds/stage_input.h"

/// A stage whose results another stage reads: it is run chunk by chunk, as that one asks.
namespace anabranch::runtime {

/// Where so many items of a stage's only source are to lie in the end, from the one with this number on, if they are single
/// elements that are results as they are: for each of their arrays memory, or null; empty: nowhere.
using PlacesOfItems = std::function<std::vector<HostArray>(std::int64_t first, std::int64_t items)>;

class FeedingStage {
 public:
  /// `number`: of the plan's stages.
  FeedingStage(RunContext& context, RunBackend& backend, int number, GlobalValues& global, Streams streams,
               const OpenFed& open_fed);
  ~FeedingStage();

  /// How its results are laid out in chunks.
  const std::vector<ArrayInfo>& infos() const { return infos_; }
  /// The results of the next items, within the limit; false at the end. What it gave before is no longer reserved.
  bool next(const Limit& limit, SourceChunk& chunk);
  /// What it gave is for the caller to reserve now.
  void let_go();
  bool live() const { return input_.sources().live(); }
  /// Its results are items of its sources, which no stage feeds.
  bool only_reads() const { return !computes_ && !input_.is_fed(); }
  bool in_memory() const { return !computes_ && input_.sources().in_memory(); }
  std::optional<std::int64_t> items() const { return input_.sources().items(); }

 private:
  class Results;

  bool read(const Limit& limit);
  void compute(SourceChunk& chunk);
  bool makes_room();
  bool fits(const std::vector<SourceChunk>& items, SourceChunk& chunk);

  RunContext& context_;
  Streams streams_;
  StageInput input_;
  const bool computes_;  ///< else its results are items as they are
  std::vector<ArrayInfo> infos_;
  std::unique_ptr<Results> results_;
  std::unique_ptr<StageBackend> computing_;
  // What has been read, the first of its items that has not been computed, and how many items fit.
  std::vector<SourceChunk> read_;
  std::int64_t read_at_ = 0, items_that_fit_ = 0;
  std::vector<scheduler::Reservation> reservations_;
  std::exception_ptr refusal_;  ///< of the latest part that did not fit
};

}  // namespace anabranch::runtime
