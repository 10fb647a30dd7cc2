#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "run/chunks/backend.h"
#include "run/feeds/stage_input.h"
#include "run/stages/piece_results.h"
#include "scheduler/piecewise.h"

/// A stage whose items are read in pieces: each thread reads a piece and computes it while it is in the caches of its
/// core.
namespace anabranch::runtime {

class StagePieces {
 public:
  /// All that is referred to lives as long as this. `slots`: pieces in flight at most. `largest_work`: elements of a
  /// piece at most.
  StagePieces(RunContext& context, StageInput& input, StageResults& results, StageBackend& computing,
              int slots, std::int64_t largest_work);
  scheduler::PiecePhases phases();

 private:
  struct Slot {
    explicit Slot(StagePieces& pieces);
    std::unique_ptr<ZippedPiece> piece;
    std::vector<std::vector<SourceChunk>> parts;  ///< of the piece, once it has been read
    scheduler::Reservation reservation;           ///< of their memory
    std::int64_t number = 0;                      ///< of the piece in the stream
    std::int64_t array_bytes = 0;                 ///< that computing it took
    PieceResults results;
  };

  std::unique_ptr<ZippedPiece> split(const scheduler::Target& target);
  std::optional<scheduler::ChunkSize> take(Slot& slot, scheduler::Target target);
  scheduler::ChunkSize read(Slot& slot);
  scheduler::Computed compute(int number);
  scheduler::Computed compute_alone(int number);
  void compute_in_halves(int number, const std::vector<SourceChunk>& chunks);
  bool fits(int number, const std::vector<SourceChunk>& chunks);
  void commit(int number);
  Slot& slot(int number) { return *slots_[static_cast<std::size_t>(number)]; }
  Slot& new_slot(int number);

  RunContext& context_;
  StageInput& input_;
  StageResults& results_;
  StageBackend& computing_;
  const std::int64_t largest_work_;
  HeldBytes held_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<ZippedPiece> pending_;  ///< handed out, but waiting for memory
  std::atomic<int> in_flight_ = 0;
  std::int64_t taken_ = 0;
  std::exception_ptr refusal_;  ///< of the latest part that did not fit
};

}  // namespace anabranch::runtime
