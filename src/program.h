#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include <anabranch/run.h>

#include "compile.h"
#include "run/backends/choose.h"
#include "run/context/context.h"
#include "scheduler/executor.h"

/// A compiled program, and what is kept of it from run to run.
namespace anabranch::detail {

/// Thread-safe.
class ProgramImpl {
 public:
  ProgramImpl(Compiled compiled, const CompileOptions& options);

  const Compiled& compiled() const { return compiled_; }
  /// Throws ProgramError where the program is not as expected. What was found once is not looked for again.
  void require(Expect expected) const;
  /// Whether it prints: then no part of it may be computed twice.
  bool prints() const;
  double front_seconds() const { return front_seconds_; }
  const CompileOptions& options() const { return options_; }
  runtime::ResultSizes& result_sizes() { return result_sizes_; }
  runtime::LearnedChunks& learned_chunks() { return learned_chunks_; }
  runtime::ProgramKernels& kernels() { return *kernels_; }
  /// An executor for each number of threads that was asked for.
  scheduler::Executor& executor(int threads);

 private:
  const Compiled compiled_;
  const CompileOptions options_;
  mutable std::atomic<Expect> met_ = Expect::nothing;
  double front_seconds_ = 0;
  runtime::ResultSizes result_sizes_;
  runtime::LearnedChunks learned_chunks_;
  std::shared_ptr<runtime::ProgramKernels> kernels_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<scheduler::Executor>> executors_;
};

}  // namespace anabranch::detail
