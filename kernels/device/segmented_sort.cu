#include <cub/device/device_segmented_sort.cuh>

#include "device/calls.h"

namespace anabranch::device {

Status segmented_sort_pairs(const SegmentedSortPairs* what, Temporary* temporary, Stream stream) {
  return segmented_sort_types(*what, [&]<class Key, class Value>(Key, Value) {
    const std::int64_t least = what->count < what->segments ? what->count : what->segments;
    return with_storage(temporary, least, [&](void* storage, std::size_t& bytes) {
      const Key* keys = at<Key>(what->keys);
      const Value* values = at<Value>(what->values);
      Key* keys_out = at<Key>(what->keys_out);
      Value* values_out = at<Value>(what->values_out);
      return cub::DeviceSegmentedSort::StableSortPairs(storage, bytes, keys, keys_out, values, values_out,
                                                       what->count, what->segments, what->offsets,
                                                       what->offsets + 1, cuda(stream));
    });
  });
}

}  // namespace anabranch::device
