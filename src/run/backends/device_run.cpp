#include "run/backends/device_run.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "ir/cancelled.h"
#include "kernel/check_error.h"
#include "run/backends/staged_copy.h"

namespace anabranch::runtime {

namespace {
/// Bytes of freed device memory that are kept for the next run; other programs may want the rest. To allocate and free what the
/// chunks of a stream take would cost milliseconds of each run.
std::int64_t kept_between_runs(const cuda::Device& device) {
  return std::clamp(device.facts().memory / 8, std::int64_t{256} << 20, std::int64_t{2} << 30);
}

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
      own_memory_(device_, stop_word_bytes + small_copy),
      stop_word_(*new(own_memory_.data()) cpu::StopWord(0)),
      stop_signal_(stop, stop_word_),
      stream_(device_, this->trace(), 0),
      memory_(*this, stream_) {}

ResidentCopy::~ResidentCopy() {
  const cuda::KeepContext keep(device_->shared_api());
  block_ = {};
  device_->trim(kept_between_runs(*device_));
}

void ResidentCopy::download(void* to, std::int64_t bytes) {
  on_device(*device_, [&] {
    DeviceStream stream(device_, nullptr, 0);
    download_staged(device_, stream, nullptr, to, address(), bytes);
  });
}

void DeviceRun::check_stop() const {
  if (stop_word_ != 0) ir::raise_cancelled();
}

DeviceRun::~DeviceRun() {
  stream_.drain();
  globals_.clear();
  replaced_.clear();
  memory_.release();
  no_checks_ = {};
  device_->trim(kept_between_runs(*device_));
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
    // Where there is a bound, it counts freed memory that is kept for later requests, too. Only a block that is new can take
    // both together past it: else nothing is given back, for which the driver would wait for the device.
    if (bounded_) device_->trim(budget_.available());
    return out;
  } catch (const scheduler::BudgetExceeded& e) {
    throw cuda::DeviceMemoryFull(std::string("GPU memory: ") + e.what());
  }
}

namespace {

/// Memory for the launches that follow. It is given back at once: only later work of the stream gets it.
cuda::Address lend_workspace(StreamMemory& memory, std::int64_t bytes) {
  DeviceMemory block = memory.take("workspace", bytes);
  const cuda::Address at = block.address();
  memory.give_back(std::move(block));
  return at;
}

}  // namespace

/// What is small goes through memory that is at hand. The stream is done then, so that the next copy finds it free.
void DeviceRun::upload_whole(cuda::Address to, const void* from, std::int64_t bytes) {
  if (bytes > small_copy) return upload_staged(device_, stream_, &executor_, to, from, bytes);
  if (bytes > 0) std::memcpy(small_copies(), from, static_cast<std::size_t>(bytes));
  stream_.upload(to, small_copies(), bytes);
  stream_.synchronize();
}

void DeviceRun::download_whole(void* to, cuda::Address from, std::int64_t bytes) {
  if (bytes > small_copy) return download_staged(device_, stream_, &executor_, to, from, bytes);
  stream_.download(small_copies(), from, bytes);
  stream_.synchronize();
  if (bytes > 0) std::memcpy(to, small_copies(), static_cast<std::size_t>(bytes));
}

namespace {

/// True: the GPU.
bool counted(DeviceCounts& counts, std::string why_host) {
  if (why_host.empty()) return ++counts.by_gpu, true;
  ++counts.by_host;
  counts.why_host = std::move(why_host);
  return false;
}

}  // namespace

bool DeviceRun::makes_offsets(std::int64_t items) {
  const Lock lock(mutex_);
  return counted(offset_counts_, items < device_->few_items() ? fmt::format("{} items are few", items)
                                                              : device_->primitives().why_not);
}

void DeviceRun::count_rearrangement(std::string why_host) {
  const Lock lock(mutex_);
  counted(rearrangement_counts_, std::move(why_host));
}

void DeviceRun::run(DeviceStream& stream, const std::string& name, const std::string& why,
                    const device::Operation& what, StreamMemory& memory) {
  const std::int64_t bytes = device_->workspace_of(what);
  const cuda::Address workspace = lend_workspace(memory, bytes);
  stream.kernel(name, why, [&](cuda::Stream& s) { s.run(what, workspace, bytes); });
}

void DeviceRun::launch(DeviceStream& stream, const kernel::Kernel& kernel, const cuda::Bindings& bindings,
                       cuda::Address error, StreamMemory& memory) {
  if (bindings.items <= 0 || bindings.positions <= 0) return;
  cuda::KernelCode& code = *kernels_.get().at(&kernel);
  const int multiprocessors = device_->facts().multiprocessors;
  cuda::Schedule schedule = cuda::schedule(kernel, code.in_order(), bindings, multiprocessors);
  prepare(trace_ ? &trace_->run() : nullptr, kernel, code, cuda::entries_of(schedule));
  cuda::deal_tiles(schedule, multiprocessors, [&](int entry) { return code.blocks_at_a_time(entry); });
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

// ---- Global arrays

namespace {

std::int64_t bytes_of(const detail::ArrayData& array, std::size_t component) {
  return array.size() * static_cast<std::int64_t>(size_of(array.scalars[component]));
}

}  // namespace

/// Null where it is not on the device.
DeviceRun::GlobalCopy* DeviceRun::find_global(const detail::ArrayData& array, std::size_t component) {
  const auto found = globals_.find(array.buffers[component].get());
  if (found == globals_.end()) return nullptr;
  GlobalCopy& copy = found->second;
  return copy.of.expired() || copy.bytes < bytes_of(array, component) ? nullptr : &copy;
}

void DeviceRun::add_global(const HostArray& array, std::size_t component, DeviceMemory memory) {
  const std::shared_ptr<void>& buffer = array->buffers[component];
  GlobalCopy& copy = globals_[buffer.get()];
  // A launch that is being put together may have a shorter one, of an array that begins there, too.
  if (copy.of.expired())
    memory_.give_back(std::move(copy.memory));
  else
    replaced_.push_back(std::move(copy));
  copy = {buffer, std::move(memory), bytes_of(*array, component)};
  if (buffer.use_count() == 0) copy.of = array;  // memory of the user's, which nobody owns
}

/// Copies of arrays that are gone. Kernels under way may still use them, but only on this stream.
void DeviceRun::drop_unused() {
  for (auto at = globals_.begin(); at != globals_.end();) {
    if (!at->second.of.expired()) {
      ++at;
      continue;
    }
    memory_.give_back(std::move(at->second.memory));
    at = globals_.erase(at);
  }
}

void DeviceRun::settle() {
  const Lock lock(mutex_);
  if (!std::exchange(launched_, false)) return memory_.release();
  stream_.synchronize();
  drop_unused();
  memory_.release();
  check_stop();
}

/// On the global group's stream.
cuda::Address DeviceRun::place_of(const HostArray& array, std::size_t component) {
  if (const GlobalCopy* const copy = find_global(*array, component)) return copy->address();
  drop_unused();
  const std::int64_t bytes = bytes_of(*array, component);
  DeviceMemory memory = memory_.take("inputs held whole", bytes);
  try {
    upload_whole(memory.address(), array->buffers[component].get(), bytes);
  } catch (...) {
    stream_.drain();
    throw;
  }
  const cuda::Address at = memory.address();
  add_global(array, component, std::move(memory));
  const auto* const place = static_cast<const std::byte*>(array->buffers[component].get());
  const auto input = inputs_.find(place);
  if (input != inputs_.end() && bytes == bytes_of(*input->second.array, input->second.component)) {
    const std::shared_ptr<detail::Residence> residence = input->second.array->residence;
    make_resident(globals_.at(place), residence);
    residence->keep(input->second.component, globals_.at(place).resident);
  }
  return at;
}

// ---- Arrays that stay

void DeviceRun::make_resident(GlobalCopy& copy, std::shared_ptr<detail::Residence> residence) {
  if (!copy.resident) copy.resident = std::make_shared<ResidentCopy>(device_, std::move(copy.memory.block));
  copy.residence = std::move(residence);
}

/// False: there is no room for the copies that stay of this array, within the run's bound.
bool DeviceRun::take_copies(const HostArray& input) {
  for (std::size_t c = 0; c < input->scalars.size(); ++c) {
    const std::shared_ptr<void>& buffer = input->buffers[c];
    auto copy = std::dynamic_pointer_cast<ResidentCopy>(input->residence->copy(c));
    if (!copy || copy->device() != device_ || globals_.contains(buffer.get())) continue;
    // Without a bound the run has a share of what is free beside them.
    scheduler::Reservation reservation;
    if (bounded_) {
      auto room = budget_.try_reserve("arrays that stay", copy->bytes());
      if (!room) return false;
      reservation = std::move(*room);
    }
    add_global(input, c, {std::move(reservation), {}});
    GlobalCopy& global = globals_.at(buffer.get());
    global.only_here = input->residence->is_only_there();
    global.resident = std::move(copy);
    global.residence = input->residence;
  }
  return true;
}

void DeviceRun::take_inputs(std::span<const HostArray> inputs) {
  const Lock lock(mutex_);
  for (const HostArray& input : inputs) {
    if (!input->residence || input->size() == 0) continue;
    const bool taken = take_copies(input);
    if (!taken)
      for (const std::shared_ptr<void>& buffer : input->buffers) globals_.erase(buffer.get());
    for (std::size_t c = 0; c < input->scalars.size(); ++c) {
      const auto* const place = static_cast<const std::byte*>(input->buffers[c].get());
      // What is only elsewhere, on another device or with no room for it here, comes from the host.
      if (!find_global(*input, c)) input->residence->bring_home();
      if (taken) inputs_.insert({place, {input, c}});
    }
  }
}

cuda::Address DeviceRun::resident(const void* from, std::int64_t bytes) {
  if (inputs_.empty() || bytes <= 0) return 0;
  const auto* const begin = static_cast<const std::byte*>(from);
  const Lock lock(mutex_);
  auto at = inputs_.upper_bound(begin);
  if (at == inputs_.begin()) return 0;
  Input& input = (--at)->second;
  const std::int64_t offset = begin - at->first;
  const std::int64_t all = bytes_of(*input.array, input.component);
  if (input.no_room || offset + bytes > all) return 0;
  // Chunks need room, too.
  if (!find_global(*input.array, input.component) && all > budget_.available() / 2) input.no_room = true;
  if (input.no_room) return 0;
  try {
    const cuda::Address whole = place_of(input.array, input.component);
    settle();
    return whole + static_cast<cuda::Address>(offset);
  } catch (const cuda::DeviceMemoryFull&) {
    input.no_room = true;
    return 0;
  }
}

std::shared_ptr<detail::Residence> DeviceRun::keep(const HostArray& array) {
  const Lock lock(mutex_);
  const std::size_t components = array->scalars.size();
  for (std::size_t c = 0; c < components; ++c)
    if (array->size() == 0 || !find_global(*array, c)) return nullptr;
  launched_ = true;
  settle();
  auto residence = std::make_shared<detail::Residence>(*array);
  std::vector<std::shared_ptr<detail::Residence::Copy>> copies;
  bool only_here = false;
  for (std::size_t c = 0; c < components; ++c) {
    GlobalCopy& copy = *find_global(*array, c);
    make_resident(copy, residence);
    only_here |= copy.only_here;
    copies.push_back(copy.resident);
  }
  if (only_here)
    residence->keep_only(std::move(copies));
  else
    for (std::size_t c = 0; c < components; ++c) residence->keep(c, copies[c]);
  return residence;
}

cuda::Address DeviceRun::global(const GlobalValues& values, int array, int component) {
  const Lock lock(mutex_);
  const cuda::Address at = place_of(values.place(array), static_cast<std::size_t>(component));
  settle();
  return at;
}

bool DeviceRun::is_only_there(const detail::ArrayData& array) {
  const Lock lock(mutex_);
  for (std::size_t c = 0; c < array.buffers.size(); ++c)
    if (const GlobalCopy* const copy = find_global(array, c); copy && copy->only_here) return true;
  return false;
}

void DeviceRun::fetch(const GlobalCopy& copy, void* to) {
  if (copy.residence)
    copy.residence->bring_home();
  else
    download_whole(to, copy.address(), copy.bytes);
}

void DeviceRun::fetch(const detail::ArrayData& array) {
  const Lock lock(mutex_);
  try {
    for (std::size_t c = 0; c < array.buffers.size(); ++c)
      if (const GlobalCopy* const copy = find_global(array, c); copy && copy->only_here && copy->bytes > 0)
        fetch(*copy, array.buffers[c].get());
    launched_ = true;
    settle();
  } catch (...) {
    stream_.drain();
    throw;
  }
  for (std::size_t c = 0; c < array.buffers.size(); ++c)
    if (GlobalCopy* const copy = find_global(array, c)) copy->only_here = false;
}

void DeviceRun::forget(const detail::ArrayData& array) {
  const Lock lock(mutex_);
  for (const std::shared_ptr<void>& buffer : array.buffers)
    if (auto copy = globals_.extract(buffer.get())) memory_.give_back(std::move(copy.mapped().memory));
}

cuda::Address DeviceRun::record_of_no_checks() {
  if (no_checks_.address() == 0) {
    const cuda::ErrorRecord record;
    DeviceMemory memory = allocate("error records", sizeof record);
    try {
      stream_.upload(memory.address(), &record, sizeof record);
      stream_.synchronize();
    } catch (...) {
      stream_.drain();
      throw;
    }
    no_checks_ = std::move(memory);
  }
  return no_checks_.address();
}

/// What overwrites another array has its memory, here as on the host.
void DeviceRun::make_room(std::span<const int> outputs, GlobalValues& values) {
  for (const int output : outputs) {
    if (output < 0) continue;
    const HostArray& array = values.place(output);
    for (std::size_t c = 0; c < array->scalars.size(); ++c) {
      const auto old = values.overwritten_by(output, c);
      if (old)
        place_of(values.place(old->array), static_cast<std::size_t>(old->component));
      else
        add_global(array, c, memory_.take("arrays computed once", bytes_of(*array, c)));
    }
  }
}

/// The host's memory has not been filled.
void DeviceRun::computed_here(std::span<const int> outputs, const GlobalValues& values) {
  for (const int output : outputs) {
    if (output < 0) continue;
    const detail::ArrayData& array = *values.place(output);
    for (std::size_t c = 0; c < array.buffers.size(); ++c) {
      if (GlobalCopy* const copy = find_global(array, c)) copy->only_here = true;
      if (device_->spoils_stale_copies() && array.buffers[c])
        std::memset(array.buffers[c].get(), 0xff, static_cast<std::size_t>(bytes_of(array, c)));
    }
  }
}

void DeviceRun::launch_global(const plan::KernelStep& step, GlobalValues& values) {
  // (Evaluating them may fetch arrays.)
  std::vector<std::int64_t> scalars;
  for (int u : step.scalars) scalars.push_back(values.uniform(u));
  const std::int64_t positions = values.positions(step);
  const Lock lock(mutex_);
  drop_unused();
  if (step.makes_outputs) make_room(step.outputs, values);
  std::vector<cuda::Address> buffers;
  for (const plan::BufferRef& ref : step.buffers)
    buffers.push_back(place_of(values.place(ref.index), static_cast<std::size_t>(ref.component)));
  launch_global(step, values, {buffers, scalars, 1, positions});
}

void DeviceRun::launch_global(const plan::KernelStep& step, const GlobalValues& values,
                              const cuda::Bindings& bindings) {
  const bool has_checks = !step.kernel.checks.empty();
  cuda::ErrorRecord record;
  DeviceMemory of_record;
  try {
    if (has_checks) {
      of_record = allocate("error records", sizeof record);
      stream_.upload(of_record.address(), &record, sizeof record);
    }
    launched_ = true;
    launch(stream_, step.kernel, bindings, has_checks ? of_record.address() : record_of_no_checks(), memory_);
    if (has_checks) {
      stream_.synchronize();  // the driver would wait inside of the copy, spinning
      stream_.download(&record, of_record.address(), sizeof record);
      settle();
    }
  } catch (...) {
    stream_.drain();
    throw;
  }
  raise_failed(step.kernel, record, values.item());
  computed_here(step.outputs, values);
}

DevicePlacedArray DeviceRun::placed(const plan::RearrangeStep& step, const HostArray& array) {
  DevicePlacedArray out;
  for (std::size_t c = 0; c < array->scalars.size(); ++c) out.components.push_back(place_of(array, c));
  const rearrange::Parts parts = parts_of_whole(*array, step);
  out.parts = {parts.count, parts.size, nullptr, parts.elements(), parts.size};
  return out;
}

bool DeviceRun::rearrange_global(const plan::RearrangeStep& step, GlobalValues& values) {
  std::string why_host = device_->primitives().why_not;
  for (const plan::RearrangeStep::Input& input : step.inputs) {
    const detail::ArrayData& array = *values.place(input.index);
    if (why_host.empty()) why_host = why_not_on_device(step, array.size(), parts_of_whole(array, step).count);
    if (array.size() != values.place(step.inputs.back().index)->size()) why_host = other_sizes;
  }
  const Lock lock(mutex_);
  if (why_host.empty()) try {
      rearrange_global_here(step, values);
    } catch (const cuda::DeviceMemoryFull& full) {
      for (const int output : step.outputs)
        if (output >= 0) forget(*values.place(output));
      why_host = full.what();
    }
  count_rearrangement(why_host);
  return why_host.empty();
}

void DeviceRun::rearrange_global_here(const plan::RearrangeStep& step, GlobalValues& values) {
  drop_unused();
  make_room(step.outputs, values);
  std::vector<DevicePlacedArray> inputs, outputs;
  for (const plan::RearrangeStep::Input& input : step.inputs)
    inputs.push_back(placed(step, values.place(input.index)));
  for (const int output : step.outputs)
    outputs.push_back(output >= 0 ? placed(step, values.place(output)) : DevicePlacedArray{});
  device::Failure failure{};
  DeviceMemory of_failure;
  try {
    if (may_fail(step)) {
      of_failure = allocate("error records", sizeof failure);
      stream_.upload(of_failure.address(), &failure, sizeof failure);
    }
    launched_ = true;
    const DeviceRearrangement what = device_rearrangement(step, inputs, outputs, of_failure.address());
    run(stream_, "rearrangement", device::name_of(what.operation), what.operation, memory_);
    if (may_fail(step)) {
      stream_.synchronize();
      stream_.download(&failure, of_failure.address(), sizeof failure);
      settle();
    }
  } catch (...) {
    stream_.drain();
    throw;
  }
  raise_failed(step, failure, ir::ItemNumbers::always(values.item()));
  computed_here(step.outputs, values);
}

}  // namespace anabranch::runtime
