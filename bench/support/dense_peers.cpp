#include "dense_peers.h"

#include <Eigen/Core>

#include <algorithm>
#include <vector>

#ifdef ANABRANCH_BENCH_BLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif
#ifdef ANABRANCH_BENCH_OPENCV
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-enum-enum-conversion"
#include <opencv2/imgproc.hpp>
#pragma GCC diagnostic pop
#endif

namespace anabranch::bench {
namespace {

template <class T>
void product(const T* a, const T* b, std::int64_t n, T* to) {
  using M = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<M>(to, n, n).noalias() = Eigen::Map<const M>(a, n, n) * Eigen::Map<const M>(b, n, n);
}

}  // namespace

void matmul_by_eigen(const float* a, const float* b, std::int64_t n, float* to) { product(a, b, n, to); }
void matmul_by_eigen(const double* a, const double* b, std::int64_t n, double* to) { product(a, b, n, to); }

#ifdef ANABRANCH_BENCH_BLAS
bool has_blas() { return true; }
void matmul_by_blas(const float* a, const float* b, std::int64_t n, float* to, int threads) {
  openblas_set_num_threads(threads);
  const int m = static_cast<int>(n);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1, a, m, b, m, 0, to, m);
}
void matmul_by_blas(const double* a, const double* b, std::int64_t n, double* to, int threads) {
  openblas_set_num_threads(threads);
  const int m = static_cast<int>(n);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1, a, m, b, m, 0, to, m);
}
#else
bool has_blas() { return false; }
void matmul_by_blas(const float*, const float*, std::int64_t, float*, int) {}
void matmul_by_blas(const double*, const double*, std::int64_t, double*, int) {}
#endif

void stencil_loop(const float* from, std::int64_t rows, std::int64_t columns, const float* weights,
                  float* to) {
  const auto edge = [&](const float* const* lines, std::int64_t x) {
    float total = 0;
    for (std::int64_t dy = 0; dy < 5; ++dy)
      for (std::int64_t dx = 0; dx < 5; ++dx)
        total += weights[dy * 5 + dx] * lines[dy][std::clamp<std::int64_t>(x + dx - 2, 0, columns - 1)];
    return total;
  };
  for (std::int64_t y = 0; y < rows; ++y) {
    const float* lines[5];
    for (std::int64_t dy = 0; dy < 5; ++dy)
      lines[dy] = from + std::clamp<std::int64_t>(y + dy - 2, 0, rows - 1) * columns;
    float* out = to + y * columns;
    const std::int64_t begin = std::min<std::int64_t>(2, columns), end = std::max(begin, columns - 2);
    for (std::int64_t x = 0; x < begin; ++x) out[x] = edge(lines, x);
    for (std::int64_t x = begin; x < end; ++x) {
      float total = 0;
      for (int dy = 0; dy < 5; ++dy)
        for (int dx = 0; dx < 5; ++dx) total += weights[dy * 5 + dx] * lines[dy][x + dx - 2];
      out[x] = total;
    }
    for (std::int64_t x = end; x < columns; ++x) out[x] = edge(lines, x);
  }
}

#ifdef ANABRANCH_BENCH_OPENCV
bool has_opencv() { return true; }
void stencil_by_opencv(const float* from, std::int64_t rows, std::int64_t columns, const float* weights,
                       float* to, int threads) {
  cv::setNumThreads(threads);
  const auto matrix = [](const float* data, std::int64_t height, std::int64_t width) {
    return cv::Mat(static_cast<int>(height), static_cast<int>(width), CV_32F, const_cast<float*>(data));
  };
  cv::Mat out = matrix(to, rows, columns);
  cv::filter2D(matrix(from, rows, columns), out, CV_32F, matrix(weights, 5, 5), {-1, -1}, 0,
               cv::BORDER_REPLICATE);
}
#else
bool has_opencv() { return false; }
void stencil_by_opencv(const float*, std::int64_t, std::int64_t, const float*, float*, int) {}
#endif

}  // namespace anabranch::bench
