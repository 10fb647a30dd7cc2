#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <anabranch/element.h>

#include "io/base/cursor.h"

/// The header of NumPy's NPY format, versions 1 to 3 (numpy.lib.format).
namespace anabranch::io::detail {

/// More are in no file, whatever its header says.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 56;

struct NpyFormat {
  std::string dtype;                 ///< as written: "<f8", "|S3"
  std::optional<ScalarType> scalar;  ///< unless it is text
  int parts = 1;                     ///< scalars of an element: 2 of a complex number
  std::int64_t item_bytes = 0;
  bool fortran = false;
  std::vector<std::int64_t> shape;
  std::int64_t header_bytes = 0;  ///< the array's first byte
  std::int64_t count = 0;         ///< product of the shape

  std::int64_t data_bytes() const { return count * item_bytes; }
};

/// Reads a header from the cursor, whose array has `total_bytes` bytes in all. DataError, naming `name`,
/// unless the header is well formed, the type is one of ours (or text) and header and elements fill exactly
/// `total_bytes`.
NpyFormat read_npy_format(Cursor& cursor, std::int64_t total_bytes, const std::string& name);

/// "<f8" and the like; of two parts, a complex number, "<c16".
std::string npy_dtype(ScalarType type, int parts = 1);
/// As messages name elements of so many parts: "double", "complex double".
std::string npy_type_name(ScalarType type, int parts);

/// A header of exactly so many bytes, so that a longer shape can be written over it later: enough for the shapes of our
/// arrays, and for any that NumPy allows.
inline constexpr std::int64_t npy_header_bytes = 128, npy_header_bytes_of_any = 192;
std::string npy_header(const std::string& dtype, std::span<const std::int64_t> shape,
                       std::int64_t bytes = npy_header_bytes);

}  // namespace anabranch::io::detail
