#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include <anabranch/run_report.h>

#include "plan/plan.h"
#include "scheduler/trace.h"

/// What happens in a run, stage by stage, in bounded memory: what its report is made of.
namespace anabranch::runtime {

/// Not thread-safe: stages run one after the other, and of each a chunk at a time is told of.
class RunRecord {
 public:
  /// Times are told from `begin_ns` on, of the scheduler's clock.
  explicit RunRecord(std::int64_t begin_ns) : begin_ns_(begin_ns) {}

  struct Stage {
    const plan::StagePlan* plan = nullptr;
    int number = 0;  ///< in the order in which they first ran
    std::string name, place, source, scheduler;
    std::optional<std::int64_t> total_items, total_work;
    int ring = 1;
    bool in_pieces = false;
    std::int64_t runs = 0;
    std::int64_t gpu_chunks = 0;
    scheduler::Trace trace;
  };
  /// This stage of the plan; the same one again where it runs again, in another round of a loop.
  Stage& stage(const plan::Plan& plan, const plan::StagePlan& of);

  /// Adds what the stages did.
  void tell(RunReport& report) const;

 private:
  const std::int64_t begin_ns_;
  std::deque<Stage> stages_;
};

}  // namespace anabranch::runtime
