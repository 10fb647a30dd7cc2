#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include <anabranch/source.h>

#include "run/sources/part_of_piece.h"
#include "run/sources/piece_numbers.h"
#include "scheduler/chunk_size.h"

/// The sources of a stage, read together.
namespace anabranch::runtime {

/// Consecutive items of several sources in step, handed out and still to be read. It is destroyed before the sources.
class ZippedPiece {
 public:
  /// One list for each source: pieces that follow each other and together have at least as many items.
  using Pieces = std::vector<std::vector<PartOfPiece>>;
  /// The next piece. `items`: of all sources in step; negative: of the only one, which counts them when it reads them.
  ZippedPiece(const std::vector<std::shared_ptr<SourceBase>>& sources, PieceNumbers& numbers, Pieces pieces,
              std::int64_t items);

  /// Number of its first item in the stream; nullopt as long as a piece before it has not been counted.
  std::optional<std::int64_t> first() const { return numbers_.first_item(number_); }
  /// Negative until it has been read, where only that tells.
  std::int64_t items() const { return items_; }
  /// Of all sources, as far as they are known before it has been read.
  std::int64_t work() const { return work_; }
  std::int64_t bytes() const { return bytes_; }
  /// Once, on any thread, beside other pieces. Parts that follow each other: one, unless the sources' pieces end in
  /// different places. Of each part a chunk for each source; their items are still to be numbered.
  std::vector<std::vector<SourceChunk>> read();
  /// In the order of the stream.
  void complete();

 private:
  std::vector<std::vector<SourceChunk>> read_and_count();

  const std::vector<std::shared_ptr<SourceBase>>& sources_;
  PieceNumbers& numbers_;
  std::int64_t number_;
  Pieces pieces_;
  std::int64_t items_;
  std::int64_t work_ = 0, bytes_ = 0;
};

/// Several sources read in step: every chunk holds the same number of items of each. Of a source that gave
/// more than the others the rest is kept for the next chunk. The stream ends with the shortest, and
/// after `most` items: then no source is asked for another one.
class ZippedSources {
 public:
  explicit ZippedSources(std::vector<std::shared_ptr<SourceBase>> sources, std::int64_t most = INT64_MAX);
  /// False at the end. One SourceChunk per source.
  bool next(const Limit& limit, std::vector<SourceChunk>& chunks);
  /// The next items, to be read by whoever, in place of `next` for a whole pass; null at the end. They are counted where they
  /// have to be, whatever the limit says.
  std::unique_ptr<ZippedPiece> split(const Limit& limit);
  /// Whether it is known that there are no further items.
  bool is_over() const;
  /// Nothing more is read: what has been read is given back, and the sources are let go.
  void close();
  /// Whether that gains: one of them gives pieces that are still to be read, and none has to read to give some.
  bool splits() const;
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
  std::vector<double> shares() const;
  bool read(std::size_t s, const Limit& own, Limit& left);
  bool known_to_be_over(std::size_t s) const;
  template <class HasItem>
  bool ends_before_failure(std::size_t failed, HasItem&& has_item);
  bool read_or_end(std::size_t s, const Limit& own, Limit& left);
  bool read_in_step(Limit& mine);
  struct SplitOff {
    std::int64_t items = 0, bytes = 0;
  };
  static SplitOff size_of(const std::vector<PartOfPiece>& pieces);
  bool split_off(std::size_t s, const Limit& limit);
  bool split_off_or_end(std::size_t s, const Limit& limit);
  SplitOff split_off_until(std::size_t s, std::int64_t items, const Limit& limit);
  std::vector<PartOfPiece> take_off(std::size_t s, std::int64_t items);
  std::unique_ptr<ZippedPiece> take_whole();
  bool end();

  std::vector<std::shared_ptr<SourceBase>> sources_;
  std::vector<SourceChunk> read_;      ///< per source: what has not been given yet
  std::vector<double> bytes_of_item_;  ///< per source, as it was read last; negative: nothing has been read
  std::int64_t most_;
  /// Per source: pieces that have been split off and wait until those of the others have been, too.
  ZippedPiece::Pieces split_off_;
  PieceNumbers numbers_;
  std::vector<bool> ended_;  ///< per source: it has no more to split off
  /// Per source: it is not asked again. That is told when its next item is needed.
  std::vector<std::exception_ptr> failed_;
  bool over_ = false;
  std::int64_t items_before_ = 0;  ///< of the next chunk
};

}  // namespace anabranch::runtime
