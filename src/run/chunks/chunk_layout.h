#pragma once

#include <optional>
#include <span>
#include <vector>

#include <anabranch/source.h>

#include "run/memory/storage.h"
#include "run/sources/item_range.h"
#include "scheduler/executor.h"

/// Chunks of items that are handed from one stage to another: laid out as the reader expects them, joined of parts.
namespace anabranch::runtime {

/// Elements of all items of an array of a chunk together; and bytes of one.
std::int64_t elements_of(const ArrayChunk& array, const ArrayInfo& info, std::int64_t items);
std::int64_t width_of(const ArrayInfo& info);

/// Of one item along a dimension.
std::int64_t extent_of(const ArrayChunk& array, const ArrayInfo& info, std::int64_t item, std::size_t d);

/// The same items laid out as `to` says, whose offsets are int64: a uniform extent may become one that every item
/// has of its own, never the other way round. Elements stay where they are.
SourceChunk with_layout(const SourceChunk& chunk, const std::vector<ArrayInfo>& from,
                        const std::vector<ArrayInfo>& to);

/// Consecutive chunks of a source as one, in memory of its own and laid out as they are.
SourceChunk joined(const std::vector<SourceChunk>& chunks, const std::vector<ArrayInfo>& infos);

/// Joins ranges of items of chunks that are laid out as `infos` says, with int64 offsets.
class ChunkBuilder {
 public:
  ChunkBuilder(const std::vector<ArrayInfo>& infos, MemoryPool& memory, scheduler::Executor& executor);

  std::int64_t items() const { return items_; }
  std::int64_t bytes() const { return bytes_; }
  /// Elements of the widest array, or items.
  std::int64_t work() const;
  /// Copies the items of rising ranges.
  void append(const SourceChunk& chunk, std::span<const ItemRange> ranges);
  /// What has been appended; the builder is empty again.
  SourceChunk finish();

  /// How many items of the range can be appended until one of the limits is reached; at least one where there are none so
  /// far.
  std::int64_t fitting(const SourceChunk& chunk, const ItemRange& range, const Limit& limit) const;

 private:
  struct Part {
    std::vector<GrowingBuffer> data;
    std::optional<GrowingBuffer> offsets;
    std::vector<std::optional<GrowingBuffer>> extents;
    std::int64_t elements = 0;
  };
  void begin();
  void append(Part& part, const ArrayInfo& info, const ArrayChunk& array, std::span<const ItemRange> ranges,
              std::int64_t items);

  const std::vector<ArrayInfo>& infos_;
  MemoryPool& memory_;
  scheduler::Executor& executor_;
  std::vector<Part> parts_;
  std::int64_t items_ = 0, bytes_ = 0;
};

}  // namespace anabranch::runtime
