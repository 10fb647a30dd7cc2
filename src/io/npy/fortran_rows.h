#pragma once

#include <cstdint>
#include <vector>

#include "io/base/stored_elements.h"
#include "io/npy/npy_file.h"

/// Rows of an array that lies in a file in Fortran order.
namespace anabranch::io::detail {

/// A row's elements lie apart in the file, but those of neighbouring rows side by side: blocks of rows are read, one run
/// of elements for each position in a row, and turned around where rows are asked for.
class FortranRows {
 public:
  /// Of two dimensions or more. `memory` bounds a block: ResourceError where one row does not fit.
  FortranRows(const NpyFile& npy, ScalarType as, std::int64_t memory);

  std::int64_t resident_bytes() const;
  /// Rows [first, first + count), row-major, each part of the elements to its place.
  void read(std::int64_t first, std::int64_t count, const PartBytes& to);

 private:
  void read_block(std::int64_t first);
  void read_runs(std::int64_t rows);
  void copy_rows(std::int64_t first, std::int64_t count, const PartBytes& to) const;

  StoredElements elements_;
  std::shared_ptr<const ReadFile> file_;
  std::int64_t rows_, row_elements_;
  std::int64_t most_rows_;                         ///< of a block
  std::vector<std::int64_t> position_;             ///< in its row, of each run; empty: its number
  std::vector<std::vector<unsigned char>> block_;  ///< per part: run after run
  std::int64_t block_begin_ = 0, block_rows_ = 0;
};

}  // namespace anabranch::io::detail
