#pragma once

#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>

#include <anabranch/array.h>
#include <anabranch/source.h>

/// A C++ range of arrays as a bulk source: items are copied one after the other into the buffers of a chunk. One that is a
/// chunk by itself stays where it lies, if the range keeps its items.
namespace anabranch::detail {

/// The untyped part: collects items into a chunk's flat buffers.
class ANABRANCH_API ItemPacker {
 public:
  /// `shape`: every item must have it (regular); nothing: items may differ.
  /// `at`: where the range was streamed in, for messages. `items_stay`: nobody writes to an item that has been added.
  ItemPacker(std::vector<ScalarType> scalars, int rank, std::optional<std::vector<std::int64_t>> shape,
             Place at, bool items_stay = false);
  ~ItemPacker();
  ItemPacker(const ItemPacker&) = delete;
  ItemPacker& operator=(const ItemPacker&) = delete;

  const ArrayInfo& info() const { return info_; }
  /// Adds the item, if it is the first or keeps the chunk within `limit`; says whether. Throws RunError if
  /// it has not the declared shape, ItemTooBig if it is the first and too much for the memory, ProgramError if it is an
  /// empty handle or lies in memory that is written.
  bool add(const std::shared_ptr<ArrayData>& item, std::int64_t number, const Limit& limit);
  std::int64_t items() const;
  std::int64_t elements() const;
  std::int64_t bytes() const;
  void clear();
  /// Hands the collected chunk over and starts a new one.
  void take(SourceChunk& chunk);

 private:
  struct Impl;
  ArrayInfo info_;
  Place at_;
  bool items_stay_;
  std::unique_ptr<Impl> impl_;
};

/// Whether the items of a range lie in memory, as far as its type tells: those of a container, or of
/// contiguous memory, also behind views::all. A view may compute or wait.
template <class Range>
inline constexpr bool lies_in_memory = std::ranges::contiguous_range<Range> ||
                                       (std::ranges::forward_range<Range> && !std::ranges::view<Range> &&
                                        std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>>);
template <class Range>
inline constexpr bool lies_in_memory<std::ranges::ref_view<Range>> = lies_in_memory<Range>;
template <class Range>
inline constexpr bool lies_in_memory<std::ranges::owning_view<Range>> = lies_in_memory<Range>;

template <class Range, class A>
class RangeSource final : public SourceBase {
 public:
  /// `live`: nothing: as the range's type tells.
  RangeSource(Range range, std::optional<Index<A::rank>> shape, std::optional<bool> live, bool independent,
              Place at)
      : range_(std::move(range)), packer_(scalars(), A::rank, extents(shape), at, lies_in_memory<Range>) {
    info_.name = "range";
    info_.arrays = {packer_.info()};
    info_.rewindable = std::ranges::forward_range<Range>;
    info_.live = live.value_or(!lies_in_memory<Range>);
    info_.independent = independent;
    if constexpr (std::ranges::sized_range<Range>)
      info_.items = static_cast<std::int64_t>(std::ranges::size(range_));
  }

  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (failed_) std::rethrow_exception(failed_);
    try {
      collect(limit);
    } catch (const ItemTooBig&) {
      throw;  // it is the first of the chunk
    } catch (...) {
      failed_ = std::current_exception();
      if (packer_.items() == 0) throw;
      // What came before is a chunk.
    }
    if (packer_.items() == 0) return false;
    packer_.take(chunk);
    return true;
  }

  void rewind() override {
    if constexpr (std::ranges::forward_range<Range>) {
      at_.reset();
      item_.reset();
      advance_ = false;
      failed_ = nullptr;
      packer_.clear();
      number_ = 0;
    } else {
      SourceBase::rewind();
    }
  }

 private:
  void collect(const Limit& limit) {
    if (!at_)
      at_ = std::ranges::begin(range_);
    else if (advance_)
      ++*at_;
    advance_ = false;
    while (*at_ != std::ranges::end(range_)) {
      if (!item_) item_ = **at_;
      if (!packer_.add(item_->erased(), number_, limit)) break;
      item_.reset();
      ++number_;
      if (packer_.items() >= limit.items || packer_.bytes() >= limit.bytes ||
          packer_.elements() >= limit.work || is_over(limit)) {
        advance_ = true;  // the increment waits for the next call: it may block or throw
        break;
      }
      ++*at_;
    }
  }
  bool is_over(const Limit& limit) const {
    using Clock = std::chrono::steady_clock;
    return limit.stop.stop_requested() ||
           (info_.live && limit.until != Clock::time_point::max() && Clock::now() >= limit.until);
  }
  static std::vector<ScalarType> scalars() {
    constexpr auto& s = Element<typename A::value_type>::scalars;
    return {s.begin(), s.end()};
  }
  static std::optional<std::vector<std::int64_t>> extents(const std::optional<Index<A::rank>>& shape) {
    if (!shape) return std::nullopt;
    return std::vector<std::int64_t>(shape->at.begin(), shape->at.end());
  }

  Range range_;
  ItemPacker packer_;
  SourceInfo info_;
  std::optional<std::ranges::iterator_t<Range>> at_;
  std::optional<A> item_;  ///< at at_, where it did not fit into the chunk before
  bool advance_ = false;
  std::exception_ptr failed_;  ///< of the range: it has no more items
  std::int64_t number_ = 0;
};

}  // namespace anabranch::detail
