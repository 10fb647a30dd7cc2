#include "run/backends/program_kernels.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "ir/cancelled.h"
#include "system/start_async.h"

namespace anabranch::runtime {

namespace {

template <class F>
void for_each_kernel(const plan::Plan& plan, F&& f) {
  plan::each_group(plan, [&](const plan::Group& group) {
    for (const plan::Step& step : group.steps)
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) f(*kernel);
  });
}

/// Memory may have been short, which is no reason not to try again.
bool failed(const std::shared_future<DeviceKernels>& kernels) {
  if (kernels.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  try {
    kernels.get();
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

namespace {

/// f(statistics per kernel), which compiles so many kernels, is added to the report.
template <class F>
void reported(RunReport* report, std::size_t kernels, F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<cpu::CacheStatistics> counted(kernels);
  f(counted);
  if (!report) return;
  report->compile_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const cpu::CacheStatistics& one : counted) count_kernels(*report, one);
}

}  // namespace

void count_kernels(RunReport& report, const cpu::CacheStatistics& counted) {
  report.kernels_compiled += static_cast<int>(counted.compiled);
  report.kernels_from_disk += static_cast<int>(counted.from_disk);
  report.kernels_cached += static_cast<int>(counted.hits);
}

const CpuKernels& ProgramKernels::for_cpu(scheduler::Executor& executor, const std::stop_token& stop,
                                          RunReport* report, RunTrace* trace) {
  // Not call_once, which under ThreadSanitizer is never done once its function has thrown. Another run that compiles is no
  // longer waited for when this one is stopped.
  if (has_all_) return cpu_;
  std::unique_lock lock(cpu_mutex_, std::defer_lock);
  while (!lock.try_lock()) {
    if (stop.stop_requested()) ir::raise_cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (has_all_) return cpu_;
  std::vector<const kernel::Kernel*> kernels;
  for_each_kernel(plan_, [&](const plan::KernelStep& step) { kernels.push_back(&step.kernel); });
  std::vector<std::shared_ptr<const cpu::CompiledKernel>> codes(kernels.size());
  const auto each = [&](RunTrace* shown, std::vector<cpu::CacheStatistics>& counted) {
    executor.parallel_for(std::ssize(kernels), [&](std::int64_t number) {
      if (stop.stop_requested()) ir::raise_cancelled();
      const auto k = static_cast<std::size_t>(number);
      timed(shown, RunTrace::Row::compiling, kernels[k]->name,
            [&] { codes[k] = cpu::compile(*kernels[k], {}, &counted[k]); });
    });
  };
  reported(report, kernels.size(), [&](std::vector<cpu::CacheStatistics>& counted) {
    if (executor.concurrency() == 1 || kernels.size() < 2) return each(trace, counted);
    // Times that overlap are shown as one.
    timed(trace, RunTrace::Row::compiling, fmt::format("{} kernels", kernels.size()),
          [&] { each(nullptr, counted); });
  });
  for (std::size_t k = 0; k < kernels.size(); ++k) cpu_[kernels[k]] = std::move(codes[k]);
  has_all_ = true;
  return cpu_;
}

std::shared_ptr<const cpu::CompiledKernel> ProgramKernels::for_cpu(const kernel::Kernel& kernel,
                                                                   RunReport* report, RunTrace* trace) {
  const std::lock_guard lock(seldom_mutex_);
  auto& code = seldom_[&kernel];
  if (!code)
    reported(report, 1, [&](std::vector<cpu::CacheStatistics>& counted) {
      timed(trace, RunTrace::Row::compiling, kernel.name,
            [&] { code = cpu::compile(kernel, {}, counted.data()); });
    });
  return code;
}

std::shared_future<DeviceKernels> ProgramKernels::for_device(const std::shared_ptr<cuda::Device>& device,
                                                             bool beside,
                                                             const std::shared_ptr<RunTrace>& trace) {
  const std::lock_guard lock(device_mutex_);
  auto& kernels = device_[device.get()];
  if (kernels.valid() && !failed(kernels)) return kernels;
  DeviceKernels codes;
  std::vector<const kernel::Kernel*> first;  // others are compiled when a chunk asks for them
  const auto add = [&](const kernel::Kernel& kernel) {
    codes[&kernel] = std::make_shared<cuda::KernelCode>(device, kernel);
  };
  for_each_kernel(plan_, [&](const plan::KernelStep& step) {
    add(step.kernel);
    first.push_back(&step.kernel);
    if (step.equal_items) add(step.equal_items->kernel);
  });
  const auto prepared = [codes, first, beside, trace] {
    for (const kernel::Kernel* const kernel : first)
      prepare(trace.get(), *kernel, *codes.at(kernel),
              beside ? cuda::all_entries(*kernel) : cuda::certain_entries(*kernel));
    return codes;
  };
  kernels = (beside ? system::start_async(prepared) : std::async(std::launch::deferred, prepared)).share();
  return kernels;
}

}  // namespace anabranch::runtime
