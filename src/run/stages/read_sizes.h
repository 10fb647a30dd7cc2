#pragma once

#include <memory>
#include <optional>

#include "run/context/context.h"
#include "run/stages/stage_reader.h"
#include "scheduler/ahead.h"
#include "scheduler/controller.h"

/// How much is read at a time of a stage that is streamed out, and how far ahead of whoever takes the items.
namespace anabranch::runtime {

/// All but `ahead().asks`, `takes` and `may_resume` under a lock of the caller's.
class ReadSizes {
 public:
  /// `bounds`: none: the library's, where the sources allow to be read ahead.
  ReadSizes(const RunContext& context, StageReader& reader, const std::optional<ReadAhead>& bounds);

  /// Whether other threads read and compute beside the one that takes the items.
  bool beside() const { return beside_; }
  /// A live source, which gives item by item what comes: what has come by the time that it can be computed is a chunk.
  bool gathers() const { return gathers_; }
  /// A live source that is not waited for any longer than until it gives an item.
  bool at_once() const { return live_ && policy_.kind != scheduler::Policy::Kind::fixed; }
  scheduler::Ahead& ahead() { return ahead_; }
  /// Whether it is of use that another thread computes while the taker is at work: else the taker computes with all threads
  /// when it comes.
  bool computes_beside() const;

  /// Whether something may be read now. `wanted`: items are waited for, and nothing else would give them.
  bool has_room(bool wanted);
  /// What to read, where there is room.
  scheduler::Decision next(bool wanted);
  void was_read(const scheduler::ChunkSize& size);
  /// Of gathered items: how many make a chunk now, at most; 0: they are too few, unless there are no more.
  std::int64_t of_gathered(std::int64_t items) const;
  /// `read`: what of it is no longer only read; `busy_ns`: of all threads.
  void was_computed(const scheduler::ChunkTimes& times, const scheduler::ChunkSize& read,
                    std::int64_t busy_ns, std::int64_t results, std::int64_t bytes);
  /// Memory was short for so much.
  void too_big(const scheduler::ChunkSize& tried);

 private:
  scheduler::AheadLimits limits_of(const RunContext& context, const std::optional<ReadAhead>& bounds) const;
  scheduler::ControllerConfig config(const RunContext& context, StageReader& reader) const;

  const scheduler::Policy policy_;
  const std::int64_t threads_;
  const bool on_host_;
  const bool live_;
  const bool depends_;  ///< its next item may be made of the last result
  const scheduler::AheadLimits limits_;
  const bool beside_, gathers_;
  std::int64_t largest_work_;
  scheduler::Ahead ahead_;
  std::unique_ptr<scheduler::Controller>
      controller_;                    ///< of sources that are not live, or of chunks of a fixed size
  scheduler::ChunkSize so_far_;       ///< that has been read
  std::int64_t ns_per_item_ = 0;      ///< of the latest chunk
  std::int64_t busy_per_result_ = 0;  ///< likewise
};

}  // namespace anabranch::runtime
