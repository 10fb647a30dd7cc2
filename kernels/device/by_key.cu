#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "device/calls.h"

namespace anabranch::device {

Status scan_by_key(const ScanByKey* what, Temporary* temporary, Stream stream) {
  return by_key_types(*what, [&]<class Key, class Value>(Key, Value) {
    return with_storage(temporary, what->count, [&](void* storage, std::size_t& bytes) {
      const Key* keys = at<Key>(what->keys);
      const Value* from = at<Value>(what->from);
      Value* to = at<Value>(what->to);
      const Apply<Value> op{what->op};
      if (what->inclusive)
        return cub::DeviceScan::InclusiveScanByKey(storage, bytes, keys, from, to, op, what->count,
                                                   cuda::std::equal_to<>{}, cuda(stream));
      return cub::DeviceScan::ExclusiveScanByKey(storage, bytes, keys, from, to, op,
                                                 identity<Value>(what->op), what->count,
                                                 cuda::std::equal_to<>{}, cuda(stream));
    });
  });
}

Status reduce_by_key(const ReduceByKey* what, Temporary* temporary, Stream stream) {
  return by_key_types(*what, [&]<class Key, class Value>(Key, Value) {
    return with_storage(temporary, what->count, [&](void* storage, std::size_t& bytes) {
      return cub::DeviceReduce::ReduceByKey(storage, bytes, at<Key>(what->keys), at<Key>(what->unique_keys),
                                            at<Value>(what->from), at<Value>(what->to), what->runs,
                                            Apply<Value>{what->op}, what->count, cuda(stream));
    });
  });
}

}  // namespace anabranch::device
