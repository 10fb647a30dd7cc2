#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <anabranch/element.h>

/// Test matrices of any size in bounded memory: `anabranch generate`.
namespace anabranch::apps {

enum class MatrixKind : std::uint8_t {
  laplacian2d,  ///< size^2 rows; 5- or 9-point stencil on a square grid
  laplacian3d,  ///< size^3 rows; 7- or 27-point stencil on a cube
  banded,       ///< size rows; `points` entries around the diagonal, random values
  powerlaw,     ///< size rows; row lengths 1..1e5, P(length >= n) = 1/n; columns spread over the whole width
  rmat,         ///< size (a power of two) rows; 16 edges a row, R-MAT with a, b, c, d = .57 .19 .19 .05
};

/// The kind of this name, if there is one.
std::optional<MatrixKind> matrix_kind(std::string_view name);

/// Whether the seed matters.
bool is_random(MatrixKind kind);

/// So that rows * 27 * 16 bytes stays far from 64 bits.
inline constexpr std::int64_t most_rows = std::int64_t{1} << 48;

struct GenerateOptions {
  std::int64_t size = 0;
  int points = 0;  ///< 0: the kind's usual number (5, 7, 9)
  std::uint64_t seed = 1;
  std::optional<ScalarType> index;         ///< int32 or int64; default int32 where it suffices
  ScalarType value = ScalarType::float64;  ///< or float32
  std::stop_token stop{};                  ///< a request ends the work with Cancelled; no file remains
};

struct GeneratedMatrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
};

/// Writes the matrix to `path`, an .npz or .mtx, whole or not at all. The result depends on kind and options
/// only: integer arithmetic and exactly rounded operations, no library random numbers. Columns rise within a
/// row, none twice. Throws RunError on options without meaning, IoError, Cancelled.
GeneratedMatrix generate_matrix(MatrixKind kind, const GenerateOptions& options, const std::string& path);

}  // namespace anabranch::apps
