#include "run/backends/device_run.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "ir/cancelled.h"
#include "kernel/check_error.h"

namespace anabranch::runtime {

namespace {
/// Bytes of freed device memory that are kept for the next run; other programs may want the rest.
constexpr std::int64_t kept_between_runs = std::int64_t{256} << 20;

std::int64_t usable(const cuda::Device& device, std::int64_t bound) {
  return bound > 0 ? bound : device.available() / 10 * 9;
}
}  // namespace

void raise_failed(const kernel::Kernel& kernel, const cuda::ErrorRecord& record, std::int64_t item) {
  if (record.failed > 0)
    kernel::raise(kernel.checks[static_cast<std::size_t>(record.failed - 1)], record.value, record.bound,
                  item);
}

void prepare(RunTrace* trace, const kernel::Kernel& kernel, cuda::KernelCode& code,
             const std::vector<int>& entries) {
  if (code.lacks(entries))
    timed(trace, RunTrace::Row::compiling_for_gpu, kernel.name, [&] { code.prepare(entries); });
}

DeviceRun::DeviceRun(std::shared_ptr<cuda::Device> device, std::shared_future<DeviceKernels> kernels,
                     std::int64_t bound, scheduler::Executor& executor, RunTrace* trace,
                     const std::stop_token& stop)
    : device_(std::move(device)),
      kernels_(std::move(kernels)),
      executor_(executor),
      bounded_(bound > 0),
      budget_(usable(*device_, bound)),
      trace_(trace ? std::make_optional<DeviceTrace>(*trace, device_) : std::nullopt),
      stop_memory_(device_, sizeof(cpu::StopWord)),
      stop_word_(*new(stop_memory_.data()) cpu::StopWord(0)),
      stop_signal_(stop, stop_word_),
      stream_(device_, this->trace(), 0) {}

void DeviceRun::check_stop() const {
  if (stop_word_ != 0) ir::raise_cancelled();
}

DeviceRun::~DeviceRun() {
  stream_.drain();
  globals_.clear();
  device_->trim(kept_between_runs);
}

DeviceMemory DeviceRun::allocate(const char* what, std::int64_t bytes) {
  try {
    // The rounded size counts.
    const std::int64_t wanted = bytes + device_slack;
    DeviceMemory out;
    if (auto usual = budget_.try_reserve(what, device_->usual(wanted)))
      out.reservation = std::move(*usual);
    else
      out.reservation = budget_.reserve(what, device_->least(wanted));
    out.block = device_->allocate(wanted, out.reservation.bytes());
    // Where there is a bound, it counts freed memory that is kept for later requests, too.
    if (bounded_) device_->trim(budget_.available());
    return out;
  } catch (const scheduler::BudgetExceeded& e) {
    throw cuda::DeviceMemoryFull(std::string("GPU memory: ") + e.what());
  }
}

cuda::Address DeviceRun::global(GlobalValues& values, int array, int component) {
  const std::lock_guard lock(mutex_);
  const HostArray& host = values.array(array);
  const GlobalKey key(host.get(), component);
  auto found = globals_.find(key);
  if (found == globals_.end() || found->second.of.expired()) {
    drop_unused();
    const detail::ArrayData& data = *host;
    const auto c = static_cast<std::size_t>(component);
    const std::int64_t bytes = data.size() * static_cast<std::int64_t>(size_of(data.scalars[c]));
    DeviceMemory memory = allocate("inputs held whole", bytes);
    try {
      upload_whole(memory.address(), data.buffers[c].get(), bytes);
      stream_.synchronize();
    } catch (...) {
      stream_.drain();
      throw;
    }
    found = globals_.emplace(key, GlobalCopy{host, std::move(memory)}).first;
  }
  return found->second.memory.address();
}

namespace {

/// A large copy from or to memory that is not page-locked goes through two pieces that are: the host fills or
/// empties one while the other is being copied.
class StagedCopy {
 public:
  static constexpr std::int64_t piece = std::int64_t{8} << 20;

  StagedCopy(const std::shared_ptr<cuda::Device>& device, DeviceStream& stream)
      : stream_(stream), pieces_{Piece(device), Piece(device)} {}
  /// The pieces are given back after the stream is done with them.
  ~StagedCopy() { stream_.drain(); }
  StagedCopy(const StagedCopy&) = delete;

