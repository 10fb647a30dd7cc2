#include <anabranch/io.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "agree.h"
#include "support/files.h"
#include "support/memory_source.h"
#include "support/sanitized.h"

// Streams that are stopped at any time, that fail anywhere, that are very long.
namespace anabranch::testing {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

struct Damaged : std::domain_error {
  using std::domain_error::domain_error;
};

/// Rows of 0 to 40 numbers in chunks of at most 50 items; the row `fails` throws.
class SomeRows : public SourceBase {
 public:
  explicit SomeRows(std::int64_t count, std::int64_t fails = -1) : count_(count), fails_(fails) {
    info_.name = "some rows";
    info_.arrays = {array_info({ScalarType::float64}, {std::nullopt}, 0)};
    info_.rewindable = true;
    info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  static std::int64_t length(std::int64_t row) { return row * 7919 % 41; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (at_ == count_) return false;
    auto values = std::make_shared<std::vector<double>>();
    auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
    std::int64_t items = 0;
    const std::int64_t most = std::min<std::int64_t>({limit.items, 50, count_ - at_});
    do {
      if (at_ == fails_) throw Damaged("row " + std::to_string(at_) + " is damaged");
      for (std::int64_t i = 0; i < length(at_); ++i) values->push_back(static_cast<double>(at_ % 1000 + i));
      offsets->push_back(std::ssize(*values));
      ++at_;
    } while (++items < most && std::ssize(*values) < limit.work);
    chunk = {items, std::max(items, std::ssize(*values)), 8 * (std::ssize(*values) + items + 1), {}, 0};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    chunk.arrays[0].offsets = {offsets, offsets->data()};
    return true;
  }
  void rewind() override { at_ = 0; }

 private:
  SourceInfo info_;
  std::int64_t count_, fails_, at_ = 0;
};

Seq<Vector<double>> some_rows(std::int64_t count, std::int64_t fails = -1) {
  return stream_in(Source<Vector<double>>(std::make_shared<SomeRows>(count, fails)));
}

const auto total = [](auto row) { return sum(row); };
const auto is_long = [](auto row) { return size(row) > 20; };
const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };

/// Programs over a stream that use each of the runtime's ways, each giving a vector.
struct Way {
  const char* name;
  std::function<Acc<Vector<double>>(const Seq<Vector<double>>&)> program;
};
std::vector<Way> ways() {
  return {
      {"sums", [](const auto& s) { return consume(elements(map_seq(total, s))); }},
      {"rows as they are", [](const auto& s) { return consume(elements(s)); }},
      {"a filter", [](const auto& s) { return consume(elements(map_seq(total, filter_seq(is_long, s)))); }},
      {"neighbours",
       [](const auto& s) {
         return consume(elements(zip_with_seq([](auto x, auto y) { return unit(the(sum(x)) - the(sum(y))); },
                                              s, drop_seq(1, s))));
       }},
      {"windows", [](const auto& s) { return consume(elements(map_seq(total, windows(s, 100, 30)))); }},
      {"elements one by one",
       [](const auto& s) { return consume(elements(flat_map_seq([](auto row) { return rows(row); }, s))); }},
      {"running sums",
       [](const auto& s) { return consume(elements(scan_seq(add, unit(0.0), map_seq(total, s)))); }},
      {"a tree of sums",
       [](const auto& s) { return replicate(consume(fold_seq(add, unit(0.0), map_seq(total, s))), 1); }},
      {"sums of batches",
       [](const auto& s) {
         return replicate(
             consume(fold_batch([](auto batch) { return unit(the(sum(consume(elements(batch))))); }, add,
                                unit(0.0), s)),
             1);
       }},
  };
}

/// What can be stopped: gives the same in every run that is not.
struct Stoppable {
  std::string name;
  std::function<Vector<double>(const RunOptions&)> run;
};

template <class F>
Vector<double> pushed(F f, const std::vector<Vector<double>>& rows, const RunOptions& options) {
  auto stream = push_stream<Vector<double>>(f, options);
  constexpr bool at_end = requires { Vector<double>(stream.finish()); };
  if constexpr (at_end) {
    for (const Vector<double>& row : rows) stream.push(row);
    return stream.finish();
  } else {
    std::vector<double> results;
    const auto take = [&](const auto& next) {
      while (const auto item = next()) results.push_back((*item)[Index{}]);
    };
    for (const Vector<double>& row : rows) {
      stream.push(row);
      take([&] { return stream.poll(); });
    }
    stream.finish();
    take([&] { return stream.pop(); });
    return vector_of(std::ssize(results),
                     [&](std::int64_t i) { return results[static_cast<std::size_t>(i)]; });
  }
}

/// What is written to `folder`, which a run that is stopped leaves as it was.
Vector<double> written(const Seq<Vector<double>>& s, const TemporaryDirectory& folder,
                       const RunOptions& options) {
  try {
    run(std::tuple(consume(write(s, io::write_ragged(folder / "rows"))),
                   consume(write(map_seq(total, s), io::write_npy_rows(folder / "sums.npy")))),
        options);
  } catch (const Cancelled&) {
    CHECK(folder.files() == 0);
    throw;
  }
  CHECK(folder.files() == 3);
  const auto sums = io::read_npy<1, double>(folder / "sums.npy");
  const auto values = io::read_npy<1, double>(folder / "rows.values.npy");
  for (const char* name : {"sums.npy", "rows.values.npy", "rows.offsets.npy"})
    std::filesystem::remove(folder / name);
  return run(concat(use(sums), use(values)));
}

/// All ways of the runtime over `count` rows, and those that have sources, sinks and drivers of their own.
class Stoppables {
 public:
  explicit Stoppables(std::int64_t count) {
    for (const Way& way : ways()) compiled(way.name, way.program(some_rows(count)));
    run(consume(write(some_rows(count), io::write_ragged(in_ / "in"))));
    for (const Way& way : ways())
      if (way.name == std::string("sums") || way.name == std::string("windows"))
        compiled(std::string(way.name) + " of a file that is read in pieces",
                 way.program(stream_in(io::open_ragged<double>(in_ / "in"))));
    all_.push_back({"a file into files", [this](const RunOptions& options) {
                      return written(stream_in(io::open_ragged<double>(in_ / "in")), out_, options);
                    }});
    for (const Vector<double>& row : stream_out(some_rows(count))) rows_.push_back(row);
    all_.push_back({"pushed rows, a value at the end", [this](const RunOptions& options) {
                      return pushed([](const auto& s) { return consume(elements(map_seq(total, s))); }, rows_,
                                    options);
                    }});
    all_.push_back({"pushed rows, results one by one", [this](const RunOptions& options) {
                      return pushed([](const auto& s) { return map_seq(total, s); }, rows_, options);
                    }});
  }
  const std::vector<Stoppable>& all() const { return all_; }

