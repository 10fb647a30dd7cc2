#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "ir/extents.h"
#include "plan/plan.h"
#include "run/context/context.h"
#include "scheduler/budget.h"

/// The way of results from a back end to the run.
namespace anabranch::runtime {

/// Bytes of one element.
std::int64_t width_of(const ir::ArrayType& type);

/// Of some consecutive items of a stream: how large their results are.
struct PartShape {
  struct Result {
    std::int64_t elements = 0;
    ir::ItemExtents extents;  ///< empty where the items' shapes do not matter
  };
  std::int64_t first = 0;  ///< number of its first item in the stream
  std::int64_t items = 0;
  std::vector<Result> results;  ///< per result of the stage
};

/// Results of some items, somewhere in host memory.
struct PartResults {
  PartShape shape;
  std::vector<std::vector<const void*>> components;  ///< per result of the stage
  /// Memory of the components, counted, where it belongs to them; else empty.
  std::vector<std::vector<std::shared_ptr<void>>> owned;
  std::int64_t later = 0;  ///< bytes that appending it takes, where it waits for its turn
};

/// Counted memory of its own for so many elements, one piece per component. Throws BudgetExceeded.
std::vector<std::shared_ptr<void>> take_room(RunContext& context, const ir::ArrayType& type,
                                             std::int64_t elements);
std::vector<void*> addresses_of(const std::vector<std::shared_ptr<void>>& memory);

/// Takes the results of a stage part by part, in the order of the stream.
class StageOutput {
 public:
  StageOutput(RunContext& context, const plan::StagePlan& stage) : context_(context), stage_(stage) {}
  virtual ~StageOutput() = default;
  StageOutput(const StageOutput&) = delete;
  StageOutput& operator=(const StageOutput&) = delete;

  /// Addresses for so many elements of a result of the stage, one per component. What is written there counts
  /// when it is committed; until then the same room may be asked for again. Throws BudgetExceeded.
  virtual std::vector<void*> room(int result, std::int64_t elements) = 0;
  /// What room has been given and not committed is not used.
  virtual void forget_room() {}
  /// The room of all results holds a part of this shape.
  virtual void commit(PartShape shape) = 0;
  /// A part that lies elsewhere. Here: is copied. Where BudgetExceeded is thrown, the part is as it was.
  virtual void append(PartResults&& part);

 protected:
  const plan::PlanArray& array_of(std::size_t result) const {
    return stage_.group.arrays[static_cast<std::size_t>(stage_.results[result])];
  }

  /// Into the room of a result.
  void copy_part(const std::vector<const void*>& components, std::int64_t elements, int result);

  RunContext& context_;
  const plan::StagePlan& stage_;
};

/// What parts that wait for their turn, in several HeldResults, take when it comes. Thread-safe.
class AppendedLater {
 public:
  void add(std::int64_t bytes);
  void remove(std::int64_t bytes);
  /// The most that one of them takes.
  std::int64_t most() const;

 private:
  mutable std::mutex mutex_;
  std::multiset<std::int64_t> bytes_;
};

/// Keeps parts in memory of its own until their turn comes.
class HeldResults final : public StageOutput {
 public:
  /// What appending so many elements of a result takes.
  using BytesToAppend = std::function<std::int64_t(int result, std::int64_t elements)>;
  /// Without `later` nobody asks what appending them takes.
  HeldResults(RunContext& context, const plan::StagePlan& stage, BytesToAppend bytes_to_append = {},
              AppendedLater* later = nullptr)
      : StageOutput(context, stage), bytes_to_append_(std::move(bytes_to_append)), later_(later) {}
  ~HeldResults() override { clear(); }
  std::vector<void*> room(int result, std::int64_t elements) override;
  void forget_room() override { rooms_.clear(); }
  void commit(PartShape shape) override;
  void append(PartResults&& part) override;
  bool empty() const { return parts_.empty(); }
  /// Whether `room` asks for what appending takes, too.
  void ask(bool asks) { asks_ = asks; }
  /// Hands over all that is held; where the sink has no memory for a part, that one and those behind it stay.
  void move_to(StageOutput& sink);
  void clear();

 private:
  std::int64_t bytes_of(const PartShape& shape) const;
  void keep(PartResults&& part);

  const BytesToAppend bytes_to_append_;
  AppendedLater* const later_;
  bool asks_ = true;
  std::vector<std::vector<std::shared_ptr<void>>> rooms_;  ///< per result, not committed
  std::vector<PartResults> parts_;
};

}  // namespace anabranch::runtime
