#include <cub/device/device_segmented_sort.cuh>

#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "device/calls.h"

namespace anabranch::device {
namespace {

struct BeginOf {
  Parts parts;
  ANABRANCH_BOTH std::int64_t operator()(std::int64_t part) const {
    return part < parts.count ? begin_of(parts, part) : parts.elements;
  }
};

template <class Key>
cudaError_t parts_sorted(Storage& storage, Twice<Key>& keys, Twice<std::uint32_t>& numbers,
                         const Parts& parts, cudaStream_t stream) {
  const auto begins =
      thrust::make_transform_iterator(thrust::make_counting_iterator(std::int64_t{0}), BeginOf{parts});
  const cudaError_t error = cub::DeviceSegmentedSort::StableSortPairs(
      storage.at, storage.bytes, keys.first, keys.second, numbers.first, numbers.second, parts.elements,
      parts.count, begins, begins + 1, stream);
  if (storage.at) {
    keys = {keys.second, keys.first};
    numbers = {numbers.second, numbers.first};
  }
  return error;
}

}  // namespace

cudaError_t sort_parts(Storage& storage, Twice<std::uint32_t>& keys, Twice<std::uint32_t>& numbers,
                       const Parts& parts, cudaStream_t stream) {
  return parts_sorted(storage, keys, numbers, parts, stream);
}
cudaError_t sort_parts(Storage& storage, Twice<std::uint64_t>& keys, Twice<std::uint32_t>& numbers,
                       const Parts& parts, cudaStream_t stream) {
  return parts_sorted(storage, keys, numbers, parts, stream);
}

}  // namespace anabranch::device
