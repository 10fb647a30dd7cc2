#include "matrices.h"

#include <algorithm>

#include "random.h"

namespace anabranch::bench {

namespace {

/// Rows one by one: `length(i)` says how long row i is, `fill(i, columns)` gives its rising columns.
template <class Length, class Fill>
Csr build(std::int64_t rows, std::int64_t cols, Length&& length, Fill&& fill) {
  Csr m;
  m.rows = rows;
  m.cols = cols;
  m.indptr = Buffer<std::int32_t>(static_cast<std::size_t>(rows) + 1);
  std::int64_t nnz = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    m.indptr[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(nnz);
    nnz += length(i);
  }
  m.indptr[static_cast<std::size_t>(rows)] = static_cast<std::int32_t>(nnz);
  m.indices = Buffer<std::int32_t>(static_cast<std::size_t>(nnz));
  m.values = Buffer<double>(static_cast<std::size_t>(nnz));
  Random random(20260101);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int32_t* at = m.indices.data() + m.indptr[static_cast<std::size_t>(i)];
    fill(i, at, m.indices.data() + m.indptr[static_cast<std::size_t>(i) + 1]);
  }
  for (std::int64_t k = 0; k < nnz; ++k) m.values[static_cast<std::size_t>(k)] = unit(random);
  return m;
}

Csr stencil(int dimensions, std::int64_t n) {
  std::int64_t rows = 1;
  for (int d = 0; d < dimensions; ++d) rows *= n;
  const auto neighbours = [n, dimensions](std::int64_t i, auto&& use) {
    const std::int64_t x = i % n, y = i / n % n, z = i / n / n;
    for (std::int64_t w = dimensions == 3 ? std::max<std::int64_t>(z - 1, 0) : 0;
         w <= (dimensions == 3 ? std::min(z + 1, n - 1) : 0); ++w)
      for (std::int64_t v = std::max<std::int64_t>(y - 1, 0); v <= std::min(y + 1, n - 1); ++v)
        for (std::int64_t u = std::max<std::int64_t>(x - 1, 0); u <= std::min(x + 1, n - 1); ++u)
          use((w * n + v) * n + u);
  };
  return build(
      rows, rows,
      [&](std::int64_t i) {
        std::int64_t count = 0;
        neighbours(i, [&](std::int64_t) { ++count; });
        return count;
      },
      [&](std::int64_t i, std::int32_t* at, std::int32_t*) {
        neighbours(i, [&](std::int64_t column) { *at++ = static_cast<std::int32_t>(column); });
      });
}

}  // namespace

Csr laplacian27(std::int64_t n) { return stencil(3, n); }
Csr laplacian9(std::int64_t n) { return stencil(2, n); }

namespace {
template <class Length>
Csr in_band(std::int64_t rows, std::int64_t band, Length&& length) {
  Random random(7);
  band = std::min(band, rows);
  return build(rows, rows, length, [&](std::int64_t i, std::int32_t* begin, std::int32_t* end) {
    const std::int64_t low = std::clamp<std::int64_t>(i - band / 2, 0, rows - band);
    // One in each part of the band, so that they rise and none comes twice.
    const std::int64_t n = end - begin;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t from = low + band * k / n, to = low + band * (k + 1) / n;
      begin[k] = static_cast<std::int32_t>(from + below(random, to - from));
    }
  });
}
}  // namespace

Csr banded(std::int64_t rows, int width, std::int64_t band) {
  return in_band(rows, band, [&](std::int64_t) { return width; });
}

Csr random_lengths(std::int64_t rows, int longest, std::int64_t band) {
  Random lengths(17);
  return in_band(rows, band, [&](std::int64_t) { return below(lengths, longest + 1); });
}

Csr power_law(std::int64_t rows) {
  Random lengths(11), columns(13);
  constexpr double longest = 1e5;
  return build(
      rows, rows,
      [&](std::int64_t) {
        const double u = (unit(lengths) + 1) / 2;
        return static_cast<std::int64_t>(
            std::min({longest, static_cast<double>(rows), 1 / std::max(u, 1e-9)}));
      },
      [&](std::int64_t, std::int32_t* begin, std::int32_t* end) {
        const std::int64_t n = end - begin;
        for (std::int64_t k = 0; k < n; ++k) {
          const std::int64_t from = rows * k / n, to = rows * (k + 1) / n;
          begin[k] = static_cast<std::int32_t>(from + below(columns, to - from));
        }
      });
}

Buffer<double> random_vector(std::int64_t size, std::uint64_t seed) {
  Random random(seed);
  Buffer<double> v(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = unit(random);
  return v;
}

Buffer<float> random_floats(std::int64_t size, std::uint64_t seed) {
  Random random(seed);
  Buffer<float> v(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(unit(random));
  return v;
}

}  // namespace anabranch::bench
