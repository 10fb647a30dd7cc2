#include "run/backends/device_stage.h"

#include <algorithm>
#include <utility>

namespace anabranch::runtime {

namespace {

/// Of a sort of many short rows CUB waits, and of what the host rearranges the chunk.
bool waits(const plan::RearrangeStep& step, cuda::Device& device) {
  return step.node->op() == ir::Op::sort || device.primitives().table == nullptr ||
         !why_not_on_device(step, 0, 0).empty();
}

/// Has a chunk to wait in the midst of its steps?
bool waits(const plan::Group& group, cuda::Device& device) {
  const auto reads_views = [](const plan::KernelStep& step) {
    return std::any_of(step.buffers.begin(), step.buffers.end(),
                       [](const plan::BufferRef& ref) { return ref.view >= 0; });
  };
  return std::any_of(group.steps.begin(), group.steps.end(), [&](const plan::Step& step) {
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) return reads_views(*kernel);
    if (const auto* require = std::get_if<plan::RequireStep>(&step)) return require->array >= 0;
    if (const auto* rearrange = std::get_if<plan::RearrangeStep>(&step)) return waits(*rearrange, device);
    return std::holds_alternative<plan::OffsetsStep>(step) || std::holds_alternative<plan::NestedStep>(step);
  });
}

}  // namespace

DeviceStage::DeviceStage(DeviceRun& run, RunContext& context, RunBackend& backend, const StageWork& work)
    : run_(run),
      infos_(work.infos),
      slots_(static_cast<std::size_t>(work.slots)),
      begins_early_(waits(work.stage.group, *run.device())) {
  for (int s = 0; s < work.slots; ++s)
    slots_[static_cast<std::size_t>(s)].device =
        std::make_unique<DeviceChunk>(run, context, backend, work, s);
}

DeviceStage::~DeviceStage() {
  const cuda::KeepContext keep(run_.device()->shared_api());
  slots_.clear();
}

void DeviceStage::begin(int number, const std::vector<SourceChunk>& chunks) {
  using Begun = Slot::Begun;
  const cuda::KeepContext keep(run_.device()->shared_api());
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  // Without the lock while it is done: threads help.
  const auto set = [&](Begun begun, std::exception_ptr failure = nullptr) {
    const std::lock_guard lock(slot.mutex);
    slot.begun = begun;
    slot.failure = std::move(failure);
    if (begun != Begun::at_work) slot.not_at_work.notify_all();
  };
  {
    // Whoever makes room waits for what is at work.
    const std::lock_guard lock(slot.mutex);
    if (memory_was_short_) return;
    slot.begun = Begun::at_work;
  }
  try {
    slot.device->begin(chunks, infos_);
    set(Begun::yes);
  } catch (const cuda::DeviceMemoryFull&) {
    set(Begun::no);
  } catch (const scheduler::BudgetExceeded&) {
    set(Begun::no);
  } catch (...) {
    set(Begun::failed, std::current_exception());
  }
}

ComputedOn DeviceStage::enqueue(int number, const std::vector<SourceChunk>& chunks, StageOutput&) {
  using Begun = Slot::Begun;
  const cuda::KeepContext keep(run_.device()->shared_api());
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  const Begun begun = [&] {
    const std::lock_guard lock(slot.mutex);
    return std::exchange(slot.begun, Begun::no);
  }();
  if (begun == Begun::failed) std::rethrow_exception(std::exchange(slot.failure, nullptr));
  try {
    if (begun != Begun::yes) slot.device->begin(chunks, infos_);
    slot.device->finish();
  } catch (const cuda::DeviceMemoryFull& full) {
    throw scheduler::BudgetExceeded(full.what(), "GPU memory", 0, run_.budget().used(), run_.bound());
  }
  const std::lock_guard lock(slot.mutex);
  slot.enqueued = true;
  slot.arrived.reset();
  return ComputedOn::device;
}

void DeviceStage::wait_for(Slot& slot) {
  if (!slot.enqueued) return;
  slot.enqueued = false;
  try {
    slot.arrived = slot.device->complete();
  } catch (...) {
    slot.failure = std::current_exception();
  }
}

void DeviceStage::complete(int number, StageOutput& results) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  // `arrived` stays set while the results are copied: else `make_room` would give back their memory. It does, too, where there
  // is no memory for them: this is called again then, or the chunk is computed once more.
  struct HandedOut {
    Slot& slot;
    bool refused = false;
    ~HandedOut() {
      const std::lock_guard lock(slot.mutex);
      if (!refused) slot.arrived.reset();
    }
  };
  on_device(*run_.device(), [&] {
    const std::lock_guard lock(slot.mutex);
    wait_for(slot);
    if (slot.failure) std::rethrow_exception(std::exchange(slot.failure, nullptr));
  });
  HandedOut handed_out{slot};
  if (!slot.arrived) throw InternalError("nothing has come from the GPU");
  try {
    results.append(std::move(*slot.arrived));
  } catch (const scheduler::BudgetExceeded&) {
    handed_out.refused = true;
    throw;
  }
}

bool DeviceStage::make_room(int number) {
  memory_was_short_ = true;
  on_device(*run_.device(), [&] {
    for (Slot& other : slots_) {
      if (&other == &slots_[static_cast<std::size_t>(number)]) continue;
      std::unique_lock lock(other.mutex);
      other.not_at_work.wait(lock, [&] { return other.begun != Slot::Begun::at_work; });
      if (std::exchange(other.begun, Slot::Begun::no) == Slot::Begun::yes) other.device->drop();
      wait_for(other);
      other.device->release_staging(!other.arrived);
    }
    run_.device()->trim();
  });
  return true;
}

bool DeviceStage::ready() {
  if (!run_.ready()) return false;
  const int in_flight = on_device(*run_.device(), [&] {
    int count = 0;
    for (Slot& slot : slots_) {
      const std::unique_lock lock(slot.mutex, std::try_to_lock);
      // Locked: its results are being waited for.
      count += !lock || (slot.enqueued && !slot.device->arrived());
    }
    return count;
  });
  return in_flight < 2;
}

}  // namespace anabranch::runtime
