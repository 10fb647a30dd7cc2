#include "compiled_run.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "run/memory/resident_memory.h"
#include "scheduler/cgroup.h"
#include "scheduler/threads.h"

namespace anabranch::detail {

namespace {

std::atomic<std::int64_t>& memory_of_group() {
  static std::atomic<std::int64_t> bytes = scheduler::cgroup_memory_limit();
  return bytes;
}

/// Where the user gives no bound, what the control group leaves bounds streams: the kernel would end the process. A
/// sixteenth is for what no account counts.
std::int64_t limit_of(const RunOptions& options, const plan::Plan& plan) {
  if (options.memory > 0) return options.memory;
  const std::int64_t of_group = group_memory();
  if (of_group == 0 || plan.stages.empty()) return scheduler::Budget::no_limit;
  const auto idle = static_cast<std::int64_t>(runtime::MemoryPool::of_process().idle_bytes());
  const std::int64_t held = runtime::resident_memory() - idle;
  return std::max(of_group - of_group / 16 - held, of_group / 16);
}

}  // namespace

std::int64_t group_memory() { return memory_of_group(); }
std::int64_t set_group_memory(std::int64_t bytes) { return memory_of_group().exchange(bytes); }

CompiledRun::CompiledRun(ProgramImpl& program, const std::vector<runtime::HostArray>& arguments,
                         const RunOptions& options, RunLog& log, std::span<const runtime::HostArray> into,
                         ResultsIn results)
    : log_(log),
      choice_(runtime::choose_backend(options.backend, program.compiled().plan, arguments, options.threads)),
      executor_(program.executor(runtime::threads_of(choice_, options.threads))),
      budget_(limit_of(options, program.compiled().plan)),
      blocks_(budget_, runtime::MemoryPool::of_process()),
      context_{.plan = program.compiled().plan,
               .options = options,
               .memory = runtime::MemoryPool::of_process(),
               .executor = executor_,
               .budget = budget_,
               .blocks = blocks_,
               .report = &log.report(),
               .record = &log.record(),
               .trace = log.trace(),
               .into = into,
               .keeps_results = results == ResultsIn::device,
               .sizes = &program.result_sizes(),
               .learned = &program.learned_chunks(),
               .sinks = &sinks_,
               .gives_before_failure = !program.prints()} {
  if (!budget_.unlimited()) {
    bounded_.emplace(runtime::MemoryPool::of_process());
    context_.report->memory_bound = budget_.limit();
  }
  backend_ = runtime::make_backend(choice_, context_, program.kernels(), program.options().caches);
  backend_->prepare();
  context_.chunk_memory = backend_->chunk_memory();
}

CompiledRun::~CompiledRun() {
  try {
    conclude();
  } catch (...) {  // NOLINT: the run's own error comes first
  }
}

void CompiledRun::conclude() {
  if (std::exchange(concluded_, true)) return;
  RunReport& report = *context_.report;
  report.backend = backend_->name();
  report.backend_reason = choice_.reason;
  report.threads = executor_.concurrency();
  report.equal_chunks = *context_.equal_chunks;
  report.peak_bytes = budget_.peak();
  backend_->conclude(&report);
}

void CompiledRun::finish() {
  sinks_.finish();
  conclude();
  log_.complete();
  sinks_.commit([this] { log_.finish(); });
}

void with_public_errors(scheduler::FunctionRef<void()> f) {
  try {
    f();
  } catch (const scheduler::BudgetExceeded& e) {
    throw ResourceError(e.what());
  } catch (const scheduler::ChunkTooBig& e) {
    throw ResourceError(e.what());
  } catch (const scheduler::NoThreads& e) {
    throw ResourceError(e.what());
  }
}

}  // namespace anabranch::detail
