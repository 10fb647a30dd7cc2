#pragma once

#include <cuda_runtime_api.h>

#include "device/operators.h"

/// What the files of libanabranch-device have in common. One file for each primitive, because nvcc is slow.
namespace anabranch::device {

/// CUB's two calls: one for the size of the storage, one for the work.
template <class Call>
Status with_storage(Temporary* temporary, std::int64_t count, Call&& call) {
  if (count < 0) return bad_argument;
  std::size_t bytes = temporary->bytes;
  const cudaError_t error = call(temporary->at, bytes);
  if (!temporary->at) temporary->bytes = bytes ? bytes : 1;
  return static_cast<Status>(error);
}

template <class T>
const T* at(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
T* at(void* p) {
  return static_cast<T*>(p);
}

inline cudaStream_t cuda(Stream stream) { return static_cast<cudaStream_t>(stream); }

Status sort_pairs(const SortPairs*, Temporary*, Stream);
Status segmented_sort_pairs(const SegmentedSortPairs*, Temporary*, Stream);
Status select(const Select*, Temporary*, Stream);
Status item_offsets(const ItemOffsets*, Temporary*, Stream);

}  // namespace anabranch::device
