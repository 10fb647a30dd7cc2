#include "run/backends/device_stage.h"

#include <anabranch/error.h>

namespace anabranch::runtime {

DeviceStage::DeviceStage(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
                         const std::vector<std::int64_t>& uniforms,
                         const std::vector<std::vector<ArrayInfo>>& infos, ChunkRun* cpu, int slots)
    : context_(context), stage_(stage), infos_(infos), cpu_(cpu), slots_(static_cast<std::size_t>(slots)) {
  for (int s = 0; s < slots; ++s)
    slots_[static_cast<std::size_t>(s)].device =
        std::make_unique<DeviceChunk>(*context.device, context, stage, global, uniforms, s);
}

void DeviceStage::complete_slot(Slot& slot) {
  if (!slot.enqueued) return;
  slot.enqueued = false;
  try {
    slot.device->complete();
    slot.parts.push_back(slot.device->results());
  } catch (...) {
    slot.failure = std::current_exception();
  }
}

void DeviceStage::complete(Slot& slot) {
  const std::lock_guard lock(slot.mutex);
  complete_slot(slot);
  if (slot.failure) std::rethrow_exception(std::exchange(slot.failure, nullptr));
}

bool DeviceStage::device_is_busy() {
  int on_their_way = 0;
  for (Slot& slot : slots_) {
    const std::unique_lock lock(slot.mutex, std::try_to_lock);
    // Taken: somebody waits for its results.
    on_their_way += !lock || (slot.enqueued && !slot.device->arrived());
  }
  // One computes, the next is being copied.
  return on_their_way >= 2;
}

std::vector<SourceChunk> DeviceStage::part_of(const std::vector<SourceChunk>& chunks, std::int64_t begin,
                                              std::int64_t end) const {
  std::vector<SourceChunk> part;
  for (std::size_t b = 0; b < chunks.size(); ++b) part.push_back(slice(chunks[b], infos_[b], begin, end));
  return part;
}

ChunkResults DeviceStage::results_here(const std::vector<SourceChunk>& chunks) {
  ChunkResults out;
  out.items = chunks[0].items;
  out.arrays.resize(stage_.results.size());
  out.reservation = context_.budget.reserve("results", 0);
  cpu_->execute(chunks, infos_, [&](int r, std::int64_t elements) {
    const auto n = static_cast<std::size_t>(r);
    const auto& type = stage_.group.arrays[static_cast<std::size_t>(stage_.results[n])].type;
    std::vector<void*> addresses;
    out.arrays[n].components.clear();
    for (ScalarType s : type.scalars) {
      const auto bytes = static_cast<std::size_t>(elements) * size_of(s);
      out.reservation.resize(out.reservation.bytes() + static_cast<std::int64_t>(bytes));
      auto memory = detail::allocate_aligned(bytes);
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
  return out;
}

void DeviceStage::compute_on_cpu(Slot& slot, const std::vector<SourceChunk>& chunks) {
  try {
    slot.parts.push_back(results_here(chunks));
    return;
  } catch (const scheduler::BudgetExceeded&) {
    make_room(slot);
  }
  compute_on_cpu(slot, chunks, 0, chunks[0].items);
}

void DeviceStage::compute_on_cpu(Slot& slot, const std::vector<SourceChunk>& chunks, std::int64_t begin,
                                 std::int64_t end) {
  try {
    slot.parts.push_back(results_here(part_of(chunks, begin, end)));
    return;
  } catch (const scheduler::BudgetExceeded&) {
    if (end - begin <= 1) throw;
  }
  cpu_->release();
  context_.blocks.trim();
  const std::int64_t middle = begin + (end - begin) / 2;
  compute_on_cpu(slot, chunks, begin, middle);
  compute_on_cpu(slot, chunks, middle, end);
}

void DeviceStage::make_room(Slot& slot) {
  for (Slot& other : slots_) {
    if (&other == &slot) continue;
    const std::lock_guard lock(other.mutex);
    complete_slot(other);
    other.device->release_staging(other.parts.empty());
  }
  if (cpu_) {
    cpu_->release();
    context_.blocks.trim();
  }
  context_.device->device()->trim();
}

std::optional<std::string> DeviceStage::refused(Slot& slot, const std::vector<SourceChunk>& chunks) {
  try {
    slot.device->enqueue(chunks, infos_);
    return std::nullopt;
  } catch (const cuda::DeviceMemoryFull& full) {
    return full.what();
  } catch (const scheduler::BudgetExceeded& full) {
    return full.what();
  }
}

void DeviceStage::compute(int number, const std::vector<SourceChunk>& chunks) {
  const cuda::KeepContext keep(context_.device->device()->shared_api());
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  if (cpu_ && (!context_.device->ready() || device_is_busy())) return compute_on_cpu(slot, chunks);
  ++device_chunks_;
  std::optional<std::string> why = refused(slot, chunks);
  if (why) {
    make_room(slot);
    why = refused(slot, chunks);
  }
  if (!why) {
    const std::lock_guard lock(slot.mutex);
    slot.enqueued = true;
    return;
  }
  if (chunks[0].items <= 1) throw ResourceError(*why);
  in_halves(slot, chunks, 0, chunks[0].items);
}

void DeviceStage::in_halves(Slot& slot, const std::vector<SourceChunk>& chunks, std::int64_t begin,
                            std::int64_t end) {
  const std::int64_t middle = begin + (end - begin) / 2;
  for (const auto& [from, to] : {std::pair(begin, middle), std::pair(middle, end)}) {
    const std::vector<SourceChunk> part = part_of(chunks, from, to);
    if (const auto why = refused(slot, part)) {
      if (to - from <= 1) throw ResourceError(*why);
      in_halves(slot, chunks, from, to);
      continue;
    }
    slot.device->complete();
    slot.parts.push_back(slot.device->take());
  }
}

}  // namespace anabranch::runtime
