#pragma once

#include <cstdint>

/// Products of matrices and a stencil as a user would write them, or call them. Row-major, one thread but where
/// `threads` says how many.
namespace anabranch::bench {

/// to = a b, all of n x n.
void matmul_by_eigen(const float* a, const float* b, std::int64_t n, float* to);
void matmul_by_eigen(const double* a, const double* b, std::int64_t n, double* to);
bool has_blas();
void matmul_by_blas(const float* a, const float* b, std::int64_t n, float* to, int threads);
void matmul_by_blas(const double* a, const double* b, std::int64_t n, double* to, int threads);

/// The sum of 5 x 5 elements around each place, weighted; beyond the borders the nearest element.
void stencil_loop(const float* from, std::int64_t rows, std::int64_t columns, const float* weights,
                  float* to);
bool has_opencv();
void stencil_by_opencv(const float* from, std::int64_t rows, std::int64_t columns, const float* weights,
                       float* to, int threads);

}  // namespace anabranch::bench
