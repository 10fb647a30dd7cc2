#include "io/sparse/entry_sort.h"

#include <array>
#include <bit>
#include <utility>

namespace anabranch::io::detail {

namespace {

constexpr int digit_bits = 8;
constexpr std::size_t digit_values = 1 << digit_bits;

/// One stable pass of a radix sort on a digit of `key(entry)`; false if all entries have the same digit.
template <class E, class Key>
bool radix_pass(const E* from, E* to, std::size_t n, int shift, Key key) {
  std::array<std::size_t, digit_values> place{};
  const auto digit = [&](const E& e) { return (key(e) >> shift) & (digit_values - 1); };
  for (std::size_t i = 0; i < n; ++i) ++place[digit(from[i])];
  if (place[digit(from[0])] == n) return false;
  std::size_t sum = 0;
  for (auto& p : place) sum += std::exchange(p, sum);
  for (std::size_t i = 0; i < n; ++i) to[place[digit(from[i])]++] = from[i];
  return true;
}

/// Sorts by the key, least significant digit first, between two buffers; `from` is where the entries are.
template <class E, class Key>
void radix_sort(E*& from, E*& to, std::size_t n, Key key) {
  // Digits in which no two entries differ need no pass; where the keys rise already, none does.
  std::uint64_t differ = 0;
  bool sorted = true;
  for (std::size_t i = 1; i < n; ++i) {
    differ |= key(from[i]) ^ key(from[i - 1]);
    sorted &= key(from[i - 1]) <= key(from[i]);
  }
  if (sorted) return;
  for (int shift = 0; shift < static_cast<int>(std::bit_width(differ)); shift += digit_bits)
    if (((differ >> shift) & (digit_values - 1)) != 0 && radix_pass(from, to, n, shift, key))
      std::swap(from, to);
}

}  // namespace

template <class E>
Sorted<E> sort_and_join(std::span<E> entries, std::span<E> scratch) {
  const std::size_t n = entries.size();
  Sorted<E> out;
  if (n == 0) return out;
  const auto row = [](const E& e) { return static_cast<std::uint64_t>(e.row); };
  const auto col = [](const E& e) { return static_cast<std::uint64_t>(e.col); };
  E* from = entries.data();
  E* to = scratch.data();
  bool sorted = true;
  for (std::size_t i = 1; i < n; ++i)
    sorted &=
        from[i - 1].row < from[i].row || (from[i - 1].row == from[i].row && from[i - 1].col <= from[i].col);
  if (!sorted) {
    radix_sort(from, to, n, col);
    radix_sort(from, to, n, row);
  }
  E* to_keep = entries.data();
  for (std::size_t i = 0; i < n;) {
    E joined = from[i++];
    for (; i < n && from[i].row == joined.row && from[i].col == joined.col; ++i) {
      const Joined how = join(joined, from[i]);
      if (how == Joined::not_at_all) break;
      if (how == Joined::rounded && !out.rounded) out.rounded = joined;
    }
    to_keep[out.kept++] = joined;
  }
  return out;
}

template Sorted<Entry<std::int32_t>> sort_and_join(std::span<Entry<std::int32_t>>,
                                                   std::span<Entry<std::int32_t>>);
template Sorted<Entry<std::int64_t>> sort_and_join(std::span<Entry<std::int64_t>>,
                                                   std::span<Entry<std::int64_t>>);
template Sorted<Entry<std::int32_t, std::uint64_t>> sort_and_join(
    std::span<Entry<std::int32_t, std::uint64_t>>, std::span<Entry<std::int32_t, std::uint64_t>>);
template Sorted<Entry<std::int64_t, std::uint64_t>> sort_and_join(
    std::span<Entry<std::int64_t, std::uint64_t>>, std::span<Entry<std::int64_t, std::uint64_t>>);
template Sorted<Link<std::int32_t>> sort_and_join(std::span<Link<std::int32_t>>,
                                                  std::span<Link<std::int32_t>>);
template Sorted<Link<std::int64_t>> sort_and_join(std::span<Link<std::int64_t>>,
                                                  std::span<Link<std::int64_t>>);

}  // namespace anabranch::io::detail
