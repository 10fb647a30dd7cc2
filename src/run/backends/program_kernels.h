#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>

#include "run/backends/cpu_backend.h"
#include "run/backends/device_run.h"
#include "run/record/run_trace.h"

/// The kernels of one program, compiled for the back ends that its runs ask for, and kept from run to run.
namespace anabranch::runtime {

/// Adds how kernels were found.
void count_kernels(RunReport& report, const cpu::CacheStatistics& counted);

/// Thread-safe.
class ProgramKernels {
 public:
  explicit ProgramKernels(const plan::Plan& plan) : plan_(plan) {}

  /// Compiled when they are first asked for, several at once, which the report and the trace show, where there are such.
  /// Throws Cancelled where a stop is requested before the last one is begun; then the next call compiles what is missing.
  const CpuKernels& for_cpu(scheduler::Executor& executor, const std::stop_token& stop, RunReport* report,
                            RunTrace* trace);

  /// Of one kernel that not every run needs (plan::EqualItems); compiled when it is first asked for, which `report`, if
  /// there is one, is told.
  std::shared_ptr<const cpu::CompiledKernel> for_cpu(const kernel::Kernel& kernel, RunReport* report,
                                                     RunTrace* trace);

  /// With `beside`, another thread compiles all that a chunk may need, perhaps beyond the end of the run; else who waits
  /// for them compiles what every chunk needs, and the rest is compiled when a chunk asks for it.
  std::shared_future<DeviceKernels> for_device(const std::shared_ptr<cuda::Device>& device, bool beside,
                                               const std::shared_ptr<RunTrace>& trace);

 private:
  const plan::Plan& plan_;
  std::mutex cpu_mutex_;
  std::atomic<bool> has_all_ = false;  ///< then cpu_ is not changed any more
  CpuKernels cpu_;
  std::mutex seldom_mutex_;
  CpuKernels seldom_;  ///< that not every run needs
  std::mutex device_mutex_;
  std::map<const cuda::Device*, std::shared_future<DeviceKernels>> device_;
};

}  // namespace anabranch::runtime
