#include "run/backends/device_staging.h"

namespace anabranch::runtime {

void DeviceStaging::begin(const std::shared_ptr<cuda::Device>& device, std::int64_t bytes) {
  used_ = 0;
  if (bytes <= block_.bytes()) return;
  release();
  const std::int64_t grown = padded(bytes + bytes / 8);
  if (auto roomy = context_.budget.try_reserve("staging for the GPU", grown)) {
    reservation_ = std::move(*roomy);
  } else {
    reservation_ = context_.budget.reserve("staging for the GPU", padded(bytes));
  }
  block_ = cuda::PinnedBlock(device, reservation_.bytes());
}

void DeviceStaging::release() {
  block_ = cuda::PinnedBlock();
  reservation_.release();
}

std::byte* DeviceStaging::take(std::int64_t bytes) {
  std::byte* at = block_.data() + used_;
  used_ += padded(bytes);
  return at;
}

}  // namespace anabranch::runtime
