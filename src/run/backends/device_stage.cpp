#include "run/backends/device_stage.h"

#include <utility>

namespace anabranch::runtime {

DeviceStage::DeviceStage(DeviceRun& run, RunContext& context, RunBackend& backend, const StageWork& work)
    : run_(run), infos_(work.infos), slots_(static_cast<std::size_t>(work.slots)) {
  for (int s = 0; s < work.slots; ++s)
    slots_[static_cast<std::size_t>(s)].device =
        std::make_unique<DeviceChunk>(run, context, backend, work, s);
}

DeviceStage::~DeviceStage() {
  const cuda::KeepContext keep(run_.device()->shared_api());
  slots_.clear();
}

ComputedOn DeviceStage::enqueue(int number, const std::vector<SourceChunk>& chunks, StageOutput&) {
  const cuda::KeepContext keep(run_.device()->shared_api());
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  try {
    slot.device->enqueue(chunks, infos_);
  } catch (const cuda::DeviceMemoryFull& full) {
    throw scheduler::BudgetExceeded(full.what(), "GPU memory", 0, run_.budget().used(), run_.bound());
  }
  const std::lock_guard lock(slot.mutex);
  slot.enqueued = true;
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
  // `arrived` stays set while the results are copied: else `make_room` would give back their memory.
  struct HandedOut {
    Slot& slot;
    ~HandedOut() {
      const std::lock_guard lock(slot.mutex);
      slot.arrived.reset();
    }
  };
  on_device(*run_.device(), [&] {
    const std::lock_guard lock(slot.mutex);
    wait_for(slot);
    if (slot.failure) std::rethrow_exception(std::exchange(slot.failure, nullptr));
  });
  const HandedOut handed_out{slot};
  results.append(std::move(*slot.arrived));
}

bool DeviceStage::make_room(int number) {
  on_device(*run_.device(), [&] {
    for (Slot& other : slots_) {
      if (&other == &slots_[static_cast<std::size_t>(number)]) continue;
      const std::lock_guard lock(other.mutex);
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
