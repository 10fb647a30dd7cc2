#pragma once

#include <cuda_runtime_api.h>

#include "device/rearrange.h"

/// What the files of libanabranch-device have in common. CUB's algorithms are in files of their own, because nvcc is slow.
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

inline cudaStream_t cuda(Stream stream) { return static_cast<cudaStream_t>(stream); }

/// CUB's storage and its size; with `at` null only the size is set.
struct Storage {
  void* at;
  std::size_t bytes;
};
// `keys` and `numbers` have the sorted ones first afterwards. They are called with the same arguments for the size.
cudaError_t sort_keys(Storage&, Twice<std::uint32_t>& keys, std::int64_t n, int bits, cudaStream_t);
cudaError_t sort_keys(Storage&, Twice<std::uint64_t>& keys, std::int64_t n, int bits, cudaStream_t);
cudaError_t sort_pairs(Storage&, Twice<std::uint32_t>& keys, Twice<std::uint32_t>& numbers, std::int64_t n,
                       int bits, cudaStream_t);
cudaError_t sort_pairs(Storage&, Twice<std::uint64_t>& keys, Twice<std::uint32_t>& numbers, std::int64_t n,
                       int bits, cudaStream_t);
cudaError_t sort_parts(Storage&, Twice<std::uint32_t>& keys, Twice<std::uint32_t>& numbers, const Parts&,
                       cudaStream_t);
cudaError_t sort_parts(Storage&, Twice<std::uint64_t>& keys, Twice<std::uint32_t>& numbers, const Parts&,
                       cudaStream_t);
cudaError_t select_numbers(Storage&, const std::uint8_t* mask, std::int64_t n, std::uint32_t* numbers,
                           std::int64_t* count, cudaStream_t);
/// In place: each becomes the sum of those up to it, at most most_sum.
cudaError_t running_sums(Storage&, std::int64_t* numbers, std::int64_t n, cudaStream_t);

Status call_sort(const Sort*, Temporary*, Stream);
Status call_select(const Select*, Temporary*, Stream);
Status call_group(const Group*, Temporary*, Stream);
Status call_last_at(const LastAt*, Temporary*, Stream);
Status call_accumulate(const Accumulate*, Temporary*, Stream);
Status call_repeat(const Repeat*, Temporary*, Stream);
Status item_offsets(const ItemOffsets*, Temporary*, Stream);

}  // namespace anabranch::device
