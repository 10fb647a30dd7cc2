#pragma once

#include <cstdint>
#include <memory>

#include "gpu/resident.h"

/// The programs of the contests as resident kernels. What a program reads on the host decides nothing but its
/// shape here, so that it is not even there. T: float or double.
namespace anabranch::bench {

/// A sparse matrix on the GPU, with int32 offsets and columns.
struct ResidentMatrix {
  std::int64_t rows = 0, cols = 0, nonzeros = 0, longest = 0;
  cuda::Address offsets = 0, columns = 0, values = 0;
};

/// y = A x.
template <class T>
std::shared_ptr<ResidentKernel> resident_smvm(const ResidentMatrix& a, cuda::Address x, cuda::Address y);
/// The sum of each row's values.
template <class T>
std::shared_ptr<ResidentKernel> resident_row_sums(const ResidentMatrix& a, cuda::Address sums);
/// x . y, of n elements each.
template <class T>
std::shared_ptr<ResidentKernel> resident_dot(std::int64_t n, cuda::Address x, cuda::Address y,
                                             cuda::Address result);
/// Inclusive sums of n elements.
template <class T>
std::shared_ptr<ResidentKernel> resident_scan(std::int64_t n, cuda::Address x, cuda::Address y);
/// The same of each row's values.
template <class T>
std::shared_ptr<ResidentKernel> resident_row_scan(const ResidentMatrix& a, cuda::Address y);
/// bench::squares of n elements.
template <class T>
std::shared_ptr<ResidentKernel> resident_squares(std::int64_t n, cuda::Address x, cuda::Address y);
/// bench::smoothed of n elements.
template <class T>
std::shared_ptr<ResidentKernel> resident_smoothed(std::int64_t n, cuda::Address x, cuda::Address y);
/// bench::box_means of a dense matrix.
template <class T>
std::shared_ptr<ResidentKernel> resident_box_means(std::int64_t rows, std::int64_t cols, cuda::Address x,
                                                   cuda::Address y);

}  // namespace anabranch::bench
