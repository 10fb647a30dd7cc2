#pragma once

#include <cstdint>

/// What a user would write, or call, in place of operations over dense arrays. Row-major.
namespace anabranch::bench {

/// to (columns x rows) = from (rows x columns), transposed by Eigen.
void transpose_by_eigen(const float* from, std::int64_t rows, std::int64_t columns, float* to);
/// 4 x - the four neighbours; beyond the borders the nearest element.
void five_points_loop(const float* from, std::int64_t rows, std::int64_t columns, float* to);
/// The sums of 2 `radius` + 1 neighbours; beyond the ends the nearest element.
void window_sums_loop(const float* from, std::int64_t n, int radius, float* to);

/// The sum of each column.
void column_sums_loop(const float* from, std::int64_t rows, std::int64_t columns, float* to);
void column_sums_by_eigen(const float* from, std::int64_t rows, std::int64_t columns, float* to);

}  // namespace anabranch::bench
