#include "run/device_run.h"

#include <algorithm>

#include "plan/check_error.h"

namespace anabranch {

namespace {
std::int64_t usable(const cuda::DeviceFacts& facts, std::int64_t bound) {
  return bound > 0 ? bound : facts.memory_free / 10 * 9;
}
}  // namespace

std::vector<cuda::ErrorRecord> fresh_records(std::size_t kernels) {
  cuda::ErrorRecord fresh{};
  fresh.position = cuda::no_failure;
  return std::vector<cuda::ErrorRecord>(kernels, fresh);
}

void raise_failed(const plan::Kernel& kernel, const cuda::ErrorRecord& record) {
  if (record.failed > 0)
    plan::raise(kernel.checks[static_cast<std::size_t>(record.failed - 1)], record.value, record.bound);
}

DeviceRun::DeviceRun(std::shared_ptr<cuda::Device> device, std::shared_future<DeviceKernels> kernels,
                     std::int64_t bound, RunTrace* trace)
    : device_(std::move(device)),
      kernels_(std::move(kernels)),
      bounded_(bound > 0),
      budget_(usable(device_->facts(), bound)),
      trace_(trace ? std::make_optional<DeviceTrace>(*trace, device_) : std::nullopt),
      stream_(device_, this->trace(), 0) {}

DeviceMemory DeviceRun::allocate(const char* what, std::int64_t bytes) {
  try {
    // What it is rounded up to counts.
    const std::int64_t wanted = bytes + device_slack;
    DeviceMemory out;
    if (auto usual = budget_.try_reserve(what, device_->usual(wanted)))
      out.reservation = std::move(*usual);
    else
      out.reservation = budget_.reserve(what, device_->least(wanted));
    out.block = device_->allocate(wanted, out.reservation.bytes());
    // What is kept for the next request counts, too, where somebody has set a bound.
    if (bounded_) device_->trim(budget_.available());
    return out;
  } catch (const scheduler::BudgetExceeded& e) {
    throw cuda::DeviceMemoryFull(std::string("GPU memory: ") + e.what());
  }
}

cuda::Address DeviceRun::global(GlobalValues& values, int array, int component) {
  const std::lock_guard lock(mutex_);
  const auto key = std::pair(array, component);
  auto found = globals_.find(key);
  if (found == globals_.end()) {
    const detail::ArrayData& data = *values.array(array);
    const auto c = static_cast<std::size_t>(component);
    const std::int64_t bytes = data.size() * static_cast<std::int64_t>(size_of(data.scalars[c]));
    DeviceMemory memory = allocate("inputs held whole", bytes);
    try {
      if (bytes > 0) stream_.upload(memory.address(), data.buffers[c].get(), bytes);
      stream_.synchronize();
    } catch (...) {
      stream_.drain();
      throw;
    }
    found = globals_.emplace(key, std::move(memory)).first;
  }
  return found->second.address();
}

void DeviceRun::launch(DeviceStream& stream, const plan::Kernel& kernel, const cuda::Bindings& bindings,
                       cuda::Address error, std::vector<DeviceMemory>& held) {
  if (bindings.items <= 0 || bindings.positions <= 0) return;
  const cuda::LoadedUnit& unit = *kernels_.get().at(&kernel);
  const cuda::Schedule schedule = cuda::schedule(kernel, bindings, device_->facts().multiprocessors);
  cuda::Address workspace = 0;
  if (schedule.workspace > 0) {
    held.push_back(allocate("workspace", schedule.workspace));
    workspace = held.back().address();
  }
  const std::vector<std::uint64_t> words = cuda::pack(kernel, bindings, error, workspace);
  stream.kernel(kernel.name, schedule.why, [&](cuda::Stream& s) {
    s.fill_zero(workspace, schedule.workspace);
    for (const cuda::Launch& l : schedule.launches)
      s.launch(unit.entries[static_cast<std::size_t>(l.entry)], l.grid, l.block, words);
  });
}

void DeviceRun::launch_global(const plan::KernelStep& step, GlobalValues& values,
                              const detail::ArrayData& output) {
  using Kind = plan::Extent::Kind;
  std::vector<cuda::Address> buffers;
  std::vector<DeviceMemory> held;
  for (const plan::BufferRef& ref : step.buffers) {
    if (ref.index != step.output) {
      buffers.push_back(global(values, ref.index, ref.component));
      continue;
    }
    const auto c = static_cast<std::size_t>(ref.component);
    DeviceMemory memory = allocate("arrays computed once",
                                   output.size() * static_cast<std::int64_t>(size_of(output.scalars[c])));
    buffers.push_back(memory.address());
    const std::lock_guard lock(mutex_);
    globals_[{ref.index, ref.component}] = std::move(memory);
  }
  std::vector<std::int64_t> scalars;
  for (int u : step.scalars) scalars.push_back(values.uniform(u));
  cuda::Bindings bindings{buffers, scalars, 1, output.size(), -1};
  if (step.kernel.skeleton == plan::Skeleton::fold) {
    const plan::Extent& length = step.kernel.length;
    const std::int64_t row = length.kind == Kind::constant  ? length.value
                             : length.kind == Kind::uniform ? scalars[static_cast<std::size_t>(length.slot)]
                                                            : -1;
    if (row >= 0) bindings.elements = row * bindings.positions;
  }
  std::vector<cuda::ErrorRecord> record = fresh_records(1);
  held.push_back(allocate("error records", sizeof(cuda::ErrorRecord)));
  const cuda::Address error = held.back().address();
  try {
    stream_.upload(error, record.data(), sizeof(cuda::ErrorRecord));
    launch(stream_, step.kernel, bindings, error, held);
    stream_.download(record.data(), error, sizeof(cuda::ErrorRecord));
    for (std::size_t c = 0; c < output.scalars.size(); ++c) {
      const std::int64_t bytes = output.size() * static_cast<std::int64_t>(size_of(output.scalars[c]));
      const auto at = globals_.find({step.output, static_cast<int>(c)});
      if (bytes > 0 && at != globals_.end())
        stream_.download(output.buffers[c].get(), at->second.address(), bytes);
    }
    stream_.synchronize();
  } catch (...) {
    stream_.drain();
    throw;
  }
  raise_failed(step.kernel, record[0]);
}

}  // namespace anabranch
