#include "io/ragged/item_ends.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/csr_check.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t block_bytes = 64 << 10;   // of offsets that are read one after the other
constexpr std::int64_t window_bytes = 16 << 10;  // of those that are looked at at once
constexpr std::int64_t ahead_bytes = 4 << 20;    // of those that are asked for where reading them takes long
constexpr std::chrono::microseconds slow_look{20};  // much more than memory takes
constexpr int guesses = 4;                          // until the search for the last item halves what is left

/// What the offsets of a file have to be.
struct OffsetRules {
  std::string name;      ///< of the array, for messages
  std::int64_t count;    ///< offsets
  const char* elements;  ///< what they count
  std::int64_t most;     ///< of them
};

/// DataError unless the offsets [first, first + n), whose predecessor is `before`, rise as they should.
template <class P>
void check_offsets(const OffsetRules& rules, const P* offsets, std::int64_t n, std::int64_t first, P before) {
  if (const auto at = first_decrease(offsets, n, before); at != n)
    throw DataError(fmt::format("{}: offset {} is {}, smaller than the one before it, {}", rules.name,
                                first + at, offsets[at], at == 0 ? before : offsets[at - 1]));
  if (offsets[n - 1] > rules.most) {
    const std::int64_t at = std::upper_bound(offsets, offsets + n, rules.most) - offsets;
    throw DataError(fmt::format("{}: offset {} is {}, but there are only {} {}", rules.name, first + at,
                                offsets[at], rules.most, rules.elements));
  }
  if (first + n == rules.count && offsets[n - 1] != rules.most)
    throw DataError(fmt::format("{}: ends with {}, but there are {} {}", rules.name, offsets[n - 1],
                                rules.most, rules.elements));
}

/// What both ways of reading offsets have in common.
template <class P>
class Ends : public ItemEnds {
 public:
  void use_memory(const ChunkMemory& memory) final { pool_->use_memory(memory); }

 protected:
  static constexpr std::int64_t width = sizeof(P);

  Ends(StoredArray offsets, const Elements& elements)
      : offsets_(std::move(offsets)),
        rules_{offsets_.name, offsets_.count, elements.name, elements.count},
        cost_(elements.cost) {}

  /// The cursor stands behind the first offset, which is known to be 0.
  void begin_again() {
    offsets_.cursor->rewind(offsets_.begin);
    P zero;
    offsets_.cursor->read(&zero, width);
  }
  std::int64_t items() const { return rules_.count - 1; }

  StoredArray offsets_;
  OffsetRules rules_;
  RaggedCost cost_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  std::int64_t item_ = 0;     ///< the next one to choose
  std::int64_t element_ = 0;  ///< its first element
};

/// Of an array that is decompressed from first to last: they are read while items are chosen.
template <class P>
class EndsInOrder final : public Ends<P> {
 public:
  EndsInOrder(StoredArray offsets, const ItemEnds::Elements& elements)
      : Ends<P>(std::move(offsets), elements), block_(block_bytes / sizeof(P)) {}

  std::int64_t resident_bytes() const override { return block_bytes + offsets_.cursor->resident_bytes(); }

  void rewind() override {
    this->begin_again();
    item_ = element_ = block_begin_ = block_end_ = 0;
    offsets_read_ = 1;
    last_offset_ = 0;
  }

  ChosenItems choose(const Limit& limit) override {
    const std::int64_t left = this->items() - item_;
    const std::int64_t most = std::min(
        {left, std::max<std::int64_t>(limit.items, 1), std::max<std::int64_t>(limit.bytes / width, 1)});
    // The number of items is not known yet: take room for as many as last time, doubled when too little.
    std::int64_t room = std::min(most, std::max<std::int64_t>(expected_items_ + expected_items_ / 8, 1024));
    ChosenItems out{.first = item_, .first_element = element_};
    out.offsets = pool_->take((room + 1) * width);
    auto* offsets = static_cast<P*>(out.offsets.memory.get());
    offsets[0] = 0;
    while (out.count < left) {
      if (block_begin_ == block_end_) refill();
      const P* ends = block_.data() + block_begin_;
      const std::int64_t here = block_end_ - block_begin_;
      const std::int64_t fit = items_that_fit(ends, here, element_, out.count, this->cost_, limit);
      if (out.count + fit > room) {
        room = std::min(most, std::max(2 * room, out.count + fit));
        move_to(out, offsets, room);
      }
      const auto base = static_cast<P>(element_);
      P* to = offsets + out.count + 1;
      for (std::int64_t i = 0; i < fit; ++i) to[i] = static_cast<P>(ends[i] - base);
      out.count += fit;
      block_begin_ += fit;
      if (fit < here) break;
    }
    out.elements = offsets[out.count];
    expected_items_ = out.count;
    const std::int64_t used = (out.count + 1) * width;
    if (out.offsets.capacity > used + used / 8 + 8192) move_to(out, offsets, out.count);
    item_ += out.count;
    element_ += out.elements;
    return out;
  }

  void read(ChosenItems&) const override {}
  void pass(const ChosenItems&) override {}

