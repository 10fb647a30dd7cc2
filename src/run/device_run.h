#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "plan/plan.h"
#include "run/device_trace.h"
#include "run/execute.h"
#include "scheduler/budget.h"

/// A run on a GPU: what its steps and chunks share.
namespace anabranch {

/// The loaded kernels of a plan, by address of the plan's kernel.
using DeviceKernels = std::unordered_map<const plan::Kernel*, std::shared_ptr<const cuda::LoadedUnit>>;

/// Device memory together with its part of the run's account.
struct DeviceMemory {
  scheduler::Reservation reservation;
  cuda::DeviceBlock block;
  cuda::Address address() const { return block.address(); }
};

class DeviceRun {
 public:
  /// `kernels` may still be on their way. `bound`: bytes of device memory that this run may hold; 0: nine
  /// tenths of what was free when the GPU was opened. `trace`: null: not traced.
  DeviceRun(std::shared_ptr<cuda::Device> device, std::shared_future<DeviceKernels> kernels,
            std::int64_t bound, RunTrace* trace);

  /// Whether the kernels are there; `launch` waits for them.
  bool ready() const { return kernels_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  const std::shared_ptr<cuda::Device>& device() const { return device_; }
  std::int64_t bound() const { return budget_.limit(); }
  std::int64_t peak() const { return budget_.peak(); }
  const scheduler::Budget& budget() const { return budget_; }
  /// Null: not traced.
  DeviceTrace* trace() { return trace_ ? &*trace_ : nullptr; }

  /// Throws DeviceMemoryFull.
  DeviceMemory allocate(const char* what, std::int64_t bytes);

  /// One component of a global array, uploaded when first asked for and kept until the run ends. Thread-safe.
  cuda::Address global(GlobalValues& values, int array, int component);

  /// Computes a global array; it stays on the device, and its host copy is filled, too.
  void launch_global(const plan::KernelStep& step, GlobalValues& values, const detail::ArrayData& output);

  /// Enqueues one kernel. What it needs besides its buffers is added to `held`, to be kept until the stream
  /// is done.
  void launch(DeviceStream& stream, const plan::Kernel& kernel, const cuda::Bindings& bindings,
              cuda::Address error, std::vector<DeviceMemory>& held);

 private:
  std::shared_ptr<cuda::Device> device_;
  std::shared_future<DeviceKernels> kernels_;
  bool bounded_;
  scheduler::Budget budget_;
  std::optional<DeviceTrace> trace_;
  std::mutex mutex_;
  DeviceStream stream_;  ///< of the global group
  std::map<std::pair<int, int>, DeviceMemory> globals_;
};

/// Bytes of room behind every device array, so that a harmless read of an empty one stays inside.
inline constexpr std::int64_t device_slack = 64;

/// The records of some kernels, as they are before the first check.
std::vector<cuda::ErrorRecord> fresh_records(std::size_t kernels);
/// Throws the RunError of a record, if it holds one.
void raise_failed(const plan::Kernel& kernel, const cuda::ErrorRecord& record);

}  // namespace anabranch
