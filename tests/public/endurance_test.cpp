#include <anabranch/io.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "agree.h"
#include "some_rows.h"
#include "support/files.h"
#include "support/resident_peak.h"
#include "support/sanitized.h"

// Streams that fail anywhere, that are very long.
namespace anabranch::testing {
namespace {

TEST_CASE("a source that fails at the first, a middle or the last item") {
  for (const Way& way : ways())
    for (const std::int64_t at : {0, 150, 299})
      for (const RunOptions& options : configurations()) {
        INFO(way.name << ", item " << at << ", " << to_string(options));
        const auto program = compile(way.program(some_rows(300, at)));
        REQUIRE_THROWS_AS(program.run(options), Damaged);
        const auto right = compile(way.program(some_rows(300)));
        REQUIRE(right.run(options).size() >= 0);
      }
}

TEST_CASE("a function that fails at the first, a middle or the last item") {
  for (const Way& way : ways())
    for (const std::int64_t at : {0, 150, 299}) {
      INFO(way.name << ", item " << at);
      // The element at position `length` is there in all rows but this one.
      const auto numbered = zip_seq(produce(300, [](auto i) { return unit(i); }), some_rows(300));
      const auto failing = map_seq(
          [=](auto i, auto row) {
            return map([=](auto x) { return x + cast<double>(10 / (the(i) - at)); },
                       concat(row, generate(1, [](auto) { return Exp<double>(1.0); })));
          },
          numbered);
      fails<RunError>(way.program(failing), {"integer division", "by zero", "endurance_test.cpp"});
    }
}

TEST_CASE("a progress callback that fails at the first, a middle or the last chunk") {
  const auto program = compile(ways()[0].program(some_rows(300)));
  for (const std::int64_t at : {1, 15, 30}) {
    std::int64_t chunks = 0;
    const auto progress = [&](const Progress&) {
      if (++chunks == at) throw Damaged("enough");
    };
    REQUIRE_THROWS_AS(program.run({.threads = 2, .scheduler = "fixed:10", .progress = progress}), Damaged);
    REQUIRE(program.run({.threads = 2}).size() == 300);
  }
}

std::int64_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

const RunOptions soaked{.memory = 16 << 20};
/// What runs with that bound take: all of it, and as much that nobody counts.
constexpr std::int64_t bounded = 32 << 20;
/// A stream takes no more descriptors than one of a quarter of its length, in which chunks have come to their size, and
/// less than `bounded` more memory.
void check_flat(const std::function<void(std::int64_t)>& run, std::int64_t items) {
  run(items / 4);
  const std::int64_t open = open_descriptors();
  const ResidentPeak peak;
  run(items);
  if (!sanitized) CHECK(peak.growth() < bounded);  // sanitizers keep what is freed for a while
  CHECK(open_descriptors() == open);
}

// Of what a sink has begun to join nothing is tried again in a smaller part.
TEST_CASE("items are joined within a memory bound", "[once]") {
  const auto numbers_ = [](std::int64_t n) { return produce(n, [](auto i) { return unit(i % 1000); }); };
  const auto few = compile(consume(fold_seq(add, unit(std::int64_t{0}), numbers_(300'001))));
  const auto rows = compile(consume(fold_seq(
      add, unit(std::int64_t{0}),
      map_seq([](auto row) { return sum(map([](auto x) { return cast<std::int64_t>(x) & 7; }, row)); },
              produce(20'000, [](auto i) { return generate(i % 41, [=](auto k) { return k + i; }); })))));
  const std::int64_t expected = few.run({.threads = 1})[Index{}], of_rows = rows.run({.threads = 1})[Index{}];
  CHECK(expected == 300 * std::int64_t{499'500});
  for (const char* scheduler : {"adaptive", "paper", "fixed:1000000"})
    for (const int threads : {1, 2})
      for (const std::int64_t kib : {256, 1024, 4096}) {
        INFO(scheduler << ", " << threads << " threads, " << kib << " KiB");
        const RunOptions options{.threads = threads, .memory = kib << 10, .scheduler = scheduler};
        CHECK(few.run(options)[Index{}] == expected);
        CHECK(rows.run(options)[Index{}] == of_rows);
      }
}

TEST_CASE("a hundred million items in flat memory", "[.long]") {
  constexpr std::int64_t many = 100'000'000;
  const auto numbers_ = [](std::int64_t n) { return produce(n, [](auto i) { return unit(i % 1000); }); };
  check_flat(
      [&](std::int64_t n) {
        const auto sum_ = run(consume(fold_seq(add, unit(std::int64_t{0}), numbers_(n))), soaked);
        REQUIRE(sum_[Index{}] == n / 1000 * 499'500);
      },
      many);
  check_flat(
      [&](std::int64_t n) {
        const auto few = filter_seq(
            [](auto x) { return the(x) == 999; },
            scan_seq([](auto, auto x) { return unit(the(x)); }, unit(std::int64_t{0}), numbers_(n)));
        REQUIRE(run(consume(elements(take_seq(1000, drop_seq(n / 1000 - 10, few)))), soaked).size() == 10);
      },
      many);
}

TEST_CASE("ten million rows of different lengths in flat memory", "[.long]") {
  check_flat(
      [&](std::int64_t n) {
        const auto sums = fold_seq(add, unit(0.0), map_seq(total, filter_seq(is_long, some_rows(n))));
        REQUIRE(run(consume(sums), soaked)[Index{}] > 0.0);
      },
      10'000'000);
}

/// Rows of 0 to 40 numbers into a file, from that into another one, and their sums.
void check_flat_files(std::int64_t rows) {
  const TemporaryDirectory folder;
  const auto sum_of = [&](const char* name) {
    const auto sums =
        map_seq([](auto row) { return sum(map([](auto x) { return cast<std::int64_t>(x); }, row)); },
                stream_in(io::open_ragged<std::uint16_t>(folder / name)));
    return run(consume(fold_seq(add, unit(std::int64_t{0}), sums)), soaked)[Index{}];
  };
  check_flat(
      [&](std::int64_t n) {
        const auto made = produce(n, [](auto i) {
          return generate(i * 7919 % 41, [=](auto k) { return cast<std::uint16_t>(i % 1000 + k); });
        });
        run(consume(write(made, io::write_ragged(folder / "made"))), soaked);
        const auto doubled = map_seq([](auto row) { return map([](auto x) { return x + x; }, row); },
                                     stream_in(io::open_ragged<std::uint16_t>(folder / "made")));
        REQUIRE(run(consume(write(doubled, io::write_ragged(folder / "doubled"))), soaked)[Index{}] == n);
        std::int64_t expected = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int64_t length = i * 7919 % 41;
          expected += i % 1000 * length + length * (length - 1) / 2;
        }
        REQUIRE(sum_of("made") == expected);
        REQUIRE(sum_of("doubled") == 2 * expected);
      },
      rows);
}
TEST_CASE("rows from a file into a file, in flat memory", "[once]") { check_flat_files(100'000); }
TEST_CASE("a hundred million numbers from a file into a file, in flat memory", "[.long]") {
  check_flat_files(5'000'000);
}

TEST_CASE("many runs from many threads at once give what one gives") {
  const auto all = ways();
  std::vector<Vector<double>> expected;
  for (const Way& way : all) expected.push_back(run(way.program(some_rows(500))));
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t w = 0; w < all.size(); ++w) {
        const std::size_t way = (w + static_cast<std::size_t>(t)) % all.size();
        const Vector<double> got = run(all[way].program(some_rows(500)), {.threads = 1 + t % 3});
        wrong += got.size() != expected[way].size() ||
                 !std::equal(got.values().begin(), got.values().end(), expected[way].values().begin());
      }
    });
  threads.clear();
  REQUIRE(wrong == 0);
}

}  // namespace
}  // namespace anabranch::testing