 private:
  using Ends<P>::offsets_, Ends<P>::rules_, Ends<P>::pool_, Ends<P>::item_, Ends<P>::element_, Ends<P>::width;

  void refill() {
    const std::int64_t n =
        std::min<std::int64_t>(static_cast<std::int64_t>(block_.size()), rules_.count - offsets_read_);
    offsets_.cursor->read(block_.data(), n * width);
    check_offsets(rules_, block_.data(), n, offsets_read_, last_offset_);
    offsets_read_ += n;
    last_offset_ = block_[static_cast<std::size_t>(n - 1)];
    block_begin_ = 0;
    block_end_ = n;
  }

  void move_to(ChosenItems& out, P*& offsets, std::int64_t room) {
    auto place = pool_->take((room + 1) * width);
    std::memcpy(place.memory.get(), offsets, static_cast<std::size_t>((out.count + 1) * width));
    out.offsets = std::move(place);
    offsets = static_cast<P*>(out.offsets.memory.get());
  }

  std::vector<P> block_;  ///< ends of the items from item_ on, from block_begin_ to block_end_
  std::int64_t block_begin_ = 0, block_end_ = 0;
  std::int64_t offsets_read_ = 0;  ///< taken from the cursor
  P last_offset_ = 0;
  std::int64_t expected_items_ = 0;
};

/// Of an array that can be read anywhere. Items are chosen by looking for the last one that fits, starting where it
/// should be; all offsets are read and checked later, by the thread that reads the items.
template <class P>
class EndsAnywhere final : public Ends<P> {
 public:
  EndsAnywhere(StoredArray offsets, const ItemEnds::Elements& elements)
      : Ends<P>(std::move(offsets), elements) {}

  std::int64_t resident_bytes() const override { return window_bytes + offsets_.cursor->resident_bytes(); }

  void rewind() override {
    this->begin_again();
    item_ = element_ = 0;
    window_begin_ = window_end_ = 0;
    elements_an_item_ =
        static_cast<double>(rules_.most) / static_cast<double>(std::max<std::int64_t>(this->items(), 1));
  }

  ChosenItems choose(const Limit& limit) override {
    const std::int64_t most = std::clamp<std::int64_t>(limit.items, 1, this->items() - item_);
    Known fit{0, element_};      // so many are known to fit
    std::optional<Known> unfit;  // and so many not to
    const auto first_unfit = [&] { return unfit ? unfit->items : most + 1; };
    for (int looks = 0; first_unfit() - fit.items > 1; ++looks) {
      const std::int64_t between = first_unfit() - 1;  // from fit.items + 1 to here
      const std::int64_t guess =
          looks < guesses ? this->guess(limit, fit, unfit, most) : (fit.items + first_unfit()) / 2;
      look_at(item_ + std::clamp(guess, fit.items + 1, between));
      const std::int64_t begin = std::max(fit.items + 1, window_begin_ - item_);
      const std::int64_t end = std::min(between, window_end_ - 1 - item_) + 1;
      const P* const ends = window_.data() + (item_ + begin - window_begin_);
      check_between(ends[0], ends[end - begin - 1], item_ + end - 1, fit, unfit);
      const std::int64_t n = items_that_fit(ends, end - begin, element_, begin - 1, this->cost_, limit);
      if (n > 0) fit = {begin - 1 + n, ends[n - 1]};
      if (n < end - begin) unfit = Known{begin + n, ends[n]};
    }
    ChosenItems out{
        .first = item_, .count = fit.items, .first_element = element_, .elements = fit.end - element_};
    elements_an_item_ = static_cast<double>(out.elements) / static_cast<double>(out.count);
    if (window_begin_ <= item_ + 1 && item_ + out.count < window_end_) give_from_window(out);
    item_ += out.count;
    element_ = fit.end;
    return out;
  }

  void read(ChosenItems& items) const override {
    if (items.offsets.memory) return;
    P* const offsets = begin_offsets(items);
    const auto base = static_cast<P>(items.first_element);
    P before = base;
    for (std::int64_t i = 0; i < items.count; i += block_bytes / width) {
      const std::int64_t n = std::min(block_bytes / width, items.count - i);
      const std::int64_t first = items.first + 1 + i;
      items.sum = crc32_of_both(items.sum, read_offsets(offsets + i, n, first), n * width);
      check_offsets(rules_, offsets + i, n, first, before);
      before = offsets[i + n - 1];
      for (std::int64_t j = i; j < i + n; ++j) offsets[j] = static_cast<P>(offsets[j] - base);
    }
    if (before - base != items.elements) throw_changed();
  }

  void pass(const ChosenItems& items) override { offsets_.cursor->pass(items.count * width, items.sum); }

 private:
  using Ends<P>::offsets_, Ends<P>::rules_, Ends<P>::pool_, Ends<P>::item_, Ends<P>::element_, Ends<P>::width;

  /// So many of the items end there.
  struct Known {
    std::int64_t items, end;
  };

  [[noreturn]] void throw_changed() const { throw DataError(rules_.name + ": changed while it was read"); }

