#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "run/backends/device_chunk.h"
#include "run/chunks/backend.h"

/// The chunks of one stage on a GPU.
namespace anabranch::runtime {

/// A ring of slots on the device: several chunks are in flight at once.
class DeviceStage final : public StageBackend {
 public:
  DeviceStage(DeviceRun& run, RunContext& context, RunBackend& backend, const StageWork& work);
  ~DeviceStage() override;

  /// Where sizes that values tell have to be waited for, or a sort: the next chunk's copy is then on its way.
  bool begins_early() const override { return begins_early_; }
  void begin(int number, const std::vector<SourceChunk>& chunks) override;
  ComputedOn enqueue(int number, const std::vector<SourceChunk>& chunks, StageOutput& results) override;
  void complete(int number, StageOutput& results) override;
  bool make_room(int number) override;
  /// The kernels are there, and the device has not enough to do: one chunk computes, the next is being copied.
  bool ready() override;

 private:
  struct Slot {
    std::unique_ptr<DeviceChunk> device;
    std::mutex mutex;  ///< of all this, while it is begun with or being completed
    /// Whether the next chunk has been begun with; `failed`: with `failure`.
    enum class Begun : std::uint8_t { no, at_work, yes, failed } begun = Begun::no;
    std::condition_variable not_at_work;
    bool enqueued = false;               ///< its results are still to come
    std::exception_ptr failure;          ///< of the chunk, until `complete` has thrown it
    std::optional<PartResults> arrived;  ///< what has come, until `complete` has handed it out
  };
  /// Waits for a chunk in flight, under the slot's mutex. Idempotent: who needs the memory calls it, too. What fails
  /// is kept before the mutex opens, as it is for `complete` to throw.
  static void wait_for(Slot& slot);

  DeviceRun& run_;
  const std::vector<std::vector<ArrayInfo>>& infos_;
  std::vector<Slot> slots_;
  bool begins_early_;
  std::atomic<bool> memory_was_short_ = false;  ///< then nothing is begun early any more
};

}  // namespace anabranch::runtime
