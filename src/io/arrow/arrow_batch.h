#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/arrow/arrow_schema.h"
#include "io/base/buffer_pool.h"

/// One batch of an Arrow stream as chunks.
namespace anabranch::io::detail {

/// The first of `count` positions from `first` on where the array has a null; without one the position behind them.
std::int64_t first_null(const ArrowArray& array, std::int64_t first, std::int64_t count);

/// The rows of one column of a batch: where they lie, once looked at.
class ArrowRows {
 public:
  /// `array`: of the column, in the batch that `owner` keeps; of a record batch the rows from `first` on, `count` of
  /// them. `row`: the number of the first one in the stream. Throws DataError where there is a null, or the buffers
  /// contradict each other.
  ArrowRows(const std::string& stream, const ArrowColumn& column, const ArrowArray& array, std::int64_t first,
            std::int64_t count, std::int64_t row, std::shared_ptr<const void> owner);

  /// Elements and bytes of the first rows of those from `begin` on.
  std::int64_t elements(std::int64_t begin, std::int64_t rows) const;
  std::int64_t bytes(std::int64_t begin, std::int64_t rows) const;
  /// Of these bytes so many have to be copied: elements that are bits, or not aligned, and offsets that are not, or of lists
  /// inside of lists.
  std::int64_t to_copy(std::int64_t begin, std::int64_t rows) const;
  ArrayChunk chunk(std::int64_t begin, std::int64_t rows, std::int64_t& copied) const;

 private:
  struct Component {
    const ArrowArray* array = nullptr;
    std::int64_t first =
        0;  ///< of its elements: the one that offsets count from, or the first of the first row
    ScalarType type = ScalarType::int8;
  };

  [[noreturn]] void fail(const std::string& why) const;
  void check_shape(const ArrowArray& array, std::int64_t buffers, std::int64_t children) const;
  void check_nulls(const ArrowArray& array, std::int64_t first, std::int64_t count,
                   std::int64_t per_row) const;
  std::int64_t first_wrong_offset() const;
  void check_offsets() const;
  void find_components(const ArrowArray& array, std::int64_t first, std::int64_t last, std::int64_t zero,
                       std::int64_t per_row);
  std::int64_t row_of(std::int64_t element, std::int64_t per_row) const;
  std::int64_t offset(std::int64_t row) const;
  const unsigned char* data_of(const Component& c) const;
  bool is_copied(const Component& c) const;
  std::int64_t offset_bytes() const { return wide_ ? 8 : 4; }
  bool offsets_are_aligned() const;
  std::shared_ptr<const void> component(const Component& c, std::int64_t begin, std::int64_t end,
                                        std::int64_t& copied) const;
  std::shared_ptr<const void> offsets(std::int64_t begin, std::int64_t rows, std::int64_t& copied) const;

  const std::string& stream_;
  const ArrowColumn& column_;
  std::int64_t count_, row_;
  std::shared_ptr<const void> owner_;
  const unsigned char* offsets_ = nullptr;  ///< of the first row
  bool wide_ = false;                       ///< offsets of 64 bits
  std::int64_t inner_ = 1;  ///< elements of what an offset counts, or of a row where there are none
  std::int64_t element_bytes_ = 0;
  std::vector<Component> components_;
};

}  // namespace anabranch::io::detail
