#pragma once

#include <cstdint>
#include <utility>
#include <vector>

/// What a user would write, or call, in place of sorting, choosing and sending elements. `threads`: of TBB, where a
/// function takes them.
namespace anabranch::bench {

/// The least significant byte first, through one buffer: a histogram of all bytes in one pass, then a pass for each byte.
void radix_sort(std::vector<std::int32_t>& values, std::vector<std::int32_t>& buffer);
void parallel_sort(std::vector<std::int32_t>& values, int threads);

/// How often each number occurs.
void histogram_loop(const std::int32_t* numbers, std::int64_t n, std::int64_t* counts, std::int64_t bins);
/// Each thread counts for itself; then the counts are added.
void histogram_by_tbb(const std::int32_t* numbers, std::int64_t n, std::int64_t* counts, std::int64_t bins,
                      int threads);

/// The sum of the values that go to each place.
void sums_at_loop(const std::int32_t* places, const std::int64_t* values, std::int64_t n, std::int64_t* sums,
                  std::int64_t bins);
/// Each thread for itself, then the sums are added.
void sums_at_by_tbb(const std::int32_t* places, const std::int64_t* values, std::int64_t n,
                    std::int64_t* sums, std::int64_t bins, int threads);

/// The elements above a limit; how many.
std::int64_t filter_loop(const float* from, std::int64_t n, float limit, float* to);
/// Counts in blocks, then copies.
std::int64_t filter_by_tbb(const float* from, std::int64_t n, float limit, float* to, int threads);

/// The sums by key, in the order of the keys: a hash table, then a sort of its keys.
std::vector<std::pair<std::int32_t, float>> sums_by_hash(const std::int32_t* keys, const float* values,
                                                         std::int64_t n);
/// A stable sort of pairs by key (std::stable_sort), then one pass.
std::vector<std::pair<std::int32_t, float>> sums_by_sort(const std::int32_t* keys, const float* values,
                                                         std::int64_t n);

}  // namespace anabranch::bench
