#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <anabranch/error.h>

#include "rearrange/parallel.h"
#include "rearrange/rearrange.h"
#include "support/catch.h"

// How the host's rearrangements are cut for many threads, as two have to do the work.

using namespace anabranch;
using rearrange::Parts;

namespace {

constexpr int threads_of_machines[] = {1, 2, 7, 64, 192};

/// Two threads that stand for any number of them.
class TwoThreads {
 public:
  std::vector<std::int64_t> loops;  ///< pieces of each
  int refusals = 0;                 ///< so often there is no memory

  rearrange::Resources as(int threads) {
    loops.clear();
    rearrange::Resources resources;
    resources.threads = threads;
    resources.check_stop = [] {};
    resources.take_memory = [this](std::int64_t bytes) {
      {
        const std::lock_guard lock(mutex_);
        if (refusals-- > 0) throw ResourceError("no memory");
      }
      return std::shared_ptr<void>(std::malloc(static_cast<std::size_t>(bytes)), std::free);
    };
    resources.parallel_for = [this](std::int64_t n, const std::function<void(std::int64_t)>& f) {
      loops.push_back(n);
      std::atomic<std::int64_t> next = 0;
      std::exception_ptr failures[2];
      const auto work = [&](int number) {
        try {
          for (std::int64_t i = next++; i < n; i = next++) f(i);
        } catch (...) {
          next = n;
          failures[number] = std::current_exception();
        }
      };
      std::jthread other(work, 1);
      work(0);
      other.join();
      for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
    };
    return resources;
  }

 private:
  std::mutex mutex_;
};

std::vector<std::uint32_t> random_numbers(std::int64_t n, std::uint32_t below) {
  std::mt19937 random(5);
  std::vector<std::uint32_t> out(static_cast<std::size_t>(n));
  for (std::uint32_t& x : out) x = random() % below;
  return out;
}

/// Of each number of threads f(resources) gives the same.
template <class F>
void same_by_all(F f) {
  TwoThreads two;
  const auto expected = f(two.as(1));
  for (const int threads : threads_of_machines) {
    INFO(threads << " threads");
    REQUIRE((f(two.as(threads)) == expected));
  }
}

template <class T>
constexpr ScalarType type_of = sizeof(T) == 1 ? ScalarType::uint8 : ScalarType::uint32;

/// Rows of one length, sorted.
template <class T>
std::vector<T> sorted_rows(const std::vector<T>& from, std::int64_t rows,
                           const rearrange::Resources& resources) {
  std::vector<T> to(from.size());
  const ScalarType type = type_of<T>;
  const void* const data = from.data();
  void* const sorted[] = {to.data()};
  const Parts parts{rows, std::ssize(from) / rows, nullptr};
  rearrange::sort({{&type, 1}, {&data, 1}}, parts, sorted, nullptr, resources);
  return to;
}

/// More than a block for each of 192 threads.
constexpr std::int64_t many = (192 << 15) + 1'000;

}  // namespace

