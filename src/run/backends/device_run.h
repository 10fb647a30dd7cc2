#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda/kernel_code.h"
#include "plan/plan.h"
#include "run/backends/device_rearrangement.h"
#include "run/backends/device_trace.h"
#include "run/backends/stop_word.h"
#include "run/context/global_values.h"
#include "run/context/results.h"
#include "run/memory/residence.h"
#include "run/record/run_trace.h"
#include "scheduler/budget.h"

/// A run on a GPU: what its steps and chunks share.
namespace anabranch::runtime {

/// The code of a plan's kernels, by address of the plan's kernel.
using DeviceKernels = std::unordered_map<const kernel::Kernel*, std::shared_ptr<cuda::KernelCode>>;

/// Device memory together with its part of the run's account.
struct DeviceMemory {
  scheduler::Reservation reservation;
  cuda::DeviceBlock block;
  cuda::Address address() const { return block.address(); }
};

/// What stays on the device between runs. It counts against the bound of those that use it.
class ResidentCopy final : public detail::Residence::Copy {
 public:
  ResidentCopy(std::shared_ptr<cuda::Device> device, cuda::DeviceBlock block)
      : device_(std::move(device)), block_(std::move(block)) {}
  ~ResidentCopy() override;
  void download(void* to, std::int64_t bytes) override;
  const std::shared_ptr<cuda::Device>& device() const { return device_; }
  cuda::Address address() const { return block_.address(); }
  std::int64_t bytes() const { return block_.bytes(); }

 private:
  std::shared_ptr<cuda::Device> device_;
  cuda::DeviceBlock block_;
};

/// Calls f, which uses the device on a thread that may have a context of its own. Memory that is short is a
/// ResourceError: only a chunk that does not fit is tried again.
template <class F>
auto on_device(const cuda::Device& device, F&& f) {
  const cuda::KeepContext keep(device.shared_api());
  try {
    return f();
  } catch (const cuda::DeviceMemoryFull& e) {
    throw ResourceError(e.what());
  }
}

/// Compiles those entries of a kernel that are not compiled yet, which a traced run shows.
void prepare(RunTrace* trace, const kernel::Kernel& kernel, cuda::KernelCode& code,
             const std::vector<int>& entries);

class DeviceRun;

/// Memory for work that one stream does in order: what has been given back may be written by whatever comes
/// later on the stream, without waiting. Other streams get it only after `release`.
class StreamMemory {
 public:
  StreamMemory(DeviceRun& run, DeviceStream& stream) : run_(run), stream_(stream) {}

  /// Throws DeviceMemoryFull, after it has waited for the stream and dropped what was given back.
  DeviceMemory take(const char* what, std::int64_t bytes);
  void give_back(DeviceMemory memory) {
    if (memory.address() != 0) spare_.push_back(std::move(memory));
  }
  /// The stream is done.
  void release() { spare_.clear(); }

