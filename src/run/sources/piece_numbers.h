#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace anabranch::runtime {

/// The numbers of the first items of pieces, which are handed out in the order of the stream and counted in any: of some it is
/// known only when they have been read how many items they have. Thread-safe.
class PieceNumbers {
 public:
  /// The next piece of the stream, of so many items; negative: they are still to be counted. Which one it is, from 0 on.
  std::int64_t add(std::int64_t items);
  /// How many items it has.
  void count(std::int64_t piece, std::int64_t items);
  /// Of the whole stream; nullopt as long as a piece before it has not been counted.
  std::optional<std::int64_t> first_item(std::int64_t piece) const;
  /// Nobody asks for it, or for those before it, any more.
  void forget(std::int64_t piece);

 private:
  struct Piece {
    std::int64_t items;
    std::int64_t first = -1;  ///< negative: not known yet
  };
  void number();

  mutable std::mutex mutex_;
  std::deque<Piece> pieces_;    ///< from piece `forgotten_` on
  std::int64_t forgotten_ = 0;  ///< so many
  std::int64_t counted_ = 0;    ///< so many pieces, and all before them
  std::int64_t items_ = 0;      ///< of those
};

}  // namespace anabranch::runtime
