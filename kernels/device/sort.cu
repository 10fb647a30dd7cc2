#include <cub/device/device_radix_sort.cuh>

#include "device/calls.h"

namespace anabranch::device {

Status sort_pairs(const SortPairs* what, Temporary* temporary, Stream stream) {
  return sort_types(*what, [&]<class Key, class Value>(Key, Value) -> Status {
    constexpr int bits = 8 * sizeof(Key);
    const int first = what->first_bit, last = what->last_bit ? what->last_bit : bits;
    if (first < 0 || first > last || last > bits) return bad_argument;
    return with_storage(temporary, what->count, [&](void* storage, std::size_t& bytes) {
      const Key* keys = at<Key>(what->keys);
      const Value* values = at<Value>(what->values);
      Key* keys_out = at<Key>(what->keys_out);
      Value* values_out = at<Value>(what->values_out);
      if (what->descending)
        return cub::DeviceRadixSort::SortPairsDescending(storage, bytes, keys, keys_out, values, values_out,
                                                         what->count, first, last, cuda(stream));
      return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, keys_out, values, values_out, what->count,
                                             first, last, cuda(stream));
    });
  });
}

}  // namespace anabranch::device
