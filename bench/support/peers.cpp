#include "peers.h"

#include <omp.h>

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>

namespace anabranch::bench {

namespace {

void csr_rows(const Csr& a, const double* x, double* y, std::int64_t begin, std::int64_t end) {
  const std::int32_t* indptr = a.indptr.data();
  const std::int32_t* indices = a.indices.data();
  const double* values = a.values.data();
  for (std::int64_t i = begin; i < end; ++i) {
    double sum = 0;
    for (std::int32_t k = indptr[i]; k < indptr[i + 1]; ++k) sum += values[k] * x[indices[k]];
    y[i] = sum;
  }
}

template <class T>
T dot(const T* x, const T* y, std::int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

template <class T>
T parallel_dot(const T* x, const T* y, std::int64_t n, int threads) {
  if (threads == 1) return dot(x, y, n);
  T sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
    const std::int64_t t = omp_get_thread_num(), begin = n * t / threads, end = n * (t + 1) / threads;
    sum += dot(x + begin, y + begin, end - begin);
  }
  return sum;
}

/// Whole cache lines, eight independent sums: as fast as the machine loads.
std::uint64_t sum_of(const std::uint64_t* at, std::size_t words) {
  using Line = std::uint64_t __attribute__((vector_size(64), aligned(8)));
  constexpr std::size_t lines = 8, step = lines * 8;
  Line sums[lines] = {};
  std::size_t i = 0;
  for (; i + step <= words; i += step)
    for (std::size_t l = 0; l < lines; ++l) sums[l] += *reinterpret_cast<const Line*>(at + i + 8 * l);
  std::uint64_t sum = 0;
  for (; i < words; ++i) sum += at[i];
  for (std::size_t l = 1; l < lines; ++l) sums[0] += sums[l];
  for (int k = 0; k < 8; ++k) sum += sums[0][k];
  return sum;
}

}  // namespace

std::vector<std::int64_t> equal_parts(const Csr& a, int threads) {
  std::vector<std::int64_t> borders{0};
  const std::int32_t* indptr = a.indptr.data();
  for (int t = 1; t < threads; ++t) {
    const auto part = static_cast<std::int32_t>(a.nnz() * t / threads);
    borders.push_back(std::lower_bound(indptr, indptr + a.rows, part) - indptr);
  }
  borders.push_back(a.rows);
  return borders;
}

void csr_loop(const Csr& a, const double* x, double* y, int threads) {
  if (threads == 1) return csr_rows(a, x, y, 0, a.rows);
  const std::vector<std::int64_t> borders = equal_parts(a, threads);
#pragma omp parallel num_threads(threads)
  {
    const auto t = static_cast<std::size_t>(omp_get_thread_num());
    csr_rows(a, x, y, borders[t], borders[t + 1]);
  }
}

void eigen_spmv(const Csr& a, const double* x, double* y, int threads) {
  Eigen::setNbThreads(threads);
  const Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>> matrix(
      a.rows, a.cols, a.nnz(), a.indptr.data(), a.indices.data(), a.values.data());
  const Eigen::Map<const Eigen::VectorXd> in(x, a.cols);
  Eigen::Map<Eigen::VectorXd> out(y, a.rows);
  out.noalias() = matrix * in;
}

ReadAll& ReadAll::also(const void* at, std::size_t bytes) {
  parts_.push_back({static_cast<const std::uint64_t*>(at), bytes / sizeof(std::uint64_t)});
  return *this;
}

void ReadAll::operator()() {
  std::uint64_t sum = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : sum)
  {
    const auto t = static_cast<std::size_t>(omp_get_thread_num()), n = static_cast<std::size_t>(threads_);
    for (const Part& p : parts_) {
      const std::size_t begin = p.words * t / n, end = p.words * (t + 1) / n;
      sum += sum_of(p.at + begin, end - begin);
    }
  }
  const volatile std::uint64_t keep = sum;
  sum_ += keep;
}

double dot_loop(const double* x, const double* y, std::int64_t n, int threads) {
  return parallel_dot(x, y, n, threads);
}
float dot_loop(const float* x, const float* y, std::int64_t n, int threads) {
  return parallel_dot(x, y, n, threads);
}

double eigen_dot(const double* x, const double* y, std::int64_t n) {
  return Eigen::Map<const Eigen::VectorXd>(x, n).dot(Eigen::Map<const Eigen::VectorXd>(y, n));
}
float eigen_dot(const float* x, const float* y, std::int64_t n) {
  return Eigen::Map<const Eigen::VectorXf>(x, n).dot(Eigen::Map<const Eigen::VectorXf>(y, n));
}

bool close(const double* a, const double* b, std::int64_t n, double tolerance) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance)) return false;
  return true;
}

}  // namespace anabranch::bench
