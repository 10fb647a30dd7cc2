#pragma once

#include <cstdint>

#include <anabranch/io/matrix.h>

#include "io/base/file.h"
#include "io/sparse/csr_layout.h"

/// Matrix Market coordinate files (https://math.nist.gov/MatrixMarket/formats.html).
namespace anabranch::io::detail {

enum class MarketField : std::uint8_t { real, integer, unsigned_integer, pattern };
enum class MarketSymmetry : std::uint8_t { general, symmetric, skew_symmetric };

struct MatrixMarketHeader {
  MarketField field = MarketField::real;
  MarketSymmetry symmetry = MarketSymmetry::general;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;  ///< lines that follow
  std::int64_t begin = 0;    ///< byte where they begin
  std::int64_t line = 0;     ///< number of their first line, from 1

  bool integers() const { return field == MarketField::integer || field == MarketField::unsigned_integer; }
  /// Entries of the stream, at most: symmetry gives every entry a second one.
  std::int64_t most_stream_entries() const {
    return symmetry == MarketSymmetry::general ? entries : 2 * entries;
  }
  CsrHeader csr_header() const;
};

/// Reads banner, comments and size line. DataError, too, where the file is too short for its entries.
MatrixMarketHeader read_matrix_market_header(const ReadFile& file);

/// Sorts the entries by row and column (of the transposed matrix, where that is asked for) into a spool file, holding at
/// most options.memory bytes.
CsrLayout spool_matrix_market(const ReadFile& file, const MatrixMarketHeader& header,
                              const OpenOptions& options);

}  // namespace anabranch::io::detail