  void up(scheduler::Executor& executor, cuda::Address to, const std::byte* from, std::int64_t bytes) {
    for (std::int64_t i = 0; i < count(bytes); ++i) {
      Piece& p = pieces_[i % 2];
      if (i >= 2) p.copied.synchronize();
      copy_on_all_threads(executor, p.memory.data(), from + i * piece, size(i, bytes));
      stream_.upload(to + static_cast<cuda::Address>(i * piece), p.memory.data(), size(i, bytes));
      stream_.record(p.copied);
    }
  }

  void down(scheduler::Executor& executor, std::byte* to, cuda::Address from, std::int64_t bytes) {
    const auto start = [&](std::int64_t i) {
      Piece& p = pieces_[i % 2];
      stream_.download(p.memory.data(), from + static_cast<cuda::Address>(i * piece), size(i, bytes));
      stream_.record(p.copied);
    };
    start(0);
    for (std::int64_t i = 0; i < count(bytes); ++i) {
      if (i + 1 < count(bytes)) start(i + 1);
      pieces_[i % 2].copied.synchronize();
      copy_on_all_threads(executor, to + i * piece, pieces_[i % 2].memory.data(), size(i, bytes));
    }
  }

 private:
  struct Piece {
    explicit Piece(const std::shared_ptr<cuda::Device>& device) : memory(device, piece), copied(device) {}
    cuda::PinnedBlock memory;
    cuda::DeviceEvent copied;
  };
  static std::int64_t count(std::int64_t bytes) { return (bytes + piece - 1) / piece; }
  static std::int64_t size(std::int64_t i, std::int64_t bytes) { return std::min(piece, bytes - i * piece); }

