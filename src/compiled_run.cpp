#include "compiled_run.h"

#include <utility>

#include "scheduler/threads.h"

namespace anabranch::detail {

namespace {

std::int64_t limit_of(const RunOptions& options) {
  return options.memory > 0 ? options.memory : scheduler::Budget::no_limit;
}

}  // namespace

CompiledRun::CompiledRun(ProgramImpl& program, const RunOptions& options, RunLog& log,
                         std::span<const runtime::HostArray> into)
    : choice_(runtime::choose_backend(options.backend)),
      executor_(program.executor(runtime::threads_of(choice_, options.threads))),
      budget_(limit_of(options)),
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
               .sizes = &program.result_sizes(),
               .learned = &program.learned_chunks(),
               .sinks = &sinks_} {
  if (!budget_.unlimited()) bounded_.emplace(runtime::MemoryPool::of_process());
  backend_ = runtime::make_backend(choice_, context_, program.kernels(), program.options().caches);
  backend_->prepare();
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
