#include "run/sources/piece_numbers.h"

namespace anabranch::runtime {

std::int64_t PieceNumbers::add(std::int64_t items) {
  const std::lock_guard lock(mutex_);
  pieces_.push_back({items});
  number();
  return forgotten_ + std::ssize(pieces_) - 1;
}

void PieceNumbers::count(std::int64_t piece, std::int64_t items) {
  const std::lock_guard lock(mutex_);
  pieces_[static_cast<std::size_t>(piece - forgotten_)].items = items;
  number();
}

std::optional<std::int64_t> PieceNumbers::first_item(std::int64_t piece) const {
  const std::lock_guard lock(mutex_);
  const std::int64_t first = pieces_[static_cast<std::size_t>(piece - forgotten_)].first;
  return first < 0 ? std::nullopt : std::optional(first);
}

void PieceNumbers::forget(std::int64_t piece) {
  const std::lock_guard lock(mutex_);
  for (; forgotten_ <= piece && forgotten_ < counted_; ++forgotten_) pieces_.pop_front();
}

/// Of each piece behind those that have been counted, and of the one that has not.
void PieceNumbers::number() {
  for (; counted_ < forgotten_ + std::ssize(pieces_); ++counted_) {
    Piece& piece = pieces_[static_cast<std::size_t>(counted_ - forgotten_)];
    piece.first = items_;
    if (piece.items < 0) return;
    items_ += piece.items;
  }
}

}  // namespace anabranch::runtime
