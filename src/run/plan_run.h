#pragma once

#include <vector>

#include "run/backend.h"
#include "run/context.h"
#include "run/global_values.h"

/// The order of a run: steps of the global group, and stages.
namespace anabranch::runtime {

class PlanRun {
 public:
  PlanRun(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments);
  /// The first `actions` of the plan.
  void run(std::size_t actions);
  GlobalValues& values() { return values_; }
  /// Result r as the caller gets it. What is no array of this run's own, or has been given out before, is
  /// copied.
  HostArray result(std::size_t r);

 private:
  HostArray given_for(int array) const;
  HostArray new_array(const ir::Scalars& scalars, std::vector<std::int64_t> extents, std::int64_t elements);
  void run_stage(int number);
  std::vector<HostArray> memory_for(int stage) const;
  void run_step(const plan::KernelStep& step);
  void run_step(const plan::OffsetsStep& step);
  void run_step(const plan::RequireStep& step);
  HostArray make_output(int number);

  RunContext& context_;
  RunBackend& backend_;
  GlobalValues values_;
  scheduler::Reservation inputs_;
  std::vector<scheduler::Reservation> held_;
  std::vector<HostArray> given_out_;
};

}  // namespace anabranch::runtime
