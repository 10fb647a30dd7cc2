#include "rearrange_peers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <unordered_map>

#include <oneapi/tbb.h>

namespace anabranch::bench {

namespace {
/// f(first, last) of blocks, by so many threads.
template <class F>
void in_blocks(std::int64_t n, std::int64_t block, int threads, F f) {
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(std::int64_t{0}, (n + block - 1) / block,
                      [&](std::int64_t b) { f(b, b * block, std::min(n, (b + 1) * block)); });
  });
}
}  // namespace

void radix_sort(std::vector<std::int32_t>& values, std::vector<std::int32_t>& buffer) {
  constexpr int digits = 4;
  std::array<std::array<std::size_t, 256>, digits> places{};
  const auto digit = [](std::int32_t v, int d) {
    return (static_cast<std::uint32_t>(v) ^ 0x80000000u) >> (8 * d) & 255;
  };
  for (const std::int32_t v : values)
    for (int d = 0; d < digits; ++d) ++places[static_cast<std::size_t>(d)][digit(v, d)];
  for (auto& of_digit : places) {
    std::size_t before = 0;
    for (std::size_t& count : of_digit) before += std::exchange(count, before);
  }
  for (int d = 0; d < digits; ++d) {
    auto& place = places[static_cast<std::size_t>(d)];
    for (const std::int32_t v : values) buffer[place[digit(v, d)]++] = v;
    values.swap(buffer);
  }
}

void parallel_sort(std::vector<std::int32_t>& values, int threads) {
  tbb::task_arena arena(threads);
  arena.execute([&] { tbb::parallel_sort(values.begin(), values.end()); });
}

namespace {
/// Each thread adds what element i brings to a place of its own; then these are added.
template <class Add>
void added_by_tbb(std::int64_t n, std::int64_t* sums, std::int64_t bins, int threads, Add&& add) {
  tbb::enumerable_thread_specific<std::vector<std::int64_t>> own(
      [=] { return std::vector<std::int64_t>(static_cast<std::size_t>(bins)); });
  in_blocks(n, 1 << 20, threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    auto& mine = own.local();
    for (std::int64_t i = begin; i < end; ++i) add(mine, i);
  });
  std::fill_n(sums, bins, 0);
  for (const auto& mine : own)
    for (std::int64_t b = 0; b < bins; ++b) sums[b] += mine[static_cast<std::size_t>(b)];
}
}  // namespace

void histogram_loop(const std::int32_t* numbers, std::int64_t n, std::int64_t* counts, std::int64_t bins) {
  std::fill_n(counts, bins, 0);
  for (std::int64_t i = 0; i < n; ++i) ++counts[numbers[i]];
}

void histogram_by_tbb(const std::int32_t* numbers, std::int64_t n, std::int64_t* counts, std::int64_t bins,
                      int threads) {
  added_by_tbb(n, counts, bins, threads, [=](std::vector<std::int64_t>& mine, std::int64_t i) {
    ++mine[static_cast<std::size_t>(numbers[i])];
  });
}

void sums_at_loop(const std::int32_t* places, const std::int64_t* values, std::int64_t n, std::int64_t* sums,
                  std::int64_t bins) {
  std::fill_n(sums, bins, 0);
  for (std::int64_t i = 0; i < n; ++i) sums[places[i]] += values[i];
}

void sums_at_by_tbb(const std::int32_t* places, const std::int64_t* values, std::int64_t n,
                    std::int64_t* sums, std::int64_t bins, int threads) {
  added_by_tbb(n, sums, bins, threads, [=](std::vector<std::int64_t>& mine, std::int64_t i) {
    mine[static_cast<std::size_t>(places[i])] += values[i];
  });
}

std::int64_t filter_loop(const float* from, std::int64_t n, float limit, float* to) {
  return std::copy_if(from, from + n, to, [=](float x) { return x > limit; }) - to;
}

std::int64_t filter_by_tbb(const float* from, std::int64_t n, float limit, float* to, int threads) {
  constexpr std::int64_t block = 1 << 18;
  std::vector<std::int64_t> first(static_cast<std::size_t>((n + block - 1) / block) + 1);
  in_blocks(n, block, threads, [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
    first[static_cast<std::size_t>(b) + 1] =
        std::count_if(from + begin, from + end, [=](float x) { return x > limit; });
  });
  for (std::size_t b = 1; b < first.size(); ++b) first[b] += first[b - 1];
  in_blocks(n, block, threads, [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
    filter_loop(from + begin, end - begin, limit, to + first[static_cast<std::size_t>(b)]);
  });
  return first.back();
}

std::vector<std::pair<std::int32_t, float>> sums_by_hash(const std::int32_t* keys, const float* values,
                                                         std::int64_t n) {
  std::unordered_map<std::int32_t, float> sums;
  for (std::int64_t i = 0; i < n; ++i) sums[keys[i]] += values[i];
  std::vector<std::pair<std::int32_t, float>> out(sums.begin(), sums.end());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::pair<std::int32_t, float>> sums_by_sort(const std::int32_t* keys, const float* values,
                                                         std::int64_t n) {
  std::vector<std::pair<std::int32_t, float>> pairs(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) pairs[static_cast<std::size_t>(i)] = {keys[i], values[i]};
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < pairs.size(); ++i)
    if (pairs[i].first == pairs[last].first)
      pairs[last].second += pairs[i].second;
    else
      pairs[++last] = pairs[i];
  if (!pairs.empty()) pairs.resize(last + 1);
  return pairs;
}

}  // namespace anabranch::bench
