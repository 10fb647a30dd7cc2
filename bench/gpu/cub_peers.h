#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu/device.h"

/// CUB and Thrust doing the same work on the bench's stream. T: float or double; results are on the device.
/// Construction asks for the temporary memory.
namespace anabranch::bench {

/// The sum of in[i]; with `by`, of in[i] * by[i].
template <class T>
class CubSum {
 public:
  CubSum(std::int64_t n, const T* in, const T* by, T* out);
  void operator()();

 private:
  std::int64_t n_;
  const T *in_, *by_;
  T* out_;
  std::size_t bytes_ = 0;
  DeviceBuffer storage_;
};

/// The sum of each row's values; with `columns`, of values[k] * x[columns[k]]: a block of threads a row.
template <class T>
class CubRows {
 public:
  CubRows(std::int64_t rows, const std::int32_t* offsets, const std::int32_t* columns, const T* values,
          const T* x, T* y);
  void operator()();

 private:
  std::int64_t rows_;
  const std::int32_t *offsets_, *columns_;
  const T *values_, *x_;
  T* y_;
  std::size_t bytes_ = 0;
  DeviceBuffer storage_;
};

/// out[i] = in[0] + ... + in[i]. With `rows`, numbers of rows that rise, sums begin anew with each row.
template <class T>
class CubScan {
 public:
  CubScan(std::int64_t n, const T* in, const std::int32_t* rows, T* out);
  void operator()();

 private:
  std::int64_t n_;
  const T* in_;
  const std::int32_t* rows_;
  T* out_;
  std::size_t bytes_ = 0;
  DeviceBuffer storage_;
};

/// The numbers in rising order, by radix sort.
class CubSort {
 public:
  CubSort(std::int64_t n, const float* in, float* out);
  void operator()();

 private:
  std::int64_t n_;
  const float* in_;
  float* out_;
  std::size_t bytes_ = 0;
  DeviceBuffer storage_;
};

/// out[i] = in[i] * in[i] + 1 / 2, by thrust::transform.
template <class T>
void thrust_squares(std::int64_t n, const T* in, T* out);

/// Stencils by thrust::transform, each of whose threads reads the neighbours of its place: bench::smoothed, and
/// bench::box_means of a dense matrix.
template <class T>
void thrust_smoothed(std::int64_t n, const T* in, T* out);
template <class T>
void thrust_box_means(std::int64_t rows, std::int64_t cols, const T* in, T* out);

}  // namespace anabranch::bench
