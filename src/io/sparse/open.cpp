#include <algorithm>
#include <cstring>
#include <utility>

#include <anabranch/io/matrix.h>

#include <fmt/format.h>

#include "io/base/convert.h"
#include "io/base/csr_check.h"
#include "io/ragged/ragged_stream.h"
#include "io/sparse/csr_layout.h"
#include "io/sparse/matrix_market.h"
#include "io/sparse/transposed.h"

/// Opening a sparse matrix file of whichever kind.
namespace anabranch::io {

const char* name_of(MatrixFormat format) {
  switch (format) {
    case MatrixFormat::npz_stored:
      return "npz (stored)";
    case MatrixFormat::npz_deflated:
      return "npz (deflate)";
    case MatrixFormat::matrix_market:
      return "Matrix Market";
  }
  return "?";
}

namespace {

enum class Kind { zip, matrix_market };

/// By the first bytes, not by the name.
Kind kind_of(const detail::ReadFile& file) {
  char start[14] = {};
  const std::int64_t n = std::min<std::int64_t>(file.size(), sizeof start);
  file.read(0, start, n);
  if (std::memcmp(start, "PK", 2) == 0) return Kind::zip;
  if (std::memcmp(start, "%%MatrixMarket", 14) == 0) return Kind::matrix_market;
  throw DataError(file.name() +
                  (n == 0 ? ": the file is empty"
                          : ": neither an .npz file nor a Matrix Market file (by its first bytes)"));
}

void check_columns_fit(const std::string& name, ScalarType index, std::int64_t cols) {
  if (index == ScalarType::int32 && cols > std::int64_t{INT32_MAX} + 1)
    throw DataError(fmt::format("{}: {} columns cannot be numbered by int32", name, cols));
}

/// Throws unless the file's types are the asked ones or may be converted to them.
void check_types(const std::string& name, const CsrHeader& header, ScalarType index, ScalarType value,
                 bool convert) {
  if (header.index == index && header.value == value) return;
  const auto types = [](ScalarType i, ScalarType v) {
    return fmt::format("({}, {})", anabranch::name_of(i), anabranch::name_of(v));
  };
  if (!convert)
    throw DataError(
        fmt::format("{}: the file holds {}, but {} was asked for; open it with its own types, or with "
                    "OpenOptions::convert",
                    name, types(header.index, header.value), types(index, value)));
  if (!detail::convertible(header.index, index) || !detail::value_convertible(header.value, value))
    throw DataError(fmt::format("{}: {} cannot be converted to {}", name, types(header.index, header.value),
                                types(index, value)));
  check_columns_fit(name, index, header.cols);
}

}  // namespace

CsrHeader inspect_matrix(const std::string& path) {
  std::shared_ptr<const detail::ReadFile> file = detail::File::open(path);
  switch (kind_of(*file)) {
    case Kind::zip:
      return detail::open_npz(file).header;
    case Kind::matrix_market:
      return detail::read_matrix_market_header(*file).csr_header();
  }
  return {};
}

namespace detail {

namespace {

/// Refuses column numbers outside of [0, cols), which are stored as `type`.
CheckElements check_columns(const std::string& name, ScalarType type, std::int64_t cols) {
  return [=](const void* elements, std::int64_t count, std::int64_t first) {
    std::int64_t at = count, column = 0;
    const auto look = [&](const auto* columns) {
      at = first_outside(columns, count, cols);
      if (at != count) column = columns[at];
    };
    if (type == ScalarType::int32)
      look(static_cast<const std::int32_t*>(elements));
    else
      look(static_cast<const std::int64_t*>(elements));
    if (at == count) return;
    throw BadElement(
        fmt::format("{}: entry {} (byte {} of the array) is column {}, outside [0, {})", name, first + at,
                    (first + at) * static_cast<std::int64_t>(size_of(type)), column, cols),
        first + at);
  };
}

}  // namespace

RaggedLayout rows_of(CsrLayout matrix, ScalarType index, ScalarType value) {
  RaggedLayout rows{matrix.name, "row", "entries", std::move(matrix.indptr), {}, {}};
  auto check = check_columns(matrix.indices.name, matrix.indices.type, matrix.header.cols);
  rows.arrays.push_back(std::make_unique<StoredElements>(std::move(matrix.indices), index, std::move(check)));
  rows.arrays.push_back(std::make_unique<StoredElements>(std::move(matrix.values), value));
  return rows;
}

std::shared_ptr<SourceBase> open_csr(const std::shared_ptr<const ReadFile>& file, ScalarType index,
                                     ScalarType value, const OpenOptions& options) {
  CsrLayout layout;
  switch (kind_of(*file)) {
    case Kind::zip:
      layout = open_npz(file);
      check_types(file->name(), layout.header, index, value, options.convert);
      if (options.transpose) {
        check_columns_fit(file->name(), index, layout.header.rows);
        layout = transposed(std::move(layout), index, options);
      }
      break;
    case Kind::matrix_market: {
      const MatrixMarketHeader header = read_matrix_market_header(*file);
      CsrHeader stream = header.csr_header();
      if (options.transpose) std::swap(stream.rows, stream.cols);
      check_types(file->name(), stream, index, value, options.convert);
      layout = spool_matrix_market(*file, header, options);
      break;
    }
  }
  return std::make_shared<RaggedStream>(rows_of(std::move(layout), index, value), options.memory);
}

std::shared_ptr<SourceBase> open_csr(const std::string& path, ScalarType index, ScalarType value,
                                     const OpenOptions& options) {
  return open_csr(File::open(path), index, value, options);
}

}  // namespace detail
}  // namespace anabranch::io
