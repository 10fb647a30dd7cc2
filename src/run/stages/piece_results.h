#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <vector>

#include "run/stages/stage_results.h"

/// The results of a piece that is computed beside others.
namespace anabranch::runtime {

/// What pieces hold until their turn comes. It is bounded, so that the first of them, whose turn it is, has memory to be
/// computed with. Thread-safe.
class HeldBytes {
 public:
  explicit HeldBytes(std::int64_t most) : most_(most) {}
  bool add(std::int64_t bytes);
  void remove(std::int64_t bytes) { held_ -= bytes; }

 private:
  const std::int64_t most_;
  std::atomic<std::int64_t> held_ = 0;
};

/// Written where they have their place in the stage's results, if that is known beforehand; else held, and appended in
/// their turn.
class PieceResults final : public StageOutput {
 public:
  PieceResults(RunContext& context, const plan::StagePlan& stage, const StageResults& results,
               HeldBytes& held)
      : StageOutput(context, stage), results_(results), held_(held) {}
  ~PieceResults() override { clear(); }

  /// Another piece, which begins with this item. nullopt: that is not known yet, so that all is held; its parts are
  /// numbered from 0 on until `number_from`.
  void begin(std::optional<std::int64_t> first_item);
  /// The piece begins with this item.
  void number_from(std::int64_t first_item);
  /// Also throws BudgetExceeded where pieces hold too much.
  std::vector<void*> room(int result, std::int64_t elements) override;
  void commit(PartShape shape) override;
  /// It is the piece's turn. Where it throws BudgetExceeded, what has not been moved is still there.
  void move_to(StageResults& results);
  void clear();

 private:
  /// What is held of one result of a part; empty: it is in its place.
  struct Room {
    std::vector<void*> blocks;
    std::int64_t bytes = 0;
  };
  struct Part {
    PartShape shape;
    std::vector<Room> rooms;  ///< per result of the stage
  };
  void give_back(Room& room);

  const StageResults& results_;
  HeldBytes& held_;
  bool is_numbered_ = false;  ///< it is known which items these are
  std::int64_t next_item_ = 0;
  std::vector<Room> rooms_;  ///< not committed
  std::deque<Part> parts_;
};

}  // namespace anabranch::runtime
