#pragma once

#include <anabranch/io.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "matrices.h"

/// Matrices as sources of rows.
namespace anabranch::bench {

inline auto view_of(const Csr& a) {
  return io::csr_view(a.rows, a.cols, a.indptr.span(), a.indices.span(), a.values.span());
}

/// A matrix in an .npz file that is gone when its owner is.
struct TemporaryMatrix {
  std::string path;
  explicit TemporaryMatrix(const Csr& a)
      : path((std::filesystem::temp_directory_path() / fmt::format("anabranch-bench-{}.npz", ::getpid()))
                 .string()) {
    io::CsrWriter writer(path, a.cols, ScalarType::int32, ScalarType::float64);
    constexpr std::int64_t rows_at_once = 65536;
    for (std::int64_t row = 0; row < a.rows; row += rows_at_once) {
      const std::int64_t end = std::min(a.rows, row + rows_at_once);
      std::vector<std::int64_t> lengths;
      for (std::int64_t i = row; i < end; ++i)
        lengths.push_back(a.indptr[static_cast<std::size_t>(i) + 1] - a.indptr[static_cast<std::size_t>(i)]);
      const auto from = static_cast<std::size_t>(a.indptr[static_cast<std::size_t>(row)]);
      const auto count = static_cast<std::size_t>(a.indptr[static_cast<std::size_t>(end)]) - from;
      writer.append<std::int32_t, double>(lengths, a.indices.span().subspan(from, count),
                                          a.values.span().subspan(from, count));
    }
    writer.commit();
  }
  TemporaryMatrix(const TemporaryMatrix&) = delete;
  TemporaryMatrix& operator=(const TemporaryMatrix&) = delete;
  ~TemporaryMatrix() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace anabranch::bench
