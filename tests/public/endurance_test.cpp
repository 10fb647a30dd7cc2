#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "agree.h"
#include "support/memory_source.h"

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

void check_cancellations(int runs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto all = ways();
  std::vector<Program<Acc<Vector<double>>>> programs;
  std::vector<Vector<double>> expected;
  std::vector<nanoseconds> durations;
  for (const Way& way : all) {
    programs.push_back(compile(way.program(some_rows(3000))));
    expected.push_back(programs.back().run({.threads = 2}));
    const auto begin = steady_clock::now();
    programs.back().run({.threads = 2});
    durations.push_back(steady_clock::now() - begin);
  }
  int stopped = 0;
  for (int i = 0; i < runs; ++i) {
    const std::size_t way = random() % all.size();
    INFO(all[way].name << ", run " << i << " of seed " << seed);
    const nanoseconds delay(
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(durations[way].count() + 1)));
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
      require_same(programs[way].run(options), expected[way]);
    } catch (const Cancelled&) {
      ++stopped;
    }
    if (i % 10 == 0) require_same(programs[way].run({.threads = 2}), expected[way]);
  }
  CHECK(stopped > runs / 10);
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

/// A stream takes no more memory than one of a quarter of its length, in which chunks have come to their size.
void check_flat(const std::function<void(std::int64_t)>& run, std::int64_t items) {
  run(items / 4);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const std::int64_t before = peak_bytes();
  run(items);
  CHECK(peak_bytes() - before < 96 << 20);
}

TEST_CASE("a hundred million items in flat memory", "[.long]") {
  constexpr std::int64_t many = 100'000'000;
  const auto numbers_ = [](std::int64_t n) { return produce(n, [](auto i) { return unit(i % 1000); }); };
  check_flat(
      [&](std::int64_t n) {
        const auto sum_ = run(consume(fold_seq(add, unit(std::int64_t{0}), numbers_(n))));
        REQUIRE(sum_[Index{}] == n / 1000 * 499'500);
      },
      many);
  check_flat(
      [&](std::int64_t n) {
        const auto few = filter_seq(
            [](auto x) { return the(x) == 999; },
            scan_seq([](auto, auto x) { return unit(the(x)); }, unit(std::int64_t{0}), numbers_(n)));
        REQUIRE(run(consume(elements(take_seq(1000, drop_seq(n / 1000 - 10, few))))).size() == 10);
      },
      many);
}

TEST_CASE("ten million rows of different lengths in flat memory", "[.long]") {
  check_flat(
      [&](std::int64_t n) {
        const auto sums = fold_seq(add, unit(0.0), map_seq(total, filter_seq(is_long, some_rows(n))));
        REQUIRE(run(consume(sums), {.memory = 64 << 20})[Index{}] > 0.0);
      },
      10'000'000);
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
