#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "program.h"
#include "run/backends/choose.h"
#include "run_log.h"
#include "scheduler/budget.h"

/// A run of a plan.
namespace anabranch::detail {

/// What a run needs, made in the order of dependence: the back end is chosen, then come threads, memory, what
/// all parts share, the back end itself and its kernels.
class CompiledRun {
 public:
  /// `arguments`: of the program. `into`: memory that the caller gives for the results, one array for each, or none.
  CompiledRun(ProgramImpl& program, const std::vector<runtime::HostArray>& arguments,
              const RunOptions& options, RunLog& log, std::span<const runtime::HostArray> into,
              ResultsIn results = ResultsIn::host);
  /// Of a run that has failed, too, what it did is told.
  ~CompiledRun();

  runtime::RunContext& context() { return context_; }
  runtime::RunBackend& backend() { return *backend_; }
  /// Ends the run's computations: what it knows goes into the report and the trace, once.
  void conclude();
  /// All is well: what the run has written, and what is written about it, appears, or nothing does.
  void finish();

 private:
  RunLog& log_;
  runtime::BackendChoice choice_;
  scheduler::Executor& executor_;
  scheduler::Budget budget_;
  std::optional<runtime::MemoryPool::BoundedRun> bounded_;
  runtime::BlockPool blocks_;
  ir::SinkPasses sinks_;
  runtime::RunContext context_;
  std::unique_ptr<runtime::RunBackend> backend_;
  bool concluded_ = false;
};

/// What runs take for the memory limit of the control group, in bytes; 0: none. Read from the system once, unless a test
/// sets another one, and gets the one before.
std::int64_t group_memory();
std::int64_t set_group_memory(std::int64_t bytes);

/// Calls f, and translates the scheduler's exceptions to those of the public interface.
void with_public_errors(scheduler::FunctionRef<void()> f);

}  // namespace anabranch::detail