TEST_CASE("which parts are the work of all threads") {
  constexpr std::int64_t k = 1'000;
  for (const std::int64_t n : {rearrange::large_part, 200 * k, 50'000 * k})
    for (const int threads : {1, 2}) CHECK(rearrange::is_for_all(n, 1'000'000 * k, threads));
  CHECK_FALSE(rearrange::is_for_all(200 * k, 200'000 * k, 64));
  CHECK_FALSE(rearrange::is_for_all(200 * k, 200'000 * k, 192));
  CHECK(rearrange::is_for_all(200 * k, 20'000 * k, 64));       // a large share
  CHECK(rearrange::is_for_all(5'000 * k, 5'000'000 * k, 64));  // a long stretch for each
}

TEST_CASE("many large rows are dealt to many threads, a few are the work of all") {
  constexpr std::int64_t rows = 30, length = 140'000;
  const std::vector<std::uint32_t> from = random_numbers(rows * length, UINT32_MAX);
  std::vector<std::uint32_t> expected = from;
  for (std::int64_t row = 0; row < rows; ++row)
    std::sort(expected.begin() + row * length, expected.begin() + (row + 1) * length);
  TwoThreads two;
  for (const int threads : threads_of_machines) {
    INFO(threads << " threads");
    CHECK((sorted_rows(from, rows, two.as(threads)) == expected));
    if (threads == 7)
      CHECK(two.loops == std::vector<std::int64_t>{rows});
    else  // row by row, in a block for each thread
      CHECK(two.loops.size() >= rows);
    const std::int64_t blocks = *std::max_element(two.loops.begin(), two.loops.end());
    CHECK(blocks == (threads == 7 ? rows : std::min<std::int64_t>(threads, length >> 15)));
  }
}

TEST_CASE("64 threads take a row each, where there are many") {
  constexpr std::int64_t rows = 140, length = rearrange::large_part;
  const std::vector<std::uint32_t> numbers = random_numbers(rows * length, 256);
  const std::vector<std::uint8_t> from(numbers.begin(), numbers.end());
  TwoThreads two;
  const auto expected = sorted_rows(from, rows, two.as(1));
  CHECK((sorted_rows(from, rows, two.as(64)) == expected));
  CHECK(two.loops == std::vector<std::int64_t>{rows});
}

TEST_CASE("rows that find no memory beside others are sorted afterwards, by all threads") {
  constexpr std::int64_t rows = 20, length = 140'000;
  const std::vector<std::uint32_t> from = random_numbers(rows * length, UINT32_MAX);
  TwoThreads two;
  const auto expected = sorted_rows(from, rows, two.as(1));
  const rearrange::Resources seven = two.as(7);
  two.refusals = 3;
  CHECK((sorted_rows(from, rows, seven) == expected));
  CHECK(two.loops.front() == rows);
  // Each of the three: all digits are counted, and three of four once more; the elements go to their places four times.
  CHECK(two.loops.size() == 1 + 3 * 8);
  two.refusals = 1'000;
  CHECK_THROWS_AS(sorted_rows(from, rows, two.as(7)), ResourceError);
}

TEST_CASE("a sort is the same by any number of threads") {
  const std::vector<std::uint32_t> numbers = random_numbers(many, 100'000);
  same_by_all([&](const rearrange::Resources& resources) { return sorted_rows(numbers, 1, resources); });
  // Of pairs, and where each element was.
  std::vector<std::uint8_t> first(many);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<std::uint8_t>(numbers[i] % 7);
  same_by_all([&](const rearrange::Resources& resources) {
    const ScalarType types[] = {ScalarType::uint8, ScalarType::uint32};
    const void* const data[] = {first.data(), numbers.data()};
    std::vector<std::int64_t> positions(many);
    rearrange::sort({types, data}, {1, many, nullptr}, {}, positions.data(), resources);
    return positions;
  });
}

TEST_CASE("counters of many threads are merged by as many as there is work for") {
  constexpr std::int64_t n = 1 << 21, bins = 1 << 14;
  const std::vector<std::uint32_t> places = random_numbers(n, bins);
  std::vector<std::int64_t> expected(bins);
  for (const std::uint32_t place : places) ++expected[place];
  TwoThreads two;
  for (const int threads : threads_of_machines) {
    INFO(threads << " threads");
    std::vector<std::int64_t> counts(bins);
    const rearrange::Places to{ScalarType::uint32, places.data(), {1, n, nullptr}, {1, bins, nullptr}, false};
    CHECK_FALSE(rearrange::group(to, counts.data(), nullptr, two.as(threads)));
    CHECK((counts == expected));
    if (threads == 1) continue;
    const std::int64_t blocks = std::min(threads, 64);
    CHECK(two.loops ==
          std::vector<std::int64_t>{blocks, std::max<std::int64_t>(bins * (blocks - 1) >> 15, 1)});
  }
}

TEST_CASE("elements go to their places in the same way by any number of threads") {
  const std::int64_t places = GENERATE(1'000, 300'000);
  const std::vector<std::uint32_t> numbers = random_numbers(many, static_cast<std::uint32_t>(places));
  const std::vector<std::int64_t> at(numbers.begin(), numbers.end());
  const Parts all{1, many, nullptr}, into{1, places, nullptr};
  const rearrange::Places to{ScalarType::int64, at.data(), all, into, false};
  same_by_all([&](const rearrange::Resources& resources) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(places) + many);
    CHECK_FALSE(rearrange::group(to, out.data(), out.data() + places, resources));
    return out;
  });
  same_by_all([&](const rearrange::Resources& resources) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(places));
    CHECK_FALSE(rearrange::last_at(to, out.data(), resources));
    return out;
  });
  same_by_all([&](const rearrange::Resources& resources) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(places));
    const rearrange::Joined values{ir::Primitive::maximum, ScalarType::uint32, numbers.data(), all};
    CHECK_FALSE(rearrange::accumulate(to, values, out.data(), resources));
    return out;
  });
}

TEST_CASE("elements are chosen and repeated in the same way by any number of threads") {
  const std::vector<std::uint32_t> numbers = random_numbers(many, 3);
  const Parts all{1, many, nullptr};
  std::vector<std::uint8_t> mask(many);
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = numbers[i] == 1 ? 1 : 0;
  const std::int64_t chosen = std::count(mask.begin(), mask.end(), 1);
  same_by_all([&](const rearrange::Resources& resources) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(chosen));
    const ScalarType type = ScalarType::uint32;
    const void* const data = numbers.data();
    void* const to[] = {out.data()};
    CHECK_FALSE(
        rearrange::select({{&type, 1}, {&data, 1}}, mask.data(), all, to, {1, chosen, nullptr}, resources));
    return out;
  });
  const auto repeated = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
  same_by_all([&](const rearrange::Resources& resources) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(repeated));
    CHECK_FALSE(rearrange::repeat(ScalarType::uint32, numbers.data(), all, out.data(), {1, repeated, nullptr},
                                  resources));
    return out;
  });
}
