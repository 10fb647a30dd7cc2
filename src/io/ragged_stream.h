#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <anabranch/source.h>

#include "buffer_pool.h"
#include "ragged_pick.h"
#include "stored_elements.h"

/// Items of different lengths in files, chunk by chunk: the rows of a CSR matrix, the vectors of a ragged pair.
namespace anabranch::io::detail {

/// Where each item ends, and the arrays in which its elements lie.
struct RaggedLayout {
  std::string name;  ///< for messages
  /// What they are called there.
  const char* item = "item";
  const char* elements = "elements";
  StoredArray offsets;  ///< items + 1 of int32 or int64; the first one is known to be 0
  std::vector<std::unique_ptr<StoredElements>> arrays;  ///< equally many elements of each, one at least
  std::vector<std::shared_ptr<const ReadFile>> files;   ///< those without a checksum
};

class RaggedStream final : public SourceBase {
 public:
  /// `memory` bounds what is held and the size of a chunk.
  RaggedStream(RaggedLayout layout, std::int64_t memory);

  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override;
  std::unique_ptr<SourcePiece> split(const Limit& limit) override;
  void rewind() override;
  std::int64_t resident_bytes() const override;

 private:
  struct Items {
    std::int64_t count = 0;
    std::int64_t elements = 0;
    std::int64_t first_element = 0;
    BufferPool::Buffer offsets;
  };
  class Piece;

  Items take_items(const Limit& limit);
  template <class P>
  Items next_items(const Limit& limit);
  template <class P>
  void refill();
  void pass(const Items& items);
  bool at_end() const { return item_ == items_; }
  void check_unchanged() const;
  static void fill(SourceChunk& chunk, Items items, std::vector<StoredElements::Buffers> arrays);

  RaggedLayout layout_;
  std::int64_t items_;     ///< of the stream
  std::int64_t elements_;  ///< of the stream
  RaggedCost cost_;
  std::int64_t chunk_limit_;
  SourceInfo info_;

  std::int64_t item_ = 0;     ///< the next one to hand out
  std::int64_t element_ = 0;  ///< its first element
  /// A piece of the offsets (of the file's type): ends of the items from item_ on.
  std::vector<std::int64_t> block_;
  std::int64_t block_begin_ = 0;
  std::int64_t block_end_ = 0;
  std::int64_t offsets_read_ = 0;  ///< taken from the cursor
  std::int64_t last_offset_ = 0;
  std::int64_t expected_items_ = 0;
  std::optional<Items> refused_;  ///< chosen, but more than there was memory for

  std::shared_ptr<BufferPool> offset_pool_ = std::make_shared<BufferPool>();
};

}  // namespace anabranch::io::detail