  DeviceStream& stream_;
  Piece pieces_[2];
};

/// Memory for the launches that follow. It is given back at once: only later work of the stream gets it.
cuda::Address lend_workspace(StreamMemory& memory, std::int64_t bytes) {
  DeviceMemory block = memory.take("workspace", bytes);
  const cuda::Address at = block.address();
  memory.give_back(std::move(block));
  return at;
}

}  // namespace

/// Until the stream is done, `from` stays as it is.
void DeviceRun::upload_whole(cuda::Address to, const void* from, std::int64_t bytes) {
  if (bytes < StagedCopy::piece || device_->is_page_locked(from, bytes))
    stream_.upload(to, from, bytes);
  else
    StagedCopy(device_, stream_).up(executor_, to, static_cast<const std::byte*>(from), bytes);
}

void DeviceRun::download_whole(void* to, cuda::Address from, std::int64_t bytes) {
  if (bytes < StagedCopy::piece || device_->is_page_locked(to, bytes))
    stream_.download(to, from, bytes);
  else
    StagedCopy(device_, stream_).down(executor_, static_cast<std::byte*>(to), from, bytes);
}

bool DeviceRun::makes_offsets(std::int64_t items) {
  std::string why_host;
  if (items < device_->few_items())
    why_host = fmt::format("{} items are few", items);
  else
    why_host = device_->primitives().why_not;
  if (why_host.empty()) return ++offset_counts_.by_gpu, true;
  ++offset_counts_.by_host;
  offset_counts_.why_host = std::move(why_host);
  return false;
}

void DeviceRun::make_offsets(DeviceStream& stream, const device::ItemOffsets& what, StreamMemory& memory) {
  const std::int64_t bytes = device_->workspace_of(what);
  const cuda::Address workspace = lend_workspace(memory, bytes);
  stream.kernel("offsets", fmt::format("a scan of the sizes of {} items", what.count),
                [&](cuda::Stream& s) { s.make_offsets(what, workspace, bytes); });
}

void DeviceRun::launch(DeviceStream& stream, const kernel::Kernel& kernel, const cuda::Bindings& bindings,
                       cuda::Address error, StreamMemory& memory) {
  if (bindings.items <= 0 || bindings.positions <= 0) return;
  cuda::KernelCode& code = *kernels_.get().at(&kernel);
  const cuda::Schedule schedule =
      cuda::schedule(kernel, code.in_order(), bindings, device_->facts().multiprocessors);
  prepare(trace_ ? &trace_->run() : nullptr, kernel, code, cuda::entries_of(schedule));
  const cuda::Address workspace = schedule.workspace > 0 ? lend_workspace(memory, schedule.workspace) : 0;
  const std::vector<std::uint64_t> words =
      cuda::pack(kernel, bindings, error, workspace, reinterpret_cast<cuda::Address>(&stop_word_));
  stream.kernel(kernel.name, schedule.why, [&](cuda::Stream& s) {
    s.fill_zero(workspace, schedule.zeroed);
    for (const cuda::Launch& l : schedule.launches) s.launch(code.function(l.entry), l.grid, l.block, words);
  });
}

DeviceMemory StreamMemory::take(const char* what, std::int64_t bytes) {
  const cuda::Device& device = *run_.device();
  const std::int64_t wanted = bytes + device_slack;
  // Of the same class of sizes; where memory is short a block is smaller than its class.
  const auto fits = std::find_if(spare_.begin(), spare_.end(), [&](const DeviceMemory& spare) {
    return spare.block.bytes() >= wanted && device.usual(spare.block.bytes()) == device.usual(wanted);
  });
  if (fits != spare_.end()) {
    DeviceMemory out = std::move(*fits);
    spare_.erase(fits);
    return out;
  }
  try {
    return run_.allocate(what, bytes);
  } catch (const cuda::DeviceMemoryFull&) {
    if (spare_.empty()) throw;
  }
  stream_.synchronize();
  spare_.clear();
  return run_.allocate(what, bytes);
}

/// Room for a component of a global array that is about to be computed.
void DeviceRun::add_global(const HostArray& array, int component, std::int64_t bytes) {
  DeviceMemory result = allocate("arrays computed once", bytes);
  const std::lock_guard lock(mutex_);
  globals_[{array.get(), component}] = {array, std::move(result)};
}

/// Outputs that overwrite other arrays get the memory of these.
void DeviceRun::hand_over(const plan::KernelStep& step, const GlobalValues& values) {
  const std::lock_guard lock(mutex_);
  for (const int output : step.outputs) {
    const HostArray& array = values.array(output);
    for (std::size_t c = 0; c < array->scalars.size(); ++c) {
      const auto old = values.overwritten_by(output, c);
      if (!old) continue;
      auto copy = globals_.extract({values.array(old->array).get(), old->component});
      globals_[{array.get(), static_cast<int>(c)}] = {array, std::move(copy.mapped().memory)};
    }
  }
}

/// Copies of arrays that are gone.
void DeviceRun::drop_unused() {
  std::erase_if(globals_, [](const auto& entry) { return entry.second.of.expired(); });
}

void DeviceRun::launch_global(const plan::KernelStep& step, GlobalValues& values) {
  const auto bytes_of = [](const detail::ArrayData& array, std::size_t component) {
    return array.size() * static_cast<std::int64_t>(size_of(array.scalars[component]));
  };
  {
    const std::lock_guard lock(mutex_);
    drop_unused();
  }
  std::vector<cuda::Address> buffers;
  StreamMemory memory(*this, stream_);
  if (step.makes_outputs)
    for (const int output : step.outputs) {
      const HostArray& array = values.array(output);
      for (std::size_t c = 0; c < array->scalars.size(); ++c)
        if (!values.overwritten_by(output, c)) add_global(array, static_cast<int>(c), bytes_of(*array, c));
    }
  for (const plan::BufferRef& ref : step.buffers) {
    const bool is_made = step.makes_outputs &&
                         std::find(step.outputs.begin(), step.outputs.end(), ref.index) != step.outputs.end();
    const auto old =
        is_made ? values.overwritten_by(ref.index, static_cast<std::size_t>(ref.component)) : std::nullopt;
    buffers.push_back(old ? global(values, old->array, old->component)
                          : global(values, ref.index, ref.component));
  }
  if (step.makes_outputs) hand_over(step, values);
  std::vector<std::int64_t> scalars;
  for (int u : step.scalars) scalars.push_back(values.uniform(u));
  const cuda::Bindings bindings{buffers, scalars, 1, values.positions(step)};
  cuda::ErrorRecord record;
  const DeviceMemory on_device = allocate("error records", sizeof(cuda::ErrorRecord));
  const cuda::Address error = on_device.address();
  try {
    stream_.upload(error, &record, sizeof record);
    launch(stream_, step.kernel, bindings, error, memory);
    stream_.download(&record, error, sizeof record);
    for (const int number : step.outputs) {
      const detail::ArrayData& output = *values.array(number);
      for (std::size_t c = 0; c < output.scalars.size(); ++c) {
        const auto at = globals_.find({&output, static_cast<int>(c)});
        if (bytes_of(output, c) > 0 && at != globals_.end())
          download_whole(output.buffers[c].get(), at->second.memory.address(), bytes_of(output, c));
      }
    }
    stream_.synchronize();
  } catch (...) {
    stream_.drain();
    throw;
  }
  check_stop();
  raise_failed(step.kernel, record, ir::no_item);
}

}  // namespace anabranch::runtime
