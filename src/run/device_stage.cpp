#include "run/device_stage.h"

#include <anabranch/error.h>

namespace anabranch {

DeviceStage::DeviceStage(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
                         const std::vector<std::int64_t>& uniforms,
                         const std::vector<std::vector<ArrayInfo>>& infos, ChunkRun* cpu, int slots)
    : context_(context), stage_(stage), infos_(infos), cpu_(cpu), slots_(static_cast<std::size_t>(slots)) {
  for (Slot& slot : slots_)
    slot.device = std::make_unique<DeviceChunk>(*context.device, context, stage, global, uniforms);
}

/// Idempotent, and may be called by the thread that needs the memory while another waits for the results.
void DeviceStage::complete(Slot& slot) {
  const std::lock_guard lock(slot.mutex);
  if (slot.failure) std::rethrow_exception(std::exchange(slot.failure, nullptr));
  if (!slot.enqueued) return;
  slot.enqueued = false;
  slot.device->complete();
  slot.parts.push_back(slot.device->results());
}

bool DeviceStage::device_is_busy() {
  int on_their_way = 0;
  for (Slot& slot : slots_) {
    const std::lock_guard lock(slot.mutex);
    on_their_way += slot.enqueued && !slot.device->arrived();
  }
  // One computes, the next is being copied.
  return on_their_way >= 2;
}

void DeviceStage::compute_here(Slot& slot, const std::vector<SourceChunk>& chunks) {
  ChunkResults out;
  out.items = chunks[0].items;
  out.arrays.resize(stage_.results.size());
  cpu_->execute(chunks, infos_, [&](int r, std::int64_t elements) {
    const auto n = static_cast<std::size_t>(r);
    const auto& type = stage_.group.arrays[static_cast<std::size_t>(stage_.results[n])].type;
    std::vector<void*> addresses;
    out.arrays[n].components.clear();
    for (ScalarType s : type.scalars) {
      auto memory = detail::allocate_aligned(static_cast<std::size_t>(elements) * size_of(s));
      addresses.push_back(memory.get());
      out.arrays[n].components.push_back(memory.get());
      out.owned.push_back(std::move(memory));
    }
    out.arrays[n].elements = elements;
    return addresses;
  });
  for (std::size_t r = 0; r < out.arrays.size(); ++r) {
    const int number = stage_.results[r];
    for (std::size_t d = 0; d < stage_.group.arrays[static_cast<std::size_t>(number)].extents.size(); ++d)
      out.arrays[r].extents.push_back(cpu_->extents(number, static_cast<int>(d)));
  }
  cpu_->release();
  slot.parts.push_back(std::move(out));
}

void DeviceStage::compute(int number, const std::vector<SourceChunk>& chunks) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  if (cpu_ && device_is_busy()) return compute_here(slot, chunks);
  ++device_chunks_;
  const auto enqueue = [&] {
    slot.device->enqueue(chunks, infos_);
    const std::lock_guard lock(slot.mutex);
    slot.enqueued = true;
  };
  try {
    return enqueue();
  } catch (const cuda::DeviceMemoryFull&) {
    // The chunks before this one hold memory: bring them home, which fails for them and not for us if it
    // fails.
  }
  for (Slot& other : slots_) {
    if (&other == &slot) continue;
    try {
      complete(other);
    } catch (...) {
      const std::lock_guard lock(other.mutex);
      other.failure = std::current_exception();
    }
  }
  context_.device->device()->trim();
  try {
    return enqueue();
  } catch (const cuda::DeviceMemoryFull& full) {
    if (chunks[0].items <= 1) throw ResourceError(full.what());
  }
  in_halves(slot, chunks, 0, chunks[0].items);
}

void DeviceStage::in_halves(Slot& slot, const std::vector<SourceChunk>& chunks, std::int64_t begin,
                            std::int64_t end) {
  const std::int64_t middle = begin + (end - begin) / 2;
  for (const auto& [from, to] : {std::pair(begin, middle), std::pair(middle, end)}) {
    std::vector<SourceChunk> part;
    for (std::size_t b = 0; b < chunks.size(); ++b) part.push_back(slice(chunks[b], infos_[b], from, to));
    try {
      slot.device->enqueue(part, infos_);
    } catch (const cuda::DeviceMemoryFull& full) {
      if (to - from <= 1) throw ResourceError(full.what());
      in_halves(slot, chunks, from, to);
      continue;
    }
    slot.device->complete();
    slot.parts.push_back(slot.device->take());
  }
}

}  // namespace anabranch
