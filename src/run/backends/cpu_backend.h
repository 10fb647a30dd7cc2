#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "cpu/compiler.h"
#include "run/backends/stop_word.h"
#include "run/chunks/backend.h"

/// The CPU: kernels run on the threads of the run's executor, directly into the results.
namespace anabranch::runtime {

/// The compiled kernels of a plan, by address of the plan's kernel.
using CpuKernels = std::unordered_map<const kernel::Kernel*, std::shared_ptr<const cpu::CompiledKernel>>;

class ProgramKernels;

/// How many bytes the processor's caches keep from one pass over them to the next.
std::int64_t bytes_in_caches();

class CpuBackend final : public RunBackend {
 public:
  /// `cache_bytes`: what is read again only after as many bytes comes from memory.
  CpuBackend(RunContext& context, ProgramKernels& kernels, std::int64_t cache_bytes);

  std::string name() const override { return "cpu"; }
  BackendTraits traits() const override;
  void prepare() override;
  void compute_global(const plan::KernelStep& step, GlobalValues& values) override;
  std::unique_ptr<StageBackend> open_stage(const StageWork& work) override;
  void conclude(RunReport* report) override;

  /// Launches one kernel with these buffers and scalars on the run's executor. `bytes_read`: of the pass that it is
  /// part of. `named`: the items, in messages.
  void launch(const kernel::Kernel& kernel, const std::vector<void*>& buffers,
              const std::vector<std::int64_t>& scalars, std::int64_t items, std::int64_t bytes_read,
              const ir::ItemNumbers& named);

 private:
  void check_stop() const;
  std::shared_ptr<const cpu::CompiledKernel> seldom_needed(const kernel::Kernel& kernel);

  RunContext& context_;
  ProgramKernels& program_kernels_;
  const CpuKernels* kernels_ = nullptr;  ///< once they are prepared
  std::int64_t cache_bytes_;
  std::mutex late_mutex_;
  RunReport compiled_late_;  ///< what chunks asked for; its kernels and compile_seconds
  cpu::StopWord stop_word_ = 0;
  StopSignal stop_signal_;
};

}  // namespace anabranch::runtime
