#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <anabranch/source.h>

#include "io/base/stored_elements.h"
#include "io/ragged/item_ends.h"

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
  void use_memory(const ChunkMemory& memory) override;

 private:
  class Piece;

  ChosenItems take_items(const Limit& limit);
  bool at_end() const { return item_ == items_; }
  void check_unchanged() const;
  template <class F>
  std::vector<StoredElements::Buffers> read_arrays(const ChosenItems& items, F read_array) const;
  static void fill(SourceChunk& chunk, ChosenItems items, std::vector<StoredElements::Buffers> arrays);

  RaggedLayout layout_;
  std::int64_t items_;  ///< of the stream
  RaggedCost cost_;
  std::unique_ptr<ItemEnds> ends_;
  std::int64_t memory_, chunk_limit_;
  SourceInfo info_;
  std::int64_t item_ = 0;               ///< the next one to hand out
  std::optional<ChosenItems> refused_;  ///< chosen, but more than there was memory for
};

}  // namespace anabranch::io::detail
