#pragma once

#include <span>
#include <vector>

#include "run/chunks/backend.h"
#include "run/context/context.h"
#include "run/context/global_values.h"

/// The order of a run: steps of the global group, stages, loops and branches.
namespace anabranch::runtime {

class PassStreams;
class StageRun;

class PlanRun {
 public:
  PlanRun(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments);
  /// The first `actions` of the plan.
  void run(std::size_t actions) { run(0, actions); }
  /// Those from `begin` to before `end`.
  void run(std::size_t begin, std::size_t end);
  /// A stage has been run elsewhere: what its sinks have given.
  void set_stream(int stage, const std::vector<HostArray>& results,
                  std::vector<scheduler::Reservation> reservations);
  GlobalValues& values() { return values_; }
  /// Runs functions that are applied as a stream passes, as long as this lives. Nobody is told of streams inside of them.
  RunBody applied_functions() {
    return [this](int body, const std::vector<HostArray>& arguments, std::int64_t item,
                  std::span<const HostArray> into) { return apply(body, arguments, item, into); };
  }
  /// Result r as the caller gets it. What is no array of this run's own, or has been given out before, is
  /// copied.
  HostArray result(std::size_t r);
  /// A program inside of another one: its results, which may be its arguments, where the back end has them (RunBackend::fetch). `own`: which of the first arguments it
  /// may overwrite; none of the others. `into`: empty, or for each result memory that it may lie in, or null.
  static std::vector<HostArray> run_body(RunContext& context, RunBackend& backend,
                                         const std::vector<HostArray>& arguments, std::vector<bool> own = {},
                                         std::span<const HostArray> into = {});

 private:
  /// A body of a loop or a branch: its arguments are the outer run's arrays.
  struct Inner {};
  PlanRun(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments, Inner);

  HostArray given_for(int array) const;
  HostArray kept_result(int number);
  HostArray new_array(const ir::Scalars& scalars, std::vector<std::int64_t> extents, std::int64_t elements);
  std::shared_ptr<void> new_memory(std::int64_t bytes) const;
  bool is_own(int number, const HostArray& array) const;
  void run_action(const plan::StepAction& action);
  void run_action(const plan::StageAction& action);
  void run_action(const plan::LoopAction& loop);
  void run_action(const plan::BranchAction& branch);
  std::vector<HostArray> run_body(int number, const std::vector<HostArray>& state,
                                  std::vector<bool> own = {});
  std::vector<HostArray> apply(int body, const std::vector<HostArray>& own_arguments, std::int64_t item,
                               std::span<const HostArray> into);
  HostArray joined(const std::vector<HostArray>& parts, const ir::Scalars& scalars, int control);
  void set_results(int control, const std::vector<HostArray>& results);
  std::vector<HostArray> memory_for(int stage) const;
  void run_together(const std::vector<int>& stages, PassStreams& pass);
  void run_step(const plan::KernelStep& step);
  void run_step(const plan::OffsetsStep& step);
  void run_step(const plan::RequireStep& step);
  void run_step(const plan::RearrangeStep& step);
  void run_step(const plan::NestedStep& step);
  HostArray make_output(int number);
  std::shared_ptr<void> taken_over(const plan::PlanArray& output, std::size_t component) const;
  bool may_overwrite(int array) const;

  RunContext& context_;
  RunBackend& backend_;
  GlobalValues values_;
  std::vector<HostArray> inputs_;
  std::span<const HostArray> into_;  ///< memory for the results; those of a body may lie anywhere
  std::vector<bool> own_arguments_;  ///< the first ones: whether nobody else has them
  scheduler::Reservation held_inputs_;
  std::vector<scheduler::Reservation> held_;
  std::vector<HostArray> given_out_;
  std::vector<ResultSizes>
      sizes_;  ///< per body: what it gave when it was applied the last time, perhaps by several threads
};

/// Runs a program inside of a chunk: its results.
std::vector<HostArray> run_nested(const RunContext& context, RunBackend& backend, const plan::Plan& program,
                                  const std::vector<HostArray>& arguments);
/// The vector of these elements, in memory that somebody else keeps.
HostArray borrowed_vector(const ir::Scalars& scalars, const std::vector<void*>& components,
                          std::int64_t elements);
/// Of one number.
HostArray scalar_array(std::int64_t number);

}  // namespace anabranch::runtime
