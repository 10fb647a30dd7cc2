#include <cub/device/device_segmented_reduce.cuh>

#include "device/calls.h"

namespace anabranch::device {

Status segmented_reduce(const SegmentedReduce* what, Temporary* temporary, Stream stream) {
  return segmented_reduce_types(*what, [&]<class T>(T) {
    return with_storage(temporary, what->segments, [&](void* storage, std::size_t& bytes) {
      return cub::DeviceSegmentedReduce::Reduce(storage, bytes, at<T>(what->from), at<T>(what->to),
                                                what->segments, what->offsets, what->offsets + 1,
                                                Apply<T>{what->op}, identity<T>(what->op), cuda(stream));
    });
  });
}

}  // namespace anabranch::device
