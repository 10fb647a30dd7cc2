#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "run/backends/device_trace.h"
#include "run/context/context.h"

/// Page-locked memory through which a chunk is copied to the GPU and its results back. To lock it takes longer than to copy, and
/// the device waits meanwhile; what is given back the device keeps (cuda::PinnedBlock).
namespace anabranch::runtime {

/// What is large consists of pieces of this size: whoever needs some finds what others have given back.
constexpr std::int64_t staging_piece = std::int64_t{8} << 20;

/// What a copy takes of staging memory.
constexpr std::int64_t padded(std::int64_t bytes) {
  constexpr std::int64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Copies into memory that a device reads and the host does not: past the host's caches.
void fill_staging(scheduler::Executor& executor, void* to, const void* from, std::int64_t bytes);

/// Page-locked memory together with its part of the run's account.
struct StagingMemory {
  scheduler::Reservation reservation;
  cuda::PinnedBlock block;
  /// Of `usual` bytes, or where the bound leaves no room for those of `least`. Throws BudgetExceeded, DeviceMemoryFull.
  static StagingMemory make(RunContext& context, const std::shared_ptr<cuda::Device>& device,
                            std::int64_t usual, std::int64_t least);
};

/// For what a chunk uploads. As chunks grow it gets further pieces; none is replaced while the run goes on.
class UploadStaging {
 public:
  UploadStaging(RunContext& context, std::shared_ptr<cuda::Device> device)
      : context_(context), device_(std::move(device)) {}
  /// Room for copies of so many bytes together, padded. Those made before are void. Where it throws, nothing is held.
  void begin(std::int64_t bytes);
  /// Copies a piece into this memory and puts its upload on the stream, then the next one.
  void upload(DeviceStream& stream, cuda::Address to, const void* from, std::int64_t bytes);
  void release();

 private:
  RunContext& context_;
  std::shared_ptr<cuda::Device> device_;
  std::vector<StagingMemory> pieces_;
  std::int64_t bytes_ = 0;  ///< of all pieces
  std::size_t piece_ = 0;   ///< the one that the next copy begins in,
  std::int64_t used_ = 0;   ///< behind so many of its bytes
};

/// For the results of a chunk, which sinks take as they lie: in one piece, which a larger one replaces.
class DownloadStaging {
 public:
  DownloadStaging(RunContext& context, std::shared_ptr<cuda::Device> device)
      : context_(context), device_(std::move(device)) {}
  /// Room for results of so many bytes together, padded. Those taken before are void.
  void begin(std::int64_t bytes);
  std::byte* take(std::int64_t bytes);
  void release() { memory_ = {}; }

 private:
  RunContext& context_;
  std::shared_ptr<cuda::Device> device_;
  StagingMemory memory_;
  std::int64_t used_ = 0;
};

/// For little that is copied while a chunk is under way, to the GPU or from there: piece by piece, each in memory of its own, but
/// for the smallest.
class DevicePieces {
 public:
  DevicePieces(RunContext& context, std::shared_ptr<cuda::Device> device)
      : context_(context), device_(std::move(device)) {}
  /// Room that is there until `release`, for what is downloaded say: the driver waits for a copy to other memory.
  std::byte* room(std::int64_t bytes);
  /// A copy that lies there until `release`.
  const void* keep(const void* from, std::int64_t bytes);
  void release();

 private:
  static constexpr std::int64_t small_bytes = 4 << 10;
  StagingMemory make(std::int64_t bytes);

  RunContext& context_;
  std::shared_ptr<cuda::Device> device_;
  std::vector<StagingMemory> pieces_;
  StagingMemory small_;  ///< stays
  std::int64_t small_used_ = 0;
};

}  // namespace anabranch::runtime
