// The numbers 0 .. count - 1 as a stream of pieces, and phases that fail: for the tests of piecewise.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/piecewise.h"
#include "support/catch.h"

namespace anabranch::scheduler::test {

struct PieceFailure {  // not derived from std::exception: the type itself must come out
  std::string phase;
  int64_t piece;
};

// The numbers 0 .. count - 1, of which 2 x + 1 is committed, with every rule of the phases checked on the way. Hooks run
// at the beginning of a phase, with the number of the piece. Violations are collected, not thrown.
class NumbersInPieces {
 public:
  explicit NumbersInPieces(int64_t count, int slots = 64)
      : count_(count), slots_(static_cast<std::size_t>(slots)) {}

  std::function<void(int64_t piece)> on_take, on_read, on_compute, on_commit;
  // Of one number, and of more of them together: what `take` refuses, and `compute` unless it is alone.
  int64_t most_taken = no_limit, most_computed = no_limit;

  PiecePhases phases() {
    PiecePhases result;
    result.take = [this](int slot, const Target& target) { return take(slot, target); };
    result.read = [this](int slot) { return read(slot); };
    result.compute = [this](int slot, bool alone) { return compute(slot, alone); };
    result.commit = [this](int slot) { commit(slot); };
    return result;
  }
  PipelineResult run(Executor& executor, PipelineOptions options) {
    options.max_ring = std::min(piece_slots(executor), static_cast<int>(slots_.size()));
    return run_piecewise(executor, phases(), options);
  }

  const std::vector<int64_t>& committed() const { return committed_; }
  bool committed_is_prefix() const {
    for (std::size_t i = 0; i < committed_.size(); ++i)
      if (committed_[i] != 2 * static_cast<int64_t>(i) + 1) return false;
    return true;
  }
  bool committed_is_all() const {
    return static_cast<int64_t>(committed_.size()) == count_ && committed_is_prefix();
  }
  const std::string& violation() const { return violation_; }
  int64_t pieces() const { return pieces_; }
  int64_t computed_alone() const { return computed_alone_; }
  int most_at_once() const { return most_at_once_; }

 private:
  enum class State { free, taken, read, computed };
  struct Slot {
    int64_t piece = 0, first = 0, items = 0;
    std::vector<int64_t> values;
    State state = State::free;
    std::atomic<bool> touched = false;
  };

  class Use {
   public:
    Use(NumbersInPieces& numbers, Slot& slot) : slot_(slot) {
      if (slot_.touched.exchange(true)) numbers.violate("two phases in one slot");
    }
    ~Use() { slot_.touched = false; }

   private:
    Slot& slot_;
  };
  class One {
   public:
    One(NumbersInPieces& numbers, std::atomic<bool>& phase) : phase_(phase) {
      if (phase_.exchange(true)) numbers.violate("a phase that comes one at a time runs twice");
    }
    ~One() { phase_ = false; }

   private:
    std::atomic<bool>& phase_;
  };
  class AtOnce {
   public:
    explicit AtOnce(NumbersInPieces& numbers) : numbers_(numbers) {
      const int now = ++numbers_.at_once_;
      int most = numbers_.most_at_once_;
      while (now > most && !numbers_.most_at_once_.compare_exchange_weak(most, now)) {
      }
    }
    ~AtOnce() { --numbers_.at_once_; }

   private:
    NumbersInPieces& numbers_;
  };

  void violate(const char* what) {
    if (!violated_.exchange(true)) violation_ = what;
  }
  Slot& slot_at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }

  std::optional<ChunkSize> take(int number, const Target& target) {
    const One one(*this, taking_);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (ended_) violate("taken after the end");
    if (target.items < 1 || target.work < 1 || target.bytes < 1) violate("an empty target");
    if (on_take) on_take(pieces_);
    if (slot.state != State::free) violate("taken into a slot that was not committed");
    const int64_t items = std::min({count_ - next_, target.items, std::max<int64_t>(target.work, 1),
                                    std::max<int64_t>(target.bytes / 8, 1)});
    if (items == 0) {
      ended_ = true;
      return std::nullopt;
    }
    if (items > most_taken) throw ChunkTooBig("too many to take", {items, items, items * 8});
    slot.piece = pieces_++;
    slot.first = next_;
    slot.items = items;
    next_ += items;
    slot.state = State::taken;
    return ChunkSize{items, items, items * 8};
  }

  ChunkSize read(int number) {
    const AtOnce at_once(*this);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (on_read) on_read(slot.piece);
    if (slot.state != State::taken) violate("read without having been taken");
    slot.values.clear();
    for (int64_t i = 0; i < slot.items; ++i) slot.values.push_back(slot.first + i);
    slot.state = State::read;
    return {slot.items, slot.items, slot.items * 8};
  }

  Computed compute(int number, bool alone) {
    const AtOnce at_once(*this);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (on_compute) on_compute(slot.piece);
    if (slot.state != State::read) violate("computed without having been read");
    if (alone) {
      ++computed_alone_;
      if (at_once_ != 1 || taking_ || committing_) violate("alone, but not the only one");
      if (static_cast<int64_t>(committed_.size()) != slot.first) violate("alone, but not the first");
    } else if (slot.items > most_computed) {
      throw ChunkTooBig("no memory beside others", {slot.items, slot.items, slot.items * 8});
    }
    for (int64_t& value : slot.values) value = 2 * value + 1;
    slot.state = State::computed;
    return alone && slot.items > most_computed ? Computed::in_parts : Computed::whole;
  }

  void commit(int number) {
    const One one(*this, committing_);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (on_commit) on_commit(slot.piece);
    if (slot.state != State::computed) violate("committed without having been computed");
    committed_.insert(committed_.end(), slot.values.begin(), slot.values.end());
    slot.state = State::free;
  }

  const int64_t count_;
  std::vector<Slot> slots_;
  int64_t next_ = 0, pieces_ = 0;
  bool ended_ = false;
  std::atomic<bool> taking_ = false, committing_ = false;
  std::atomic<int> at_once_ = 0, most_at_once_ = 0;
  std::atomic<int64_t> computed_alone_ = 0;
  std::vector<int64_t> committed_;
  std::atomic<bool> violated_ = false;
  std::string violation_;
};

inline void fail_at(std::function<void(int64_t)>& hook, const char* phase, int64_t at) {
  hook = [phase, at](int64_t piece) {
    if (piece == at) throw PieceFailure{phase, piece};
  };
}

// Runs the numbers, of which a phase fails at the piece: its exception comes out, after what a serial run would have committed.
inline void check_fails_at(NumbersInPieces& numbers, Executor& executor, const PipelineOptions& options,
                           const std::string& phase, int64_t piece) {
  std::function<void(int64_t)>& hook = phase == "take"      ? numbers.on_take
                                       : phase == "read"    ? numbers.on_read
                                       : phase == "compute" ? numbers.on_compute
                                                            : numbers.on_commit;
  hook = [=, then = hook](int64_t at) {
    if (at == piece) throw PieceFailure{phase, piece};
    if (then) then(at);
  };
  bool caught = false;
  try {
    numbers.run(executor, options);
  } catch (const PieceFailure& failure) {
    caught = failure.phase == phase && failure.piece == piece;
  }
  REQUIRE(caught);
  REQUIRE(numbers.violation().empty());
  REQUIRE(numbers.committed_is_prefix());
  REQUIRE(static_cast<int64_t>(numbers.committed().size()) == piece);
}

inline constexpr int64_t all_items = 40;  // one in a piece

}  // namespace anabranch::scheduler::test
