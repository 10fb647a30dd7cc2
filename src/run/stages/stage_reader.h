#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "run/chunks/backend.h"
#include "run/feeds/feeds.h"
#include "scheduler/trace.h"

/// One stage whose results are asked for chunk by chunk.
namespace anabranch::runtime {

/// Items that have been read. They are computed all at once, or part by part.
struct ReadItems {
  std::vector<SourceChunk> chunks;  ///< one per source; none: nothing has been read
  /// Of the memory bound; none as long as too little is left of it: then computing them reserves it first.
  std::optional<scheduler::Reservation> reservation;
  std::int64_t next = 0;     ///< the first item that has not been computed
  std::int64_t at_once = 0;  ///< so many are computed next, at most

  std::int64_t items() const { return chunks.empty() ? 0 : chunks[0].items; }
  bool all_computed() const { return next == items(); }
  /// Of the next part, about.
  scheduler::ChunkSize size_of_part() const;
  /// The next part has half as many items; false where it has one.
  bool halve();
};

/// Reading and computing may be done by different threads, at the same time; each by one at a time.
class StageReader {
 public:
  /// `number`: of the plan's stages.
  StageReader(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
              const RunBody& run_body);

  StageInput& input() { return input_; }
  const BackendTraits& traits() const { return traits_; }

  /// At most so much; false at the end. `at_once`: of a live source what is there, and if nothing is, the first item
  /// that comes. Where memory is short for an item, ItemTooBig, and nothing has been read.
  bool read(const scheduler::Target& target, bool at_once, ReadItems& items);
  /// Items that have been read one after the other, as if they had been read at once.
  ReadItems joined(std::vector<ReadItems> parts);
  /// Computes the next part of what was read, and commits its results. Where it throws, the part is still to be
  /// computed, and what it may have committed is not to be used: BudgetExceeded where memory is short for so many
  /// items. What has been computed.
  scheduler::ChunkSize compute(ReadItems& items, StageOutput& results);

 private:
  RunContext& context_;
  const BackendTraits traits_;
  PassStreams pass_;
  Streams streams_;
  StageInput input_;
  std::unique_ptr<StageBackend> computing_;
};

}  // namespace anabranch::runtime
