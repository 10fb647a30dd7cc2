#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <anabranch/io.h>

#include "buffer_pool.h"
#include "csr_layout.h"
#include "csr_pick.h"

/// The rows of a CSR matrix in a file, chunk by chunk.
namespace anabranch::io::detail {

class CsrStream final : public SourceBase {
 public:
  /// Hands out columns as `index` and values as `value`, converting where the file has other types (the
  /// caller has checked that it may). `memory` bounds what is held and the size of a chunk.
  CsrStream(CsrLayout layout, ScalarType index, ScalarType value, std::int64_t memory);

  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override;
  std::unique_ptr<SourcePiece> split(const Limit& limit) override;
  void rewind() override;
  std::int64_t resident_bytes() const override;

 private:
  struct Rows {
    std::int64_t count = 0;
    std::int64_t entries = 0;
    std::int64_t first_entry = 0;
    BufferPool::Buffer offsets;
  };

  class Piece;
  /// Reads the next bytes of an array.
  using Read = std::function<void(void* into, std::int64_t bytes)>;
  using Check = std::function<void(const void* elements, std::int64_t count, std::int64_t first)>;

  Rows take_rows(const Limit& limit);
  template <class P>
  Rows next_rows(const Limit& limit);
  template <class P>
  void refill();
  void check_columns(ScalarType type, const void* columns, std::int64_t count, std::int64_t first);
  BufferPool::Buffer read_columns(const Read& read, std::int64_t count, std::int64_t first);
  BufferPool::Buffer read_values(const Read& read, std::int64_t count);
  BufferPool::Buffer read_entries(const StoredArray& array, ScalarType as, BufferPool& pool,
                                  std::int64_t count, const Read& read, const Check& check);
  static void fill(SourceChunk& chunk, Rows rows, BufferPool::Buffer columns, BufferPool::Buffer values);

  CsrLayout layout_;
  ScalarType index_;
  ScalarType value_;
  CsrCost cost_;
  std::int64_t chunk_limit_;
  SourceInfo info_;

  std::int64_t row_ = 0;    ///< the next row to hand out
  std::int64_t entry_ = 0;  ///< its first entry, = indptr[row_]
  /// A piece of indptr (of the file's type): ends of the rows from row_ on.
  std::vector<std::int64_t> block_;
  std::int64_t block_begin_ = 0;
  std::int64_t block_end_ = 0;
  std::int64_t offsets_read_ = 0;  ///< elements of indptr taken from the cursor
  std::int64_t last_offset_ = 0;
  std::int64_t expected_rows_ = 0;
  std::vector<unsigned char> staging_;  ///< file elements on their way to another type

  std::shared_ptr<BufferPool> offset_pool_ = std::make_shared<BufferPool>();
  std::shared_ptr<BufferPool> index_pool_ = std::make_shared<BufferPool>();
  std::shared_ptr<BufferPool> value_pool_ = std::make_shared<BufferPool>();
};

}  // namespace anabranch::io::detail
