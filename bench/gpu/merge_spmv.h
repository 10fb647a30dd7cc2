#pragma once

#include <cstdint>

#include "gpu/device.h"

namespace anabranch::bench {

/// y = A x by the merge-based algorithm (merge_spmv.cuh) on the bench's stream. T: float or double. What it finds out about
/// the matrix it finds out in every run.
template <class T>
class MergeSpmv {
 public:
  MergeSpmv(std::int64_t rows, std::int64_t nonzeros, const std::int32_t* offsets,
            const std::int32_t* columns, const T* values, const T* x, T* y);
  void operator()();

 private:
  std::int32_t rows_, nonzeros_;
  const std::int32_t *offsets_, *columns_;
  const T *values_, *x_;
  T* y_;
  DeviceBuffer starts_, carried_;
};

}  // namespace anabranch::bench
