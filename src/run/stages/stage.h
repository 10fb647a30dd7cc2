#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "run/chunks/backend.h"
#include "run/feeds/feeds.h"
#include "run/stages/stage_log.h"
#include "run/stages/stage_pieces.h"
#include "run/stages/stage_results.h"
#include "scheduler/pipeline.h"

/// One stage that runs to its end: read, compute and write over a ring of chunks.
namespace anabranch::runtime {

class StageRun {
 public:
  /// `number`: of the plan's stages, as this member of the pass. `into`: for each result of the stage memory that the caller
  /// gives, or null.
  StageRun(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
           const std::vector<HostArray>& into, const RunBody& run_body, PassStreams& pass, int member);
  /// Runs the stream to its end and gives one array for each sink.
  std::vector<HostArray> run();
  /// What the account holds for the results of `run`.
  std::vector<scheduler::Reservation> take_reservations() { return results_.take_reservations(); }

 private:
  struct Slot {
    Slot(RunContext& context, const plan::StagePlan& stage, HeldResults::BytesToAppend bytes_to_append,
         AppendedLater& later)
        : parts(context, stage, std::move(bytes_to_append), &later) {}
    std::vector<SourceChunk> chunks;
    scheduler::Reservation reservation;
    bool enqueued = false;   ///< as a whole: its results are still to be taken
    bool on_device = false;  ///< all of it or a part
    HeldResults parts;       ///< what has been computed, until its turn, unless results take it at once
  };

  bool runs_in_pieces() const;
  std::vector<HostArray> places_of_items(std::int64_t first, std::int64_t items) const;
  HostArray place_of_items(int number, const ArrayInfo& info, std::int64_t first, std::int64_t items) const;
  int slots_of_pieces() const;
  std::int64_t memory_for_chunks() const;
  std::int64_t bytes_of_one_chunk() const;
  void bound_chunks(int slots);
  void make_slots(int count);
  bool is_small() const;
  void run_at_once();
  void run_scheduled();
  scheduler::PipelineResult run_chunks();
  scheduler::PipelineResult run_pieces();
  scheduler::ChunkPhases phases();
  std::optional<scheduler::ChunkSize> read(Slot& slot, const scheduler::Target& target);
  bool read_source(Slot& slot, const scheduler::Target& target);
  scheduler::Computed compute(int number);
  void compute_in_halves(int number, std::int64_t begin, std::int64_t end);
  void make_room(int number);
  bool fits_after_waiting(int number, const std::vector<SourceChunk>& chunks, StageOutput& results);
  bool fits(int number, const std::vector<SourceChunk>& chunks, StageOutput& results);
  /// Writing takes long: it is done beside computing, of what has been computed.
  bool holds_results() const { return traits_.completes_at_once && results_.writes(); }
  void write_held();
  void hand_over(HeldResults& parts);
  void write(int number);

  RunContext& context_;
  RunBackend& backend_;
  const BackendTraits traits_;
  int number_;
  Streams streams_;
  StageInput input_;
  StageResults results_;
  StageLog log_;
  /// Items are read in pieces, or taken where they lie, and computed by who took them (StagePieces); else chunk by chunk.
  const bool in_pieces_;
  scheduler::PipelineOptions options_;
  AppendedLater later_;  ///< of all slots
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<StageBackend> computing_;
  std::vector<SourceChunk> pending_;  ///< read, but waiting for memory
  std::mutex writing_;                ///< held while results are written
  std::exception_ptr unwritable_;     ///< writing them has failed
  std::mutex unwritten_guard_;
  std::deque<int> unwritten_;  ///< slots whose results are held, in the order of the stream
  std::atomic<int> in_flight_ = 0, computing_now_ = 0;
  std::exception_ptr refusal_;  ///< of the latest part that did not fit
};

}  // namespace anabranch::runtime
