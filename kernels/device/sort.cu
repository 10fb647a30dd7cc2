#include <cub/device/device_radix_sort.cuh>

#include "device/calls.h"

namespace anabranch::device {
namespace {

template <class Key>
cudaError_t keys_sorted(Storage& storage, Twice<Key>& keys, std::int64_t n, int bits, cudaStream_t stream) {
  cub::DoubleBuffer<Key> both(keys.first, keys.second);
  const cudaError_t error =
      cub::DeviceRadixSort::SortKeys(storage.at, storage.bytes, both, n, 0, bits, stream);
  if (storage.at) keys = {both.Current(), both.Alternate()};
  return error;
}

template <class Key>
cudaError_t pairs_sorted(Storage& storage, Twice<Key>& keys, Twice<std::uint32_t>& numbers, std::int64_t n,
                         int bits, cudaStream_t stream) {
  cub::DoubleBuffer<Key> both(keys.first, keys.second);
  cub::DoubleBuffer<std::uint32_t> beside(numbers.first, numbers.second);
  const cudaError_t error =
      cub::DeviceRadixSort::SortPairs(storage.at, storage.bytes, both, beside, n, 0, bits, stream);
  if (storage.at) {
    keys = {both.Current(), both.Alternate()};
    numbers = {beside.Current(), beside.Alternate()};
  }
  return error;
}

}  // namespace

cudaError_t sort_keys(Storage& storage, Twice<std::uint32_t>& keys, std::int64_t n, int bits,
                      cudaStream_t stream) {
  return keys_sorted(storage, keys, n, bits, stream);
}
cudaError_t sort_keys(Storage& storage, Twice<std::uint64_t>& keys, std::int64_t n, int bits,
                      cudaStream_t stream) {
  return keys_sorted(storage, keys, n, bits, stream);
}
cudaError_t sort_pairs(Storage& storage, Twice<std::uint32_t>& keys, Twice<std::uint32_t>& numbers,
                       std::int64_t n, int bits, cudaStream_t stream) {
  return pairs_sorted(storage, keys, numbers, n, bits, stream);
}
cudaError_t sort_pairs(Storage& storage, Twice<std::uint64_t>& keys, Twice<std::uint32_t>& numbers,
                       std::int64_t n, int bits, cudaStream_t stream) {
  return pairs_sorted(storage, keys, numbers, n, bits, stream);
}

}  // namespace anabranch::device