  /// Where the ends of items go.
  P* begin_offsets(ChosenItems& items) const {
    items.offsets = pool_->take((items.count + 1) * width);
    auto* const offsets = static_cast<P*>(items.offsets.memory.get());
    offsets[0] = 0;
    return offsets + 1;
  }

  /// Few items: their offsets are there already.
  void give_from_window(ChosenItems& items) const {
    P* const offsets = begin_offsets(items);
    const P* const from = window_.data() + (items.first + 1 - window_begin_);
    items.sum = crc32(0, from, items.count * width);
    const auto base = static_cast<P>(items.first_element);
    for (std::int64_t i = 0; i < items.count; ++i) offsets[i] = static_cast<P>(from[i] - base);
  }

  std::uint32_t read_offsets(P* to, std::int64_t n, std::int64_t first) const {
    return offsets_.cursor->read_at(offsets_.begin + first * width, to, n * width);
  }

  /// How much of the limit a chunk of so many items is.
  double share(const Limit& limit, double items, double elements) const {
    const double bytes = (items + 1) * static_cast<double>(this->cost_.per_item) +
                         elements * static_cast<double>(this->cost_.per_element);
    return std::max({items / static_cast<double>(limit.items), elements / static_cast<double>(limit.work),
                     bytes / static_cast<double>(limit.bytes)});
  }

  /// As many items as fill the limit if elements are spread evenly between what is known.
  std::int64_t guess(const Limit& limit, const Known& fit, const std::optional<Known>& unfit,
                     std::int64_t most) const {
    const auto items = static_cast<double>(fit.items), elements = static_cast<double>(fit.end - element_);
    const double more = static_cast<double>(unfit ? unfit->items : most) - items;
    const double more_elements = unfit ? static_cast<double>(unfit->end - fit.end) : more * elements_an_item_;
    const double low = share(limit, items, elements),
                 high = share(limit, items + more, elements + more_elements);
    const double part = (1 - low) / (high - low);  // no number where a limit is 0
    return fit.items + static_cast<std::int64_t>(part > 0 ? more * std::min(part, 1.0) : 0);
  }

  /// Reads the offsets around number `at`, where they are not those that were read before: none of items that have been
  /// chosen.
  void look_at(std::int64_t at) {
    if (at >= window_begin_ && at < window_end_) return;
    const auto size = static_cast<std::int64_t>(window_.size());
    window_begin_ = std::max(item_ + 1, std::min(at - size / 2, rules_.count - size));
    window_end_ = window_begin_;
    const std::int64_t n = std::min(size, rules_.count - window_begin_);
    const auto before = std::chrono::steady_clock::now();
    read_offsets(window_.data(), n, window_begin_);
    if (std::chrono::steady_clock::now() - before > slow_look)
      offsets_.cursor->prefetch(offsets_.begin + window_begin_ * width, ahead_bytes);
    const P last = window_[static_cast<std::size_t>(n - 1)];
    const bool rise = first_decrease(window_.data(), n, static_cast<P>(element_)) == n;
    if (!rise || last > rules_.most || (window_begin_ + n == rules_.count && last != rules_.most))
      find_fault(window_begin_ + n);
    window_end_ = window_begin_ + n;
  }

  /// Ends that were just looked at, the last of them offset number `at`, lie between those that are known.
  void check_between(std::int64_t first, std::int64_t last, std::int64_t at, const Known& fit,
                     const std::optional<Known>& unfit) const {
    if (first < fit.end) find_fault(at + 1);
    if (unfit && last > unfit->end) find_fault(item_ + unfit->items + 1);
  }

  /// Something is wrong before offset number `end`.
  [[noreturn]] void find_fault(std::int64_t end) const {
    std::vector<P> block(block_bytes / sizeof(P));
    auto before = static_cast<P>(element_);
    for (std::int64_t first = item_ + 1; first < end; first += static_cast<std::int64_t>(block.size())) {
      const std::int64_t n = std::min(static_cast<std::int64_t>(block.size()), end - first);
      read_offsets(block.data(), n, first);
      check_offsets(rules_, block.data(), n, first, before);
      before = block[static_cast<std::size_t>(n - 1)];
    }
    throw_changed();
  }

  std::array<P, window_bytes / sizeof(P)> window_;  ///< offsets from number window_begin_ to window_end_
  std::int64_t window_begin_ = 0, window_end_ = 0;
  double elements_an_item_ = 0;  ///< of those chosen last
};

template <class P>
std::unique_ptr<ItemEnds> ends_of(StoredArray offsets, const ItemEnds::Elements& elements) {
  if (offsets.cursor->reads_anywhere())
    return std::make_unique<EndsAnywhere<P>>(std::move(offsets), elements);
  return std::make_unique<EndsInOrder<P>>(std::move(offsets), elements);
}

}  // namespace

std::unique_ptr<ItemEnds> item_ends(StoredArray offsets, const ItemEnds::Elements& elements) {
  return offsets.type == ScalarType::int32 ? ends_of<std::int32_t>(std::move(offsets), elements)
                                           : ends_of<std::int64_t>(std::move(offsets), elements);
}

}  // namespace anabranch::io::detail
