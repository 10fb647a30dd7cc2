#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "rearrange/parallel.h"

/// A stable sort of unsigned keys, by eight bits a pass from the least significant ones on, with a number beside each
/// key or without. Passes over bits that all keys have in common are left out.
namespace anabranch::rearrange {

/// No number beside the key.
struct Nothing {};

template <class Key, class Number>
class RadixSort {
  static constexpr bool has_numbers = !std::is_same_v<Number, Nothing>;
  static constexpr int digits = static_cast<int>(sizeof(Key));
  static constexpr std::size_t values = 256;
  using Counts = std::array<std::int64_t, values>;

 public:
  /// Both arrays of n elements; `keys` and `numbers` are sorted in place, with the help of the spare ones.
  RadixSort(Key* keys, Number* numbers, Key* spare_keys, Number* spare_numbers, std::int64_t n,
            const Resources& resources)
      : keys_(keys),
        spare_keys_(spare_keys),
        numbers_(numbers),
        spare_numbers_(spare_numbers),
        n_(n),
        resources_(resources),
        blocks_(n < large_part ? 1 : blocks_for(n, resources)),
        counts_(static_cast<std::size_t>(blocks_)) {}

  /// By the lowest `bits` bits.
  void run(int bits = 8 * digits) {
    const int passes = std::min(digits, (bits + 7) / 8);
    const std::vector<bool> needed = digits_that_differ(passes);
    Key* const to = keys_;
    for (int d = 0; d < passes; ++d)
      if (needed[static_cast<std::size_t>(d)]) pass(8 * d);
    if (keys_ == to) return;
    each_block(n_, blocks_, resources_, [&](const Block& block) {
      const auto size = static_cast<std::size_t>(block.end - block.begin);
      std::memcpy(spare_keys_ + block.begin, keys_ + block.begin, size * sizeof(Key));
      if constexpr (has_numbers)
        std::memcpy(spare_numbers_ + block.begin, numbers_ + block.begin, size * sizeof(Number));
    });
  }

 private:
  std::vector<bool> digits_that_differ(int passes) {
    std::vector<Key> differ(static_cast<std::size_t>(blocks_));
    const Key first = n_ > 0 ? keys_[0] : Key{};
    each_block(n_, blocks_, resources_, [&](const Block& block) {
      Key bits = 0;
      for (std::int64_t i = block.begin; i < block.end; ++i) bits |= static_cast<Key>(keys_[i] ^ first);
      differ[static_cast<std::size_t>(block.number)] = bits;
    });
    Key bits = 0;
    for (const Key each : differ) bits |= each;
    std::vector<bool> needed;
    for (int d = 0; d < passes; ++d) needed.push_back((bits >> (8 * d) & 0xff) != 0);
    return needed;
  }

  void pass(int shift) {
    each_block(n_, blocks_, resources_, [&](const Block& block) {
      Counts counts{};
      for (std::int64_t i = block.begin; i < block.end; ++i) ++counts[keys_[i] >> shift & 0xff];
      counts_[static_cast<std::size_t>(block.number)] = counts;
    });
    std::int64_t next = 0;
    for (std::size_t v = 0; v < values; ++v)
      for (Counts& counts : counts_) next += std::exchange(counts[v], next);
    each_block(n_, blocks_, resources_, [&](const Block& block) {
      scatter(block, shift, counts_[static_cast<std::size_t>(block.number)]);
    });
    std::swap(keys_, spare_keys_);
    std::swap(numbers_, spare_numbers_);
  }

  void scatter(const Block& block, int shift, Counts& to) {
    if (n_ < large_part) {
      for (std::int64_t i = block.begin; i < block.end; ++i) {
        const std::int64_t at = to[keys_[i] >> shift & 0xff]++;
        spare_keys_[at] = keys_[i];
        if constexpr (has_numbers) spare_numbers_[at] = numbers_[i];
      }
      return;
    }
    // Each value's elements are collected in a cache line or two, and written together: there are more values than
    // the processor keeps pages in mind.
    constexpr std::size_t held = 64 / sizeof(Key);
    struct Line {
      alignas(64) Key keys[held];
      [[no_unique_address]] std::conditional_t<has_numbers, std::array<Number, held>, Nothing> numbers;
    };
    std::vector<Line> lines(values);
    std::array<std::uint8_t, values> filled{};
    const auto flush = [&](std::size_t v, std::size_t count) {
      std::memcpy(spare_keys_ + to[v], lines[v].keys, count * sizeof(Key));
      if constexpr (has_numbers)
        std::memcpy(spare_numbers_ + to[v], lines[v].numbers.data(), count * sizeof(Number));
      to[v] += static_cast<std::int64_t>(count);
    };
    for (std::int64_t i = block.begin; i < block.end; ++i) {
      const auto v = static_cast<std::size_t>(keys_[i] >> shift & 0xff);
      const std::size_t at = filled[v];
      lines[v].keys[at] = keys_[i];
      if constexpr (has_numbers) lines[v].numbers[at] = numbers_[i];
      if (at + 1 == held) {
        flush(v, held);
        filled[v] = 0;
      } else {
        filled[v] = static_cast<std::uint8_t>(at + 1);
      }
    }
    for (std::size_t v = 0; v < values; ++v) flush(v, filled[v]);
  }

  Key *keys_, *spare_keys_;
  Number *numbers_, *spare_numbers_;
  std::int64_t n_;
  const Resources& resources_;
  std::int64_t blocks_;
  std::vector<Counts> counts_;
};

}  // namespace anabranch::rearrange
