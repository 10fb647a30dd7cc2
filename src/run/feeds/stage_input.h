#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "ir/cancelled.h"
#include "plan/plan.h"
#include "run/chunks/backend.h"
#include "run/context/context.h"
#include "run/context/global_values.h"
#include "run/feeds/streams.h"
#include "run/sources/zipped_sources.h"
#include "scheduler/policy.h"

/// What a stage reads.
namespace anabranch::runtime {

/// Has `f` read the next items, or split them off. Where there is no memory for them they wait until they are the only ones in
/// flight, `alone`; then memory that lies idle is given back, and it is tried again as long as `others`, where there are any, may
/// give some back, or, as `waits` tells, whoever has been given results.
template <class F>
auto with_room(const RunContext& context, bool alone, F&& f, Streams* others = nullptr,
               const std::function<bool()>& waits = {}) {
  std::int64_t given_back = 0;
  bool may_come = waits != nullptr;
  const auto is_over = [&](bool again) {
    if (!alone || !again || (others != nullptr && others->wait_for_memory(given_back))) return false;
    if (!may_come) return true;
    may_come = waits();  // what came back before is seen the next time
    if (may_come) std::this_thread::sleep_for(std::chrono::microseconds(500));
    return false;
  };
  for (bool again = false;; again = true) {
    if (context.options.stop.stop_requested()) ir::raise_cancelled();
    if (others != nullptr) given_back = others->times_given_back();
    std::int64_t bytes = 0;
    try {
      return f();
    } catch (const ItemTooBig& e) {
      if (is_over(again)) throw;
      bytes = e.bytes();
    } catch (const scheduler::BudgetExceeded& e) {
      if (is_over(again)) throw;
      bytes = e.requested();
    }
    // What the attempt has given back itself, in one that feeds this, is there for all.
    if (!again && others != nullptr) others->may_have_given_back();
    if (!alone) throw scheduler::ChunkTooBig("an item waits for memory", scheduler::ChunkSize{1, 0, bytes});
    context.blocks.trim();
  }
}

/// Opens a source that other stages feed (feeds.h).
using OpenFed = std::function<std::shared_ptr<SourceBase>(const plan::StagePlan& stage, std::size_t source,
                                                          Streams& streams)>;

/// The opened sources of a stage, and how they are read.
class StageInput {
 public:
  StageInput(RunContext& context, const plan::StagePlan& stage, GlobalValues& global, Streams& streams,
             const OpenFed& open_fed);

  const plan::StagePlan& stage() const { return stage_; }
  ZippedSources& sources() { return *zipped_; }
  const ZippedSources& sources() const { return *zipped_; }
  /// Per source, of its arrays.
  const std::vector<std::vector<ArrayInfo>>& infos() const { return infos_; }
  /// Values of the uniforms of the stage's group.
  const std::vector<std::int64_t>& uniforms() const { return uniforms_; }
  const scheduler::Policy& policy() const { return policy_; }
  /// Memory of the caller that the run writes, where no item may lie.
  const std::vector<WrittenMemory>& written() const { return written_; }

  /// For a back end that computes the stage with so many chunks in flight.
  StageWork work(int slots);
  /// The next chunk, of at most so many items, bytes and elements; false at the end. `at_once`: a live source that has
  /// given an item is not waited for.
  bool read(const scheduler::Target& target, std::vector<SourceChunk>& chunks, bool at_once = false);
  /// Whether the items are read in pieces, by several threads at once: `split` in place of `read`.
  bool in_pieces() const;
  /// Whether nothing is read, yet `split` gains: what one kernel writes the next one reads in the cache of the same core.
  bool gains_in_pieces() const;
  /// The next piece, likewise; null at the end.
  std::unique_ptr<ZippedPiece> split(const scheduler::Target& target);
  std::vector<SourceChunk> part_of(const std::vector<SourceChunk>& chunks, std::int64_t begin,
                                   std::int64_t end) const;
  /// Bytes beyond which a chunk that is read into buffers gains nothing.
  std::int64_t largest_read(const BackendTraits& traits) const;
  /// Elements whose items have so many bytes; a view of memory counts no bytes, so a bound on what is copied is one
  /// on its elements.
  std::int64_t work_of(std::int64_t bytes) const;
  /// Of the first chunk of an adaptive run.
  std::int64_t start_work() const;
  /// Do kernels of a chunk read what others of them have written?
  bool has_intermediates() const;
  /// Does another stage feed it?
  bool is_fed() const;
  /// Nothing more is read: what its sources keep is given back.
  void close();

 private:
  Limit limit_of(const scheduler::Target& target) const;
  void check_items(const std::vector<SourceChunk>& chunks) const;
  std::int64_t bytes_of_views() const;
  void open(std::size_t source, Streams& streams, const OpenFed& open_fed);
  bool is_stored(int item) const;
  std::int64_t number_of_items(int uniform, const ir::Node& asked) const;
  std::int64_t most_items() const;

  RunContext& context_;
  const plan::StagePlan& stage_;
  GlobalValues& global_;
  std::vector<std::shared_ptr<SourceBase>> opened_;
  std::vector<std::vector<ArrayInfo>> infos_;
  std::unique_ptr<ZippedSources> zipped_;
  std::vector<std::int64_t> uniforms_;
  std::int64_t element_bytes_ = 0;  ///< of the items, per element of work
  scheduler::Reservation resident_;
  scheduler::Policy policy_;
  std::vector<WrittenMemory> written_;
  bool has_read_ = false;
};

/// Of one chunk's parts, one per source of the stage.
scheduler::ChunkSize chunk_size_of(const std::vector<SourceChunk>& chunks);

}  // namespace anabranch::runtime
