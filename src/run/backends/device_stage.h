#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "run/backends/cpu_chunk.h"
#include "run/backends/device_chunk.h"

/// The chunks of one stage on a GPU, or on GPU and CPU.
namespace anabranch::runtime {

/// A ring of slots on the device. `compute` only enqueues, so that several chunks are on their way at once;
/// `finish` waits for one. A chunk that does not fit is tried again when the others have left the device,
/// then in halves.
///
/// With `cpu`, a chunk is computed there whenever the device
/// has enough to do: whoever is quicker gets more of them.
class DeviceStage {
 public:
  DeviceStage(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
              const std::vector<std::int64_t>& uniforms, const std::vector<std::vector<ArrayInfo>>& infos,
              ChunkRun* cpu, int slots);

  /// One at a time, in order. The chunk's memory must live until it is finished.
  void compute(int slot, const std::vector<SourceChunk>& chunks);
  /// Hands out the results of the slot's items, in order.
  template <class Take>
  void finish(int slot, Take&& take) {
    const cuda::KeepContext keep(context_.device->device()->shared_api());
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    complete(s);
    for (ChunkResults& part : s.parts) take(std::move(part));
    const std::lock_guard lock(s.mutex);
    s.parts.clear();
  }
  std::int64_t device_chunks() const { return device_chunks_; }

 private:
  struct Slot {
    std::unique_ptr<DeviceChunk> device;
    std::mutex mutex;                 ///< of all this, while it is being completed
    bool enqueued = false;            ///< its results are still to come
    std::exception_ptr failure;       ///< of the chunk, until its writer has been told
    std::vector<ChunkResults> parts;  ///< what has arrived
  };
  /// Waits for a chunk on its way, under the slot's mutex. Idempotent,
  /// and not only for the slot's writer: who needs the memory calls it, too.
  /// What fails is the writer's to hear, so it is kept before the mutex opens.
  static void complete_slot(Slot& slot);
  /// For the writer.
  void complete(Slot& slot);
  bool device_is_busy();
  /// Brings the chunks before the slot's home, with the memory they hold on GPU and host.
  void make_room(Slot& slot);
  /// Whatever memory it is that is short; an Error says why.
  std::optional<std::string> refused(Slot& slot, const std::vector<SourceChunk>& chunks);
  void compute_on_cpu(Slot& slot, const std::vector<SourceChunk>& chunks);
  void compute_on_cpu(Slot& slot, const std::vector<SourceChunk>& chunks, std::int64_t begin,
                      std::int64_t end);
  ChunkResults results_here(const std::vector<SourceChunk>& chunks);
  void in_halves(Slot& slot, const std::vector<SourceChunk>& chunks, std::int64_t begin, std::int64_t end);
  std::vector<SourceChunk> part_of(const std::vector<SourceChunk>& chunks, std::int64_t begin,
                                   std::int64_t end) const;

  RunContext& context_;
  const plan::StagePlan& stage_;
  const std::vector<std::vector<ArrayInfo>>& infos_;
  ChunkRun* cpu_;
  std::vector<Slot> slots_;
  std::int64_t device_chunks_ = 0;
};

}  // namespace anabranch::runtime
