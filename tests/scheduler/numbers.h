// A stream of the numbers 0 .. count - 1 through a pipeline,
// with every rule of the phases checked on the way.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/pipeline.h"

namespace anabranch::scheduler::test {

// Computes f(x) = 2 x + 1. Hooks run at the beginning of the phase, with the number of the call (0, 1, ...).
// Violations are collected, not thrown: phases run on other threads.
class Numbers {
 public:
  explicit Numbers(int64_t count, int slots = 8) : count_(count), slots_(static_cast<std::size_t>(slots)) {}

  std::function<void(int64_t call)> on_read, on_compute, on_write;
  bool inline_read = false;
  bool inline_write = false;
  Executor* executor = nullptr;  // computes in parallel with it, if any

  ChunkPhases phases() {
    ChunkPhases result;
    result.read = [this](int slot, const Target& target) { return read(slot, target); };
    result.compute = [this](int slot) {
      compute(slot);
      return Computed::whole;
    };
    result.write = [this](int slot) { write(slot); };
    result.inline_read = inline_read;
    result.inline_write = inline_write;
    return result;
  }

  const std::vector<int64_t>& written() const { return written_; }
  bool written_is_prefix() const {
    for (std::size_t i = 0; i < written_.size(); ++i) {
      if (written_[i] != 2 * static_cast<int64_t>(i) + 1) return false;
    }
    return true;
  }
  bool written_is_all() const {
    return static_cast<int64_t>(written_.size()) == count_ && written_is_prefix();
  }
  // Broken rules; empty is right.
  const std::string& violation() const { return violation_; }

  int64_t reads() const { return reads_; }
  int64_t computes() const { return computes_; }
  int64_t writes() const { return writes_; }

 protected:
  enum class State { free, read, computed };
  struct Slot {
    std::vector<int64_t> values;
    State state = State::free;
    std::atomic<bool> touched = false;
  };

  // Marks a phase and a slot as in use for its life time.
  class Use {
   public:
    Use(Numbers& numbers, std::atomic<bool>& phase, Slot& slot) : phase_(phase), slot_(slot) {
      if (phase_.exchange(true)) numbers.violate("a phase runs twice at a time");
      if (slot_.touched.exchange(true)) numbers.violate("two phases in one slot");
    }
    ~Use() {
      slot_.touched = false;
      phase_ = false;
    }

   private:
    std::atomic<bool>& phase_;
    Slot& slot_;
  };

  void violate(const char* what) {
    if (!violated_.exchange(true)) violation_ = what;
  }
  Slot& slot_at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }

  std::optional<ChunkSize> read(int slot, const Target& target) {
    Slot& s = slot_at(slot);
    const Use use(*this, reading_, s);
    if (ended_) violate("read after the end");
    const int64_t call = reads_++;
    if (on_read) on_read(call);
    if (s.state == State::computed) violate("read into a slot that was not written");
    const int64_t items = std::min({count_ - next_, target.items, std::max<int64_t>(target.work, 1),
                                    std::max<int64_t>(target.bytes / 8, 1)});
    if (target.items < 1 || target.work < 1 || target.bytes < 1) violate("an empty target");
    if (items == 0) {
      ended_ = true;
      return std::nullopt;
    }
    s.values.clear();
    for (int64_t i = 0; i < items; ++i) s.values.push_back(next_++);
    s.state = State::read;
    return ChunkSize{.items = items, .work = items, .bytes = items * 8};
  }

  void compute(int slot) {
    Slot& s = slot_at(slot);
    const Use use(*this, computing_, s);
    const int64_t call = computes_++;
    if (on_compute) on_compute(call);
    if (s.state != State::read) violate("compute without read");
    const auto piece = [&](int64_t i) {
      int64_t& value = s.values[static_cast<std::size_t>(i)];
      value = 2 * value + 1;
    };
    const auto size = static_cast<int64_t>(s.values.size());
    if (executor != nullptr) {
      executor->parallel_for(size, piece);
    } else {
      for (int64_t i = 0; i < size; ++i) piece(i);
    }
    s.state = State::computed;
  }

  void write(int slot) {
    Slot& s = slot_at(slot);
    const Use use(*this, writing_, s);
    const int64_t call = writes_++;
    if (on_write) on_write(call);
    if (s.state != State::computed) violate("write without compute");
    written_.insert(written_.end(), s.values.begin(), s.values.end());
    s.state = State::free;
  }

  const int64_t count_;
  std::vector<Slot> slots_;
  int64_t next_ = 0;
  bool ended_ = false;
  std::atomic<bool> reading_ = false, computing_ = false, writing_ = false;
  std::atomic<int64_t> reads_ = 0, computes_ = 0, writes_ = 0;
  std::vector<int64_t> written_;
  std::atomic<bool> violated_ = false;
  std::string violation_;
};

}  // namespace anabranch::scheduler::test