 private:
  void compiled(std::string name, const Acc<Vector<double>>& computation) {
    all_.push_back({std::move(name), [program = compile(computation)](const RunOptions& options) {
                      return program.run(options);
                    }});
  }

  const TemporaryDirectory in_, out_;
  std::vector<Vector<double>> rows_;
  std::vector<Stoppable> all_;
};

void check_cancellations(int runs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Stoppables stoppables(3000);
  const std::vector<Stoppable>& all = stoppables.all();
  std::vector<Vector<double>> expected;
  std::vector<nanoseconds> durations;
  for (const Stoppable& each : all) {
    expected.push_back(each.run({.threads = 2}));
    const auto begin = steady_clock::now();
    each.run({.threads = 2});
    durations.push_back(steady_clock::now() - begin);
  }
  std::vector<int> stopped(all.size());
  for (int i = 0; i < runs; ++i) {
    const std::size_t which = random() % all.size();
    INFO(all[which].name << ", run " << i << " of seed " << seed);
    const nanoseconds delay(
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(durations[which].count() + 1)));
    std::stop_source stop;
    const RunOptions options{.threads = 1 + static_cast<int>(random() % 3),
                             .memory = random() % 2 == 0 ? 0 : 8 << 20,
                             .scheduler = random() % 3 == 0 ? "fixed:17" : "adaptive",
                             .stop = stop.get_token()};
    const std::jthread stopper([&] {
      const auto end = steady_clock::now() + delay;
      while (steady_clock::now() < end) std::this_thread::yield();
      stop.request_stop();
    });
    try {
      require_same(all[which].run(options), expected[which]);
    } catch (const Cancelled&) {
      ++stopped[which];
    }
    if (i % 10 == 0) require_same(all[which].run({.threads = 2}), expected[which]);
  }
  CHECK(std::accumulate(stopped.begin(), stopped.end(), 0) > runs / 10);
  if (runs < 500) return;
  for (std::size_t which = 0; which < all.size(); ++which) {
    INFO(all[which].name);
    CHECK(stopped[which] > 0);
  }
}

TEST_CASE("a run that is stopped at any time gives its result or Cancelled, and the next run works") {
  check_cancellations(30, 1);
}
TEST_CASE("500 runs that are stopped at any time", "[.long]") { check_cancellations(500, 20'240); }

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

std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return 0;
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
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const std::int64_t before = peak_bytes(), open = open_descriptors();
  run(items);
  const std::int64_t more = peak_bytes() - before;
  if (!sanitized) CHECK(more < bounded);  // sanitizers keep what is freed for a while
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
