#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <anabranch/error.h>

/// The RunErrors of a program that has no meaning for its values. All back ends use these functions, so that
/// a message is the same wherever the program runs:
///
///     gather: index 7 out of range 0..4 in item 7,123 (smvm.cpp:12)
///
/// Inside a stream the item is named, counted from 0 over the whole stream. Where several checks fail, the
/// error is of the first chunk with a failure, in it of the first failing operation, of that operation's
/// failures the first, in the order in which what they are computed for is stored.
namespace anabranch::ir {

inline constexpr std::int64_t no_item = -1;
/// Larger extents are refused wherever they are computed, so that sums of some of them and of positions do not wrap around.
inline constexpr std::int64_t most_extent = std::int64_t{1} << 59;

/// Which items messages name: those of a chunk, one that everything is computed for, or none.
class ItemNumbers {
 public:
  static constexpr ItemNumbers none() { return {}; }
  static constexpr ItemNumbers from(std::int64_t first) { return {first, true}; }
  static constexpr ItemNumbers always(std::int64_t item) { return {item, false}; }
  /// Of the chunk's item i.
  constexpr std::int64_t of(std::int64_t i) const {
    return first_ != no_item && counts_ ? first_ + i : first_;
  }

 private:
  constexpr ItemNumbers() = default;
  constexpr ItemNumbers(std::int64_t first, bool counts) : first_(first), counts_(counts) {}

  std::int64_t first_ = no_item;
  bool counts_ = false;
};

/// Throws RunError "<operation>: <what is wrong>[ in item <item>] (<place>)".
[[noreturn]] void raise(std::string_view operation, std::string_view wrong, const Place& place,
                        std::int64_t item = no_item);

// What is wrong.
std::string out_of_range(std::int64_t index, std::int64_t extent);
std::string divided_by_zero(std::int64_t dividend);
std::string divided_by_zero(std::uint64_t dividend);
std::string division_overflows(std::int64_t dividend);  ///< by -1
std::string empty_fold();                               ///< that has no seed
std::string negative_extent(std::int64_t extent);
std::string too_many_elements(std::span<const std::int64_t> extents);
std::string other_size(std::int64_t more);  ///< more elements than the array that is reshaped has; or fewer
/// Of an operation that makes items; what `windows` and `tiles` are given may be none.
std::string negative_items(std::string_view operation, std::int64_t items);
/// Of windows of a stream, or of how far they are apart; empty: nothing is wrong.
std::string wrong_windows(std::span<const std::int64_t> shape, std::int64_t hop);
/// Of a block of a signal, whose rows are not as those of the windows.
std::string other_rows(std::int64_t block, std::span<const std::int64_t> extents,
                       std::span<const std::int64_t> window);
/// Of how often an element is repeated, or of how many items a sequence inside of an item has.
std::string negative_count(std::string_view operation, std::int64_t count);
std::string other_extent(std::int64_t extent, std::int64_t elements);  ///< than there are elements

/// "7,123".
std::string grouped(std::int64_t number);

}  // namespace anabranch::ir
