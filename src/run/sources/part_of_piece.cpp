#include "run/sources/part_of_piece.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "run/sources/sources.h"

namespace anabranch::runtime {

class PartOfPiece::Piece {
 public:
  Piece(std::unique_ptr<SourcePiece> piece, const SourceInfo& info, std::int64_t most)
      : piece_(std::move(piece)), info_(info), items_(piece_->items()), most_(most) {}

  const SourcePiece& given() const { return *piece_; }
  std::int64_t items() const { return items_; }
  std::int64_t bytes_read() const { return bytes_read_; }

  SourceChunk read(std::int64_t begin, std::int64_t end) {
    if (begin == 0 && end == items_) return read_all();  // by its only part
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    if (chunk_.items == 0) {
      try {
        chunk_ = read_all();
      } catch (...) {
        failure_ = std::current_exception();
        throw;
      }
      bytes_read_ = chunk_.bytes;
    }
    SourceChunk part = slice(chunk_, info_.arrays, begin, end);
    part.bytes = chunk_.bytes;
    items_read_ += end - begin;
    if (items_read_ == items_) {  // nobody comes for more
      chunk_ = {};
      bytes_read_ = 0;
    }
    return part;
  }
  void complete(std::int64_t end) {
    if (end == items_) piece_->complete();
  }

 private:
  SourceChunk read_all() {
    SourceChunk chunk;
    piece_->read(chunk);
    const bool right = items_ < 0 ? chunk.items > 0 && chunk.items <= most_ : chunk.items == items_;
    if (!right) raise_wrong_items(info_, chunk.items, items_ < 0 ? most_ : items_);
    check_chunk(info_, chunk);
    return chunk;
  }

  std::unique_ptr<SourcePiece> piece_;
  const SourceInfo& info_;
  const std::int64_t items_;
  const std::int64_t most_;  ///< that may be found where they have not been counted
  std::mutex mutex_;
  SourceChunk chunk_;  ///< where a part has read it
  std::atomic<std::int64_t> bytes_read_ = 0;
  std::int64_t items_read_ = 0;  ///< by parts
  std::exception_ptr failure_;
};

PartOfPiece::PartOfPiece(std::shared_ptr<Piece> piece, std::int64_t begin, std::int64_t end)
    : piece_(std::move(piece)), begin_(begin), end_(end) {}

PartOfPiece::PartOfPiece(std::unique_ptr<SourcePiece> piece, const SourceInfo& info, const Limit& limit)
    : piece_(std::make_shared<Piece>(std::move(piece), info, limit.items)), begin_(0), end_(piece_->items()) {
  const SourcePiece& given = piece_->given();
  const std::int64_t items = given.items();
  if (items == 0 || items > limit.items || (items < 0 && limit.counted))
    raise_wrong_items(info, items, limit.items);
  if (given.work() < 0 || given.bytes() < 0)
    throw RunError(fmt::format("source {}: a piece of {} elements and {} bytes", info.name, given.work(),
                               given.bytes()));
}

std::int64_t PartOfPiece::work() const {
  const std::int64_t work = piece_->given().work();
  if (items() == piece_->items()) return work;
  return static_cast<std::int64_t>(static_cast<double>(work) / static_cast<double>(piece_->items()) *
                                   static_cast<double>(items()));
}

std::int64_t PartOfPiece::bytes() const { return piece_->given().bytes(); }
std::int64_t PartOfPiece::bytes_read() const { return piece_->bytes_read(); }

PartOfPiece PartOfPiece::take_off(std::int64_t items) {
  const std::int64_t begin = std::exchange(begin_, begin_ + items);
  return {piece_, begin, begin_};
}

SourceChunk PartOfPiece::read() const { return piece_->read(begin_, end_); }
void PartOfPiece::complete() const { piece_->complete(end_); }

}  // namespace anabranch::runtime
