#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "run/context/stage_output.h"
#include "run/feeds/stage_input.h"
#include "run/sinks/sinks.h"

/// The results of a stage that runs to its end.
namespace anabranch::runtime {

/// One sink for each result of the stage: parts are written where they belong.
class StageResults final : public StageOutput {
 public:
  /// `number`: of the plan's stages. `into`: for each result of the stage memory that the caller gives, or null.
  StageResults(RunContext& context, int number, const StageInput& input, const std::vector<HostArray>& into,
               const GlobalValues& global, const RunBody& run_body);
  std::vector<void*> room(int result, std::int64_t elements) override;
  void forget_room() override;
  void commit(PartShape shape) override;
  void append(PartResults&& part) override;
  /// A result of the next part lies here until `commit` returns.
  void append_held(int result, const std::vector<const void*>& components, std::int64_t elements);
  /// Whether results are written elsewhere, which is done beside computing.
  bool writes() const { return writes_; }
  /// Where a result of the items from this one on has its place, as Sink::place. Thread-safe.
  std::vector<void*> place(int result, std::int64_t first_item, std::int64_t elements) const;
  /// Sink::bytes_to_commit of a result. Thread-safe.
  std::int64_t bytes_to_commit(int result, std::int64_t elements) const {
    const auto& sink = sinks_[static_cast<std::size_t>(result)];
    return sink ? sink->bytes_to_commit(elements) : 0;
  }
  /// Memory that `append` takes for so many elements of a result: its copy, where it is copied, and what committing takes.
  std::int64_t bytes_to_append(int result, std::int64_t elements) const;
  /// Whether what is written keeps memory, of which some is with somebody who is going to give it back.
  bool keeps() const;
  bool waits_for_memory() const;
  /// Whether their sizes are known before the first chunk.
  bool known_sizes() const { return known_sizes_; }
  /// Whether it is known of all of them where those of an item lie among those of the others.
  bool known_places() const;
  /// Whether what takes them runs programs of its own, on all threads; and whether these print.
  bool runs_bodies() const;
  bool bodies_print() const;
  /// How many chunks are being computed beside what commits. It waits for these where memory is short, and so holds nothing
  /// that they may wait for.
  std::atomic<int>& beside() { return beside_; }
  /// One array for each sink of the stage.
  std::vector<HostArray> finish();
  /// What the account holds for the results.
  std::vector<scheduler::Reservation> take_reservations();

 private:
  void add_writes(const ir::Ref& consume, const StageInput& input);
  std::unique_ptr<Sink> sink_of(std::size_t number, const StageInput& input, const HostArray& into,
                                const GlobalValues& global, const RunBody& run_body);
  void check_order(const PartShape& shape);
  std::int64_t likely_elements(int result, const StageInput& input) const;
  void require_numbers_of_items(const std::vector<std::int64_t>& uniforms) const;

  int number_;
  std::atomic<int> beside_ = 0;
  bool known_sizes_ = true;
  bool writes_ = false;
  std::int64_t next_item_ = 0;                ///< the first that has not been committed
  std::vector<std::unique_ptr<Sink>> sinks_;  ///< per result of the stage
  std::vector<std::int64_t> of_one_item_;     ///< elements, likewise; -1: not known beforehand
};

}  // namespace anabranch::runtime
