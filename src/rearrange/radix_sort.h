#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rearrange/parallel.h"

/// A stable sort by unsigned keys, eight bits a pass from the least significant ones on, with a number beside each key
/// or without. Passes over bits that all keys have in common are left out. The first pass reads what is sorted where it
/// lies, the last one writes where it goes.
namespace anabranch::rearrange {

/// No number beside the key.
struct Nothing {};

template <class Key, class Number>
struct Keyed {
  Key key;
  [[no_unique_address]] Number number;
};

template <class Key, class Number>
class RadixSort {
  static constexpr bool has_numbers = !std::is_same_v<Number, Nothing>;
  static constexpr int digits = static_cast<int>(sizeof(Key));
  static constexpr std::size_t values = 256;
  using Item = Keyed<Key, Number>;
  using Counts = std::array<std::int64_t, values>;
  using BlockCounts = std::array<Counts, digits>;

 public:
  /// Of n elements, by the lowest `bits` bits of their keys.
  RadixSort(std::int64_t n, const Resources& resources, int bits = 8 * digits)
      : n_(n),
        resources_(resources),
        blocks_(n < large_part ? 1 : blocks_for(n, resources)),
        passes_(std::min(digits, (bits + 7) / 8)),
        counts_(std::make_unique_for_overwrite<BlockCounts[]>(static_cast<std::size_t>(blocks_))) {}

  /// `load(i)` is element i, `store(at, element)` puts one in its place. Loads are cheap: there are two of each.
  template <class Load, class Store>
  void run(Load&& load, Store&& store) {
    const std::vector<int> needed = digits_that_differ(load);
    if (needed.empty()) return each([&](std::int64_t i) { store(i, load(i)); });
    std::shared_ptr<void> owners[4];
    Buffer buffers[2];
    for (std::size_t b = 0; b < std::min<std::size_t>(2, needed.size() - 1); ++b) {
      buffers[b].keys = take<Key>(resources_, n_, owners[2 * b]);
      if constexpr (has_numbers) buffers[b].numbers = take<Number>(resources_, n_, owners[2 * b + 1]);
    }
    for (std::size_t p = 0; p < needed.size(); ++p) {
      const bool first = p == 0, last = p + 1 == needed.size();
      const Buffer from = buffers[(p + 1) % 2], to = buffers[p % 2];
      const auto read = [from](std::int64_t i) { return from[i]; };
      const auto write = [to](std::int64_t at, const Item& item) { to.put(at, item); };
      if (first && last)
        pass(needed[p], first, load, store);
      else if (first)
        pass(needed[p], first, load, write);
      else if (last)
        pass(needed[p], first, read, store);
      else
        pass(needed[p], first, read, write);
    }
  }

 private:
  struct Buffer {
    Key* keys = nullptr;
    Number* numbers = nullptr;

    Item operator[](std::int64_t i) const {
      if constexpr (has_numbers)
        return {keys[i], numbers[i]};
      else
        return {keys[i], {}};
    }
    void put(std::int64_t at, const Item& item) const {
      keys[at] = item.key;
      if constexpr (has_numbers) numbers[at] = item.number;
    }
  };

  static std::size_t digit(Key key, int d) { return static_cast<std::size_t>(key >> (8 * d) & 0xff); }

  std::span<BlockCounts> all_counts() { return {counts_.get(), static_cast<std::size_t>(blocks_)}; }

  template <class F>
  void each(F&& f) {
    each_block(n_, blocks_, resources_, [&](const Block& block) { each_element(block, resources_, f); });
  }

  /// Counts all digits at once.
  template <class Load>
  std::vector<int> digits_that_differ(Load&& load) {
    each_block(n_, blocks_, resources_, [&](const Block& block) {
      auto& counts = counts_[static_cast<std::size_t>(block.number)];
      for (Counts& of_digit : counts) of_digit.fill(0);
      each_element(block, resources_, [&](std::int64_t i) {
        const Key key = load(i).key;
        for (int d = 0; d < digits; ++d) ++counts[static_cast<std::size_t>(d)][digit(key, d)];
      });
    });
    std::vector<int> needed;
    for (int d = 0; d < passes_ && n_ > 0; ++d) {
      const std::size_t v = digit(load(0).key, d);
      std::int64_t alike = 0;
      for (const auto& counts : all_counts()) alike += counts[static_cast<std::size_t>(d)][v];
      if (alike < n_) needed.push_back(d);
    }
    return needed;
  }

  template <class Read, class Write>
  void pass(int d, bool first, Read&& read, Write&& write) {
    const auto of_digit = static_cast<std::size_t>(d);
    // Of one block the counts hold for every pass, of several only as long as the elements are where they were.
    if (!first && blocks_ > 1)
      each_block(n_, blocks_, resources_, [&](const Block& block) {
        Counts counts{};
        each_element(block, resources_, [&](std::int64_t i) { ++counts[digit(read(i).key, d)]; });
        counts_[static_cast<std::size_t>(block.number)][of_digit] = counts;
      });
    // Block by block, as the counters of one lie together. Threads would take longer to meet than one takes for this:
    // counters of 192 blocks are 400 KB.
    Counts first_of{};
    for (auto& counts : all_counts())
      for (std::size_t v = 0; v < values; ++v) first_of[v] += std::exchange(counts[of_digit][v], first_of[v]);
    std::int64_t next = 0;
    for (std::int64_t& first_of_value : first_of) next += std::exchange(first_of_value, next);
    each_block(n_, blocks_, resources_, [&](const Block& block) {
      Counts to = counts_[static_cast<std::size_t>(block.number)][of_digit];
      for (std::size_t v = 0; v < values; ++v) to[v] += first_of[v];
      each_element(block, resources_, [&](std::int64_t i) {
        const Item item = read(i);
        write(to[digit(item.key, d)]++, item);
      });
    });
  }

  std::int64_t n_;
  const Resources& resources_;
  std::int64_t blocks_;
  int passes_;
  std::unique_ptr<BlockCounts[]> counts_;  ///< per block
};

}  // namespace anabranch::rearrange
