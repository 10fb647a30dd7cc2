#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "run/context/context.h"

/// Memory that is short only as long as others compute.
namespace anabranch::runtime {

/// Counts what is being computed, while it lives.
class Computing {
 public:
  explicit Computing(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Computing() { --count_; }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  std::atomic<int>& count_;
};

/// Has `f` do something of which nothing is left behind where it finds no memory, or with which it goes on when it is called
/// again: then it is tried again, as long as others compute. What they hold meanwhile is soon given back. Whoever calls it holds nothing that they may wait for.
template <class F>
auto when_others_gave_back(const RunContext& context, const std::atomic<int>& others, F&& f) {
  for (bool again = false;; again = true) {
    const bool any = others > 0;
    try {
      return f();
    } catch (const scheduler::BudgetExceeded&) {
      if (again && !any) throw;
    }
    context.blocks.trim();
    if (again) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace anabranch::runtime
