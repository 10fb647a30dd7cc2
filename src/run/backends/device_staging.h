#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "run/context/context.h"

/// Page-locked memory through which a chunk is copied to the GPU and its results back.
namespace anabranch::runtime {

/// What a piece of staging memory takes.
constexpr std::int64_t padded(std::int64_t bytes) {
  constexpr std::int64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Copies into memory that a device reads and the host does not: past the host's caches.
void fill_staging(scheduler::Executor& executor, void* to, const void* from, std::int64_t bytes);

/// Grows as needed and is handed out piece by piece.
class DeviceStaging {
 public:
  explicit DeviceStaging(RunContext& context) : context_(context) {}
  /// Room for pieces of so many bytes together, padded. Those taken before are void.
  void begin(const std::shared_ptr<cuda::Device>& device, std::int64_t bytes);
  std::byte* take(std::int64_t bytes);
  void release();

 private:
  RunContext& context_;
  scheduler::Reservation reservation_;
  cuda::PinnedBlock block_;
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
  struct Piece {
    scheduler::Reservation reservation;
    cuda::PinnedBlock block;
  };
  static constexpr std::int64_t small_bytes = 4 << 10;
  Piece make(std::int64_t bytes);

  RunContext& context_;
  std::shared_ptr<cuda::Device> device_;
  std::vector<Piece> pieces_;
  Piece small_;  ///< stays
  std::int64_t small_used_ = 0;
};

}  // namespace anabranch::runtime
