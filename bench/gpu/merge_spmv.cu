#include "gpu/merge_spmv.h"

#include <climits>
#include <stdexcept>

#include "gpu/cuda_calls.h"
#include "gpu/merge_spmv.cuh"

namespace anabranch::bench {
namespace {

template <class T>
__global__ void __launch_bounds__(merge::threads) starts_kernel(merge::Product<T> p) {
  merge::find_starts(p);
}
template <class T>
__global__ void __launch_bounds__(merge::threads) tiles_kernel(merge::Product<T> p) {
  merge::multiply_tile(p);
}
template <class T>
__global__ void __launch_bounds__(merge::threads) carried_kernel(merge::Product<T> p) {
  merge::add_carried(p);
}

std::int32_t narrow(std::int64_t n) {
  if (n > INT_MAX - merge::tile) throw std::runtime_error("merge path: too large a matrix for int32");
  return static_cast<std::int32_t>(n);
}

}  // namespace

template <class T>
MergeSpmv<T>::MergeSpmv(std::int64_t rows, std::int64_t nonzeros, const std::int32_t* offsets,
                        const std::int32_t* columns, const T* values, const T* x, T* y)
    : rows_(narrow(rows)),
      nonzeros_(narrow(rows + nonzeros) - rows_),
      offsets_(offsets),
      columns_(columns),
      values_(values),
      x_(x),
      y_(y) {
  const auto tiles = static_cast<std::size_t>((rows + nonzeros) / merge::tile + 1);
  starts_ = DeviceBuffer((tiles + 1) * sizeof(merge::Place));
  carried_ = DeviceBuffer(tiles * sizeof(T));
}

template <class T>
void MergeSpmv<T>::operator()() {
  const merge::Product<T> product{rows_,
                                  nonzeros_,
                                  offsets_,
                                  columns_,
                                  values_,
                                  x_,
                                  y_,
                                  starts_.data<merge::Place>(),
                                  carried_.data<T>()};
  const auto tiles = static_cast<unsigned>(product.tiles());
  const unsigned of_threads = tiles / merge::threads + 1;  // for a thread a tile and one more
  starts_kernel<<<of_threads, merge::threads, 0, stream()>>>(product);
  tiles_kernel<<<tiles, merge::threads, 0, stream()>>>(product);
  carried_kernel<<<of_threads, merge::threads, 0, stream()>>>(product);
  check(cudaGetLastError(), "merge path");
}

template class MergeSpmv<float>;
template class MergeSpmv<double>;

}  // namespace anabranch::bench
