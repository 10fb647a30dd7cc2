#pragma once

#include <cstdint>
#include <memory>

#include <anabranch/source.h>

namespace anabranch::runtime {

/// Consecutive items of a piece that a source has handed out: all of them, or some where the rest is for a later chunk. The
/// first part that is read reads the piece, which is kept as long as there are parts. It is destroyed before the source.
class PartOfPiece {
 public:
  /// All of it, that the source was asked for with `limit`. Throws RunError if it is not what a piece may be.
  PartOfPiece(std::unique_ptr<SourcePiece> piece, const SourceInfo& info, const Limit& limit);

  /// Negative where only reading them tells; then it is not parted.
  std::int64_t items() const { return end_ - begin_; }
  /// As far as they are known before it has been read.
  std::int64_t work() const;
  /// Of the whole piece: it is there as long as the part is.
  std::int64_t bytes() const;
  /// Of what has been read, perhaps by another part.
  std::int64_t bytes_read() const;
  /// The first `items`, fewer than there are; the others stay.
  PartOfPiece take_off(std::int64_t items);

  /// Once, on any thread, beside other parts.
  SourceChunk read() const;
  /// In the order of the stream. The piece is complete with its last item.
  void complete() const;

 private:
  class Piece;
  PartOfPiece(std::shared_ptr<Piece> piece, std::int64_t begin, std::int64_t end);

  std::shared_ptr<Piece> piece_;
  std::int64_t begin_, end_;
};

}  // namespace anabranch::runtime
