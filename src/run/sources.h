#pragma once

#include <memory>
#include <span>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/source.h>

#include "scheduler/chunk_size.h"

/// The sources of a stage at run time: opened, and read together.
namespace anabranch::runtime {

/// Items 0, 1, ..., count - 1, each the scalar array holding its number.
std::shared_ptr<SourceBase> make_counter(std::int64_t count);
/// The sub-arrays of `array` along its outermost dimension, as views.
std::shared_ptr<SourceBase> make_rows(std::shared_ptr<detail::ArrayData> array);

/// Items [begin, end) of a chunk, sharing its memory. `infos` describe the chunk's arrays.
SourceChunk slice(const SourceChunk& chunk, const std::vector<ArrayInfo>& infos, std::int64_t begin,
                  std::int64_t end);

/// Several sources read in step: every chunk holds the same number of items of each. Of a source that gave
/// more than the others the rest is kept for the next chunk. The stream ends with the shortest, and
/// after `most` items: then no source is asked for another one.
class ZippedSources {
 public:
  explicit ZippedSources(std::vector<std::shared_ptr<SourceBase>> sources, std::int64_t most = INT64_MAX);
  /// False at the end. One SourceChunk per source.
  bool next(const Limit& limit, std::vector<SourceChunk>& chunks);
  bool in_memory() const;
  /// Whether one of them may have to wait for its next item.
  bool live() const;
  /// Whether the next item of one that does may be made of what became of the last.
  bool depends() const;
  /// Items of the whole stream, where a source knows.
  std::optional<std::int64_t> items() const;
  std::optional<std::int64_t> work() const;
  /// Of the whole stream, where both are known: items without their work would count as items of one
  /// element, and the end of the stream would be cut into chunks far too small.
  std::optional<scheduler::ChunkSize> extent() const;
  std::int64_t resident_bytes() const;
  /// Of what was read and is kept for the next chunk.
  std::int64_t kept_bytes() const;

 private:
  bool end();

  std::vector<std::shared_ptr<SourceBase>> sources_;
  std::vector<SourceChunk> read_;  ///< per source: what has not been given yet
  std::int64_t most_;
  bool over_ = false;
  std::int64_t items_before_ = 0;  ///< of the next chunk
};

}  // namespace anabranch::runtime
