#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cuda/device.h"
#include "run/context.h"

/// Page-locked memory through which a chunk is copied to the GPU and its results back.
namespace anabranch::runtime {

/// What a piece of staging memory takes.
constexpr std::int64_t padded(std::int64_t bytes) {
  constexpr std::int64_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

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

}  // namespace anabranch::runtime
