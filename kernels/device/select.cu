#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <thrust/iterator/counting_iterator.h>

#include "device/calls.h"

namespace anabranch::device {
namespace {

struct JoinSums {
  ANABRANCH_BOTH constexpr std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return smaller(a + b, most_sum);
  }
};

}  // namespace

cudaError_t select_numbers(Storage& storage, const std::uint8_t* mask, std::int64_t n, std::uint32_t* numbers,
                           std::int64_t* count, cudaStream_t stream) {
  return cub::DeviceSelect::Flagged(storage.at, storage.bytes,
                                    thrust::make_counting_iterator(std::uint32_t{0}), mask, numbers, count, n,
                                    stream);
}

cudaError_t running_sums(Storage& storage, std::int64_t* numbers, std::int64_t n, cudaStream_t stream) {
  return cub::DeviceScan::InclusiveScan(storage.at, storage.bytes, numbers, numbers, JoinSums{}, n, stream);
}

}  // namespace anabranch::device
