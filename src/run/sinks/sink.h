#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "run/context/context.h"
#include "run/context/stage_output.h"

/// The contract of a sink: what takes one result of a stage, over all chunks of a run.
namespace anabranch::runtime {

/// What is known of a result's size before the first chunk, in elements.
struct ResultSize {
  std::int64_t certain = 0;  ///< reserved at once
  /// A guess: so much address space is taken, where it is larger, but only what is written counts.
  std::int64_t likely = 0;
};

/// What a sink is made for. All that is referred to lives as long as the run.
struct SinkWork {
  RunContext& context;
  const plan::PlanArray& array;  ///< of the stage's group: the result that it takes
  ResultSize size;
  HostArray into;                     ///< memory of the caller for what it gives, or null
  std::int64_t elements_of_item = 0;  ///< where all items have as many and that is known beforehand; else 0
  std::vector<HostArray> arrays;      ///< its operands that are arrays
  std::vector<ApplyFunction> functions;  ///< and those that are functions
  const std::atomic<int>& beside;        ///< chunks that are being computed beside what commits
};

/// A sink at work in one run. It has the state of this run; what is carried from chunk to chunk is the
/// sink's own and changes in `commit` only. One thread at a time calls it. Where the run fails it is
/// destroyed without `finish` and leaves nothing behind.
class Sink {
 public:
  virtual ~Sink() = default;
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Whether parts have to come in the order of the stream. Where it does not matter they may come in any.
  virtual bool order_matters() const = 0;
  /// Addresses for so many elements of the next part, one per component. What is written there counts when it
  /// is committed; until then room may be asked for again, for another part. Throws BudgetExceeded, with
  /// nothing changed: then fewer items are tried.
  virtual std::vector<void*> room(std::int64_t elements) = 0;
  /// The room that was given last is not used. What it takes may stay where little is gained.
  virtual void forget_room() {}
  /// Memory that committing a part of so many elements takes for a while, besides its room. Thread-safe.
  virtual std::int64_t bytes_to_commit(std::int64_t /*elements*/) const { return 0; }
  /// Where elements [first, first + elements) of the whole result have their place, whatever has been committed; one
  /// address per component. What is written there beforehand is committed in its turn, without room. Empty: that is
  /// not known beforehand. Thread-safe.
  virtual std::vector<void*> place(std::int64_t /*first*/, std::int64_t /*elements*/) const { return {}; }
  /// Instead of `room`: the next part lies here until it is committed, one address per component. `owned`: as long as
  /// somebody keeps it. Whether the sink takes it as it is.
  virtual bool take(const std::vector<std::shared_ptr<void>>&, bool /*owned*/) { return false; }
  /// Does it take such parts as they are?
  virtual bool takes_parts() const { return false; }
  /// SinkInfo::keeps and SinkPass::waits_for_memory of what is written.
  virtual bool keeps() const { return false; }
  virtual bool waits_for_memory() const { return false; }
  /// The room that was given last holds these items: how many elements, and where the sink asks for them the
  /// extents (sinks.h, needs_extents). What is written outside of the library is written here.
  virtual void commit(std::int64_t items, const PartShape::Result& part) = 0;
  /// The stream is over, and all of it has been committed. Called once; the array that `consume` gives.
  virtual HostArray finish() = 0;

  /// So many elements have been committed: what another run of the program may expect.
  virtual std::int64_t elements() const = 0;
  /// The result's part of the memory bound, for as long as the result lives.
  virtual scheduler::Reservation take_reservation() { return {}; }
};

}  // namespace anabranch::runtime