 private:
  DeviceRun& run_;
  DeviceStream& stream_;
  std::vector<DeviceMemory> spare_;
};

/// How often the GPU and the host did something that both can do.
struct DeviceCounts {
  std::int64_t by_gpu = 0, by_host = 0;
  std::string why_host;  ///< the latest reason for the host
};

class DeviceRun {
 public:
  /// `kernels` may still be being compiled. `bound`: bytes of device memory that this run may
  /// hold; 0: nine tenths of what is free. `trace`: null: not traced.
  DeviceRun(std::shared_ptr<cuda::Device> device, std::shared_future<DeviceKernels> kernels,
            std::int64_t bound, scheduler::Executor& executor, RunTrace* trace, const std::stop_token& stop);
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  /// Whether the kernels have been compiled; `launch` waits for that.
  bool ready() const { return kernels_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  const std::shared_ptr<cuda::Device>& device() const { return device_; }
  std::int64_t bound() const { return budget_.limit(); }
  std::int64_t peak() const { return budget_.peak(); }
  const scheduler::Budget& budget() const { return budget_; }
  /// Null: not traced.
  DeviceTrace* trace() { return trace_ ? &*trace_ : nullptr; }

  /// Called after kernels were waited for. Cancelled where they were told to stop: what they computed is
  /// meaningless then.
  void check_stop() const;

  /// Throws DeviceMemoryFull.
  DeviceMemory allocate(const char* what, std::int64_t bytes);

  /// Arrays that are there before the run, of which some stay on the device when it has ended.
  void take_inputs(std::span<const HostArray> inputs);
  /// Elements of such an array, for any stream; 0: they are none, or have no room there.
  cuda::Address resident(const void* from, std::int64_t bytes);
  /// An array that was computed here, to stay when the run has ended. Null: it is not here.
  std::shared_ptr<detail::Residence> keep(const HostArray& array);

  /// One component of a global array, for any stream: uploaded when first asked for, unless it was computed here, and kept
  /// as long as its host memory is. Thread-safe, as all that is about global arrays.
  cuda::Address global(const GlobalValues& values, int array, int component);

  /// Computes global arrays. They stay on the device, and nobody waits for them, unless the kernel has checks.
  void launch_global(const plan::KernelStep& step, GlobalValues& values);

  /// The same for a rearrangement. False: the host has to do it.
  bool rearrange_global(const plan::RearrangeStep& step, GlobalValues& values);

  /// Is there a component that the host has no copy of?
  bool is_only_there(const detail::ArrayData& array);
  /// Waits for what was computed of an array, and downloads it, once.
  void fetch(const detail::ArrayData& array);
  /// The host has overwritten it.
  void forget(const detail::ArrayData& array);
  /// Waits for all launches of global kernels: what they do not need any more may be given to other streams.
  void settle();

  /// Enqueues one kernel; `memory` is that of the stream.
  void launch(DeviceStream& stream, const kernel::Kernel& kernel, const cuda::Bindings& bindings,
              cuda::Address error, StreamMemory& memory);

  /// Whether the GPU makes the offsets of so many items whose sizes are in its memory: that saves copies of sizes
  /// and offsets and a pass of the host over them. The host waits for two numbers either way, and for few items
  /// nothing else costs much. Each answer is counted.
  bool makes_offsets(std::int64_t items);
  const DeviceCounts& offset_counts() const { return offset_counts_; }
  /// `why_host`: why the host did it; empty: the GPU did.
  void count_rearrangement(std::string why_host);
  const DeviceCounts& rearrangement_counts() const { return rearrangement_counts_; }
  /// Enqueues a primitive. `name` and `why` are for the trace.
  void run(DeviceStream& stream, const std::string& name, const std::string& why,
           const device::Operation& what, StreamMemory& memory);

 private:
  /// A component of a host array on the device. As long as its host memory lives: rounds of a loop hand arrays on,
  /// arrays of some of their components, and memory of arrays that they overwrite.
  struct GlobalCopy {
    std::weak_ptr<const void> of;
    DeviceMemory memory;
    std::int64_t bytes = 0;
    bool only_here = false;                          ///< the host's memory has not been filled
    std::shared_ptr<ResidentCopy> resident{};        ///< it stays; `memory` is its part of the account only
    std::shared_ptr<detail::Residence> residence{};  ///< of the array, then
    cuda::Address address() const { return resident ? resident->address() : memory.address(); }
  };
  /// A component that stays if there is room for it.
  struct Input {
    HostArray array;
    std::size_t component = 0;
    bool no_room = false;
  };
  using Lock = std::lock_guard<std::recursive_mutex>;

  GlobalCopy* find_global(const detail::ArrayData& array, std::size_t component);
  void add_global(const HostArray& array, std::size_t component, DeviceMemory memory);
  bool take_copies(const HostArray& input);
  void make_resident(GlobalCopy& copy, std::shared_ptr<detail::Residence> residence);
  void fetch(const GlobalCopy& copy, void* to);
  cuda::Address place_of(const HostArray& array, std::size_t component);
  void make_room(std::span<const int> outputs, GlobalValues& values);
  void computed_here(std::span<const int> outputs, const GlobalValues& values);
  void launch_global(const plan::KernelStep& step, const GlobalValues& values,
                     const cuda::Bindings& bindings);
  DevicePlacedArray placed(const plan::RearrangeStep& step, const HostArray& array);
  void rearrange_global_here(const plan::RearrangeStep& step, GlobalValues& values);
  cuda::Address record_of_no_checks();
  void drop_unused();
  static constexpr std::int64_t stop_word_bytes = 256;  ///< a place of its own
  static constexpr std::int64_t small_copy = 64 << 10;
  std::byte* small_copies() const { return own_memory_.data() + stop_word_bytes; }
  void upload_whole(cuda::Address to, const void* from, std::int64_t bytes);
  void download_whole(void* to, cuda::Address from, std::int64_t bytes);

  std::shared_ptr<cuda::Device> device_;
  std::shared_future<DeviceKernels> kernels_;
  scheduler::Executor& executor_;
  bool bounded_;
  scheduler::Budget budget_;
  std::optional<DeviceTrace> trace_;
  cuda::PinnedBlock own_memory_;
  cpu::StopWord& stop_word_;  ///< in `own_memory_`, where running kernels see it
  StopSignal stop_signal_;
  std::recursive_mutex mutex_;  ///< of all about global arrays, and of counts
  DeviceStream stream_;         ///< of the global group
  StreamMemory memory_;
  std::unordered_map<const void*, GlobalCopy> globals_;  ///< by host memory
  std::vector<GlobalCopy> replaced_;                     ///< by longer ones
  std::map<const std::byte*, Input> inputs_;             ///< by where they begin
  DeviceMemory no_checks_;                               ///< an error record that nobody writes
  bool launched_ = false;                                ///< global kernels that nobody has waited for
  DeviceCounts offset_counts_, rearrangement_counts_;
};

/// Bytes of room behind every device array, so that a harmless read of an empty one stays inside.
inline constexpr std::int64_t device_slack = 64;

/// Throws the RunError of a record, if it holds one, in this item of the stream.
void raise_failed(const kernel::Kernel& kernel, const cuda::ErrorRecord& record, std::int64_t item);

}  // namespace anabranch::runtime
