#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "memory.h"

/// Sparse matrices of the shapes that benchmarks of sparse matrices use, made in memory.
namespace anabranch::bench {

struct Csr {
  std::int64_t rows = 0, cols = 0;
  Buffer<std::int32_t> indptr, indices;
  Buffer<double> values;

  std::int64_t nnz() const { return static_cast<std::int64_t>(indices.size()); }
  std::int64_t longest_row() const {
    std::int64_t longest = 0;
    for (std::size_t r = 0; r + 1 < indptr.size(); ++r)
      longest = std::max<std::int64_t>(longest, indptr[r + 1] - indptr[r]);
    return longest;
  }
  /// What one product has to move at least: the matrix, x and y once.
  double bytes() const {
    return 12.0 * static_cast<double>(nnz()) + 4.0 * static_cast<double>(rows + 1) +
           8.0 * static_cast<double>(rows + cols);
  }
};

/// A stencil on a cube of n^3 points: the point and its neighbours that differ by at most one in every
/// direction, 27 a row inside. Values are random: only the shape is a Laplacian's.
Csr laplacian27(std::int64_t n);
/// The same on a square of n^2 points, 9 a row.
Csr laplacian9(std::int64_t n);
/// `width` entries a row at random places of a band of `band` columns around the diagonal, rising.
Csr banded(std::int64_t rows, int width, std::int64_t band);
/// Every row's length any number from 0 to `longest`, columns as in `banded`: no branch can be foreseen.
Csr random_lengths(std::int64_t rows, int longest, std::int64_t band);
/// Row lengths 1 .. 1e5, P(length >= n) = 1 / n, columns anywhere.
Csr power_law(std::int64_t rows);

/// Numbers in [-1, 1), other ones for every seed.
Buffer<double> random_vector(std::int64_t size, std::uint64_t seed);
Buffer<float> random_floats(std::int64_t size, std::uint64_t seed);
/// T: float or double.
template <class T>
Buffer<T> random_numbers(std::int64_t size, std::uint64_t seed) {
  if constexpr (std::is_same_v<T, float>)
    return random_floats(size, seed);
  else
    return random_vector(size, seed);
}

}  // namespace anabranch::bench
