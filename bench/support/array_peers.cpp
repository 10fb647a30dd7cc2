#include "array_peers.h"

#include <Eigen/Core>

#include <algorithm>

namespace anabranch::bench {

void transpose_by_eigen(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  using M = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<M>(to, columns, rows) = Eigen::Map<const M>(from, rows, columns).transpose();
}

void five_points_loop(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  for (std::int64_t y = 0; y < rows; ++y) {
    const float *here = from + y * columns, *above = from + std::max<std::int64_t>(y - 1, 0) * columns,
                *below = from + std::min(y + 1, rows - 1) * columns;
    float* out = to + y * columns;
    const auto at = [&](std::int64_t left, std::int64_t x, std::int64_t right) {
      out[x] = 4 * here[x] - above[x] - below[x] - here[left] - here[right];
    };
    at(0, 0, std::min<std::int64_t>(1, columns - 1));
    for (std::int64_t x = 1; x < columns - 1; ++x) at(x - 1, x, x + 1);
    if (columns > 1) at(columns - 2, columns - 1, columns - 1);
  }
}

void window_sums_loop(const float* from, std::int64_t n, int radius, float* to) {
  const auto at = [&](std::int64_t i) { return from[std::clamp<std::int64_t>(i, 0, n - 1)]; };
  const auto edge = [&](std::int64_t i) {
    float total = at(i - radius);
    for (std::int64_t d = 1 - radius; d <= radius; ++d) total += at(i + d);
    to[i] = total;
  };
  const std::int64_t first = std::min<std::int64_t>(radius, n), last = std::max(first, n - radius);
  for (std::int64_t i = 0; i < first; ++i) edge(i);
  for (std::int64_t i = first; i < last; ++i) {
    float total = from[i - radius];
    for (int d = 1 - radius; d <= radius; ++d) total += from[i + d];
    to[i] = total;
  }
  for (std::int64_t i = last; i < n; ++i) edge(i);
}

void column_sums_loop(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  std::fill_n(to, columns, 0.0F);
  for (std::int64_t y = 0; y < rows; ++y)
    for (std::int64_t x = 0; x < columns; ++x) to[x] += from[y * columns + x];
}

void column_sums_by_eigen(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  using M = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Eigen::RowVectorXf>(to, columns) = Eigen::Map<const M>(from, rows, columns).colwise().sum();
}

}  // namespace anabranch::bench
