#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <anabranch/element.h>
#include <anabranch/source.h>

#include "io/base/file.h"
#include "io/sparse/csr_layout.h"
#include "io/sparse/entry.h"

/// The rows of a sparse matrix as arrays that are written once, from the first row to the last, and then read as a
/// stream: nameless files in a spool folder, or memory.
namespace anabranch::io::detail {

/// One such array.
class WrittenArray {
 public:
  /// In the folder; null: in memory, room for `most` elements, which takes memory as it is used.
  WrittenArray(const std::string* folder, std::string name, ScalarType type, std::int64_t most);

  void append(const void* elements, std::int64_t count);
  std::int64_t count() const { return count_; }
  ScalarType type() const { return type_; }

  /// When all is written: what lies in the folder.
  StoredArray stored();
  /// When all is written: what lies in memory.
  std::shared_ptr<const void> memory() const { return memory_; }

 private:
  std::string name_;
  ScalarType type_;
  std::int64_t width_;
  std::int64_t count_ = 0;
  std::optional<BufferedWriter> file_;
  std::shared_ptr<unsigned char[]> memory_;
};

/// What the arrays hold: types of offsets and column numbers, and of values, where there are any. Where these are not
/// those of the entries, column numbers are widened, and of values the first bytes are kept.
struct RowTypes {
  ScalarType offset = ScalarType::int32;
  ScalarType column = ScalarType::int32;
  std::optional<ScalarType> value{};
};

/// IoError where the folder of `spool` (named for messages by `folder`) has no room for sorting so many entries, of
/// `entry_bytes` each, into so many rows. The rows of a header are not bounded by the file's size; their offsets need disk
/// space.
void check_spool_space(const File& spool, const std::string& folder, const std::string& name,
                       std::int64_t rows, std::int64_t entries, std::size_t entry_bytes,
                       const RowTypes& types);

class SortedRows {
 public:
  /// `rows` of them, with `most` entries; `folder` as above.
  SortedRows(const std::string* folder, std::string name, const RowTypes& types, std::int64_t rows,
             std::int64_t most);

  /// Entries sorted by row, none in a row before the last one's.
  template <class E>
  void append(std::span<const E> entries);
  /// All entries are there.
  void finish();

  std::int64_t entries() const { return columns_.count(); }
  /// Finished, in a folder.
  CsrLayout layout(const CsrHeader& header);
  /// Finished: the rows as a stream of vectors of columns, or of (column, value); `memory` as in OpenOptions.
  std::shared_ptr<SourceBase> source(std::int64_t memory);

 private:
  void end_rows_before(std::int64_t row, std::int64_t entries);

  std::string name_;
  bool in_memory_;
  std::int64_t rows_;
  std::int64_t row_ = 0;  ///< whose entries are being written
  WrittenArray offsets_, columns_;
  std::optional<WrittenArray> values_;
};

}  // namespace anabranch::io::detail
