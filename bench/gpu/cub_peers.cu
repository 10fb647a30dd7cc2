#include "gpu/cub_peers.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/transform.h>

#include "gpu/cuda_calls.h"

namespace anabranch::bench {
namespace {

template <class T>
struct Product {
  const T *a, *b;
  __device__ T operator()(std::int64_t k) const { return a[k] * b[k]; }
};
template <class T>
struct GatheredProduct {
  const std::int32_t* columns;
  const T *values, *x;
  __device__ T operator()(std::int64_t k) const { return values[k] * x[columns[k]]; }
};
template <class T>
struct Square {
  __device__ T operator()(T x) const { return x * x + T(0.5); }
};

template <class F>
auto over_positions(F f) {
  return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), f);
}

}  // namespace

// The first call of a CUB algorithm, with no storage, says how much it needs.

template <class T>
CubSum<T>::CubSum(std::int64_t n, const T* in, const T* by, T* out) : n_(n), in_(in), by_(by), out_(out) {
  (*this)();
  storage_ = DeviceBuffer(bytes_);
}
template <class T>
void CubSum<T>::operator()() {
  const auto sum = [&](auto from) {
    check(cub::DeviceReduce::Sum(storage_.data(), bytes_, from, out_, n_, stream()), "cub::DeviceReduce");
  };
  if (by_)
    sum(over_positions(Product<T>{in_, by_}));
  else
    sum(in_);
}

template <class T>
CubRows<T>::CubRows(std::int64_t rows, const std::int32_t* offsets, const std::int32_t* columns,
                    const T* values, const T* x, T* y)
    : rows_(rows), offsets_(offsets), columns_(columns), values_(values), x_(x), y_(y) {
  (*this)();
  storage_ = DeviceBuffer(bytes_);
}
template <class T>
void CubRows<T>::operator()() {
  const auto sum = [&](auto from) {
    check(cub::DeviceSegmentedReduce::Sum(storage_.data(), bytes_, from, y_, rows_, offsets_, offsets_ + 1,
                                          stream()),
          "cub::DeviceSegmentedReduce");
  };
  if (columns_)
    sum(over_positions(GatheredProduct<T>{columns_, values_, x_}));
  else
    sum(values_);
}

template <class T>
CubScan<T>::CubScan(std::int64_t n, const T* in, const std::int32_t* rows, T* out)
    : n_(n), in_(in), rows_(rows), out_(out) {
  (*this)();
  storage_ = DeviceBuffer(bytes_);
}
template <class T>
void CubScan<T>::operator()() {
  if (rows_)
    check(cub::DeviceScan::InclusiveSumByKey(storage_.data(), bytes_, rows_, in_, out_, n_,
                                             cuda::std::equal_to<>{}, stream()),
          "cub::DeviceScan, by key");
  else
    check(cub::DeviceScan::InclusiveSum(storage_.data(), bytes_, in_, out_, n_, stream()), "cub::DeviceScan");
}

CubSort::CubSort(std::int64_t n, const float* in, float* out) : n_(n), in_(in), out_(out) {
  (*this)();
  storage_ = DeviceBuffer(bytes_);
}
void CubSort::operator()() {
  check(
      cub::DeviceRadixSort::SortKeys(storage_.data(), bytes_, in_, out_, n_, 0, 8 * sizeof(float), stream()),
      "cub::DeviceRadixSort");
}

template <class T>
void thrust_squares(std::int64_t n, const T* in, T* out) {
  thrust::transform(thrust::cuda::par_nosync.on(stream()), in, in + n, out, Square<T>{});
}

template class CubSum<float>;
template class CubSum<double>;
template class CubRows<float>;
template class CubRows<double>;
template class CubScan<float>;
template void thrust_squares(std::int64_t, const float*, float*);
template void thrust_squares(std::int64_t, const double*, double*);

}  // namespace anabranch::bench
