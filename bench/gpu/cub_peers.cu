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

/// Positions of less than 2^31 elements: in 32 bits, as somebody who cares would have them.
template <class T>
struct Smoothed {
  std::int32_t last;
  const T* in;
  __device__ T operator()(std::int32_t i) const {
    return in[i > 0 ? i - 1 : 0] * T(0.25) + in[i] * T(0.5) + in[i < last ? i + 1 : last] * T(0.25);
  }
};
template <class T>
struct BoxMean {
  std::int32_t rows, cols;
  const T* in;
  static __device__ std::int32_t clamped(std::int32_t at, std::int32_t n) {
    return at < 0 ? 0 : at < n ? at : n - 1;
  }
  __device__ T operator()(std::int32_t i) const {
    const std::int32_t row = i / cols, col = i % cols;
    T sum = 0;
    for (std::int32_t dy = -2; dy <= 2; ++dy) {
      const T* line = in + static_cast<std::int64_t>(clamped(row + dy, rows)) * cols;
      for (std::int32_t dx = -2; dx <= 2; ++dx) sum += line[clamped(col + dx, cols)];
    }
    return sum * T(1.0 / 25);
  }
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

template <class F, class T>
void transform_positions(std::int64_t n, F f, T* out) {
  const thrust::counting_iterator<std::int32_t> first(0);
  thrust::transform(thrust::cuda::par_nosync.on(stream()), first, first + static_cast<std::int32_t>(n), out,
                    f);
}
template <class T>
void thrust_smoothed(std::int64_t n, const T* in, T* out) {
  transform_positions(n, Smoothed<T>{static_cast<std::int32_t>(n - 1), in}, out);
}
template <class T>
void thrust_box_means(std::int64_t rows, std::int64_t cols, const T* in, T* out) {
  transform_positions(rows * cols,
                      BoxMean<T>{static_cast<std::int32_t>(rows), static_cast<std::int32_t>(cols), in}, out);
}

template class CubSum<float>;
template class CubSum<double>;
template class CubRows<float>;
template class CubRows<double>;
template class CubScan<float>;
template void thrust_squares(std::int64_t, const float*, float*);
template void thrust_squares(std::int64_t, const double*, double*);
template void thrust_smoothed(std::int64_t, const float*, float*);
template void thrust_box_means(std::int64_t, std::int64_t, const float*, float*);

}  // namespace anabranch::bench
