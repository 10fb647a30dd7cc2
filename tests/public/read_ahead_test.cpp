#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ranges>
#include <thread>

#include <anabranch/io.h>

#include "agree.h"
#include "support/memory_source.h"

// What stream_out reads and computes while its items are taken: how far ahead, what comes out of it, how it ends.
namespace anabranch::testing {
namespace {

const auto doubled = [](auto row) { return map([](auto x) { return x * 2.0; }, row); };

/// Opened once, waited for by any thread: for so long that only what would never come is given up.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

/// Vectors {i, 1} for i = 0, ..., n - 1, with a call before each.
template <class F>
auto items(int n, F before) {
  return std::views::iota(0, n) | std::views::transform([=](int i) {
           before(i);
           return Vector<double>{static_cast<double>(i), 1.0};
         });
}

struct Bounds {
  const char* name;
  std::optional<ReadAhead> ahead;
};
const Bounds all_bounds[] = {
    {"default", {}},
    {"nothing", ReadAhead{.items = 0}},
    {"one item", ReadAhead{.items = 1}},
    {"three items", ReadAhead{.items = 3}},
    {"few bytes", ReadAhead{.bytes = 1}},
    {"no time", ReadAhead{.seconds = 0}},
    {"little time", ReadAhead{.seconds = 1e-6}},
    {"unbounded", ReadAhead{.items = INT64_MAX, .bytes = INT64_MAX, .seconds = 1e300}}};

template <class S>
auto out(const S& sequence, const RunOptions& options, const Bounds& bounds) {
  return bounds.ahead ? stream_out(sequence, options, *bounds.ahead) : stream_out(sequence, options);
}

bool fits(const RunOptions& options, const Bounds& bounds) {
  const bool one_by_one = options.scheduler == "fixed:1" || options.scheduler[0] != 'f';
  return !bounds.ahead || one_by_one || bounds.ahead->items == INT64_MAX;
}

/// The same items however far ahead, in chunks of any size, by any number of threads.
template <class A>
void check_everywhere(const Seq<A>& sequence, Loc at = Loc::current()) {
  HostArrays expected;
  for (const A& item : stream_out(sequence, {.backend = Backend::interpreter}))
    expected.push_back(item.erased());
  for (const char* scheduler : {"fixed:1", "fixed:7", "fixed:1000000", "adaptive", "paper"})
    for (const int threads : {1, 2, 4})
      for (const Bounds& bounds : all_bounds) {
        const RunOptions options{.threads = threads, .scheduler = scheduler};
        if (!fits(options, bounds)) continue;
        INFO(scheduler << ", " << threads << " threads, " << bounds.name);
        std::size_t i = 0;
        for (const A& item : out(sequence, options, bounds)) {
          REQUIRE(i < expected.size());
          require_same(item.erased(), expected[i++], at);
        }
        REQUIRE(i == expected.size());
      }
}

TEST_CASE("read ahead: the same items, in all forms") {
  std::vector<Vector<double>> ragged;
  for (std::uint64_t i = 0; i < 40; ++i) ragged.push_back(numbers<double>(i % 5 == 2 ? 0 : (7 * i) % 23, i));
  const auto prefix = [](auto row) { return scanl1(plus, row); };
  check_everywhere(map_seq(prefix, stream_in(ragged)));
  check_everywhere(map_seq(prefix, stream_in(ragged, {.live = false})));
  check_everywhere(map_seq(prefix, stream_in(std::vector<Vector<double>>{})));
  check_everywhere(map_seq([](auto row) { return sum(row); }, stream_in(std::views::all(ragged))));
  check_everywhere(map_seq(prefix, rows(use(Matrix<double>(Index{30, 4})))));
  check_everywhere(produce(50, [](auto i) { return generate(i % 4, [=](auto k) { return i * k; }); }));
  const Vector<double> captured{1.5, 2.5};
  check_everywhere(map_seq([&](auto) { return use(captured); }, stream_in(ragged)));
  check_everywhere(take_seq(
      13,
      zip_with_seq([](auto a, auto i) { return map([=](auto x) { return x + cast<double>(the(i)); }, a); },
                   stream_in(ragged), produce(30, [](auto i) { return unit(i); }))));
}

TEST_CASE("read ahead: sequences with other items than those they are made of") {
  for (const auto& how : {RangeOptions{.live = false}, RangeOptions{}, RangeOptions{.independent = true}}) {
    const auto s = stream_in(items(50, [](int) {}), how);
    const auto is_even = [](auto row) { return cast<std::int64_t>(row[0]) % 2 == 0; };
    check_everywhere(map_seq(doubled, filter_seq(is_even, s)));
    check_everywhere(take_while_seq([](auto row) { return row[0] < 17.0; }, drop_seq(5, s)));
    check_everywhere(append_seq(map_seq(doubled, s), take_seq(3, s)));
    check_everywhere(windows(s, 7, 3));
    check_everywhere(flat_map_seq(
        [](auto row) {
          return produce(cast<std::int64_t>(row[0]) % 4,
                         [=](auto i) { return unit(cast<double>(i) + row[0]); });
        },
        s));
  }
}

TEST_CASE("read ahead: live sources, whether they depend on results or not") {
  for (const bool independent : {false, true}) {
    const auto live = items(60, [](int) {});
    check_everywhere(map_seq(doubled, stream_in(live, {.independent = independent})));
    std::vector<Vector<double>> beside(40, Vector<double>{3.0, 4.0, 5.0});
    check_everywhere(zip_with_seq([](auto a, auto b) { return zip_with(times, a, b); },
                                  stream_in(live, {.independent = independent}), stream_in(beside)));
  }
}

TEST_CASE("read ahead: tuples, matrices and 32-bit offsets, gathered into chunks") {
  // Every form that a live source may have, joined where several items have come.
  class Live : public MemorySource {
   public:
    Live(std::vector<ArrayInfo> arrays, const std::vector<Item>& all)
        : MemorySource("live", std::move(arrays), all) {
      info_ = MemorySource::info();
      info_.in_memory = false;
      info_.live = info_.independent = true;
    }
    const SourceInfo& info() const override { return info_; }
    bool next(const Limit& limit, SourceChunk& chunk) override {
      Limit one = limit;
      one.items = std::min<std::int64_t>(limit.items, 1 + (given_++ % 3));
      return MemorySource::next(one, chunk);
    }

   private:
    SourceInfo info_;
    int given_ = 0;
  };
  std::vector<Item> some;
  for (std::int64_t i = 0; i < 37; ++i) {
    const std::int64_t n = i % 4, m = (i * 5) % 3;
    some.push_back(
        {vector_of<float>(std::vector<float>(static_cast<std::size_t>(n), 0.5F)),
         array_of<std::int32_t>({m, n}, std::vector<std::int32_t>(static_cast<std::size_t>(m * n), 7)),
         array_of<double>({2, 2}, {1.0, 2.0, static_cast<double>(i), 4.0})});
  }
  const auto infos = [&](OffsetType type) {
    return std::vector{array_info({ScalarType::float32}, {std::nullopt}, 0, type),
                       array_info({ScalarType::int32}, {std::nullopt, std::nullopt}, 1, type),
                       array_info({ScalarType::float64}, {2, 2}, 2)};
  };
  for (const OffsetType type : {OffsetType::int32, OffsetType::int64}) {
    const Source<std::tuple<Vector<float>, Matrix<std::int32_t>, Matrix<double>>> source(
        std::make_shared<Live>(infos(type), some));
    const auto combined = [](auto v, auto m, auto d) {
      return unit(cast<double>(size(v)) + cast<double>(the(sum(flatten(m)))) + d[index_of(1, 0)]);
    };
    check_everywhere(map_seq(combined, stream_in(source)));
  }
}

/// However long the first item is being taken, or another thread takes to begin.
constexpr ReadAhead patient{.seconds = 3600};

// Neither could go on without the other: the items of a later chunk wait until the first item is being taken, which is
// not done with before they have come.
TEST_CASE("read ahead: the next chunk is read while the first is being taken") {
  for (const int threads : {2, 3}) {
    Gate taking, read;
    const auto source = items(100, [&](int i) {
      if (i == 8 && taking.wait()) read.open();
    });
    int taken = 0;
    for (const auto& item : stream_out(map_seq(doubled, stream_in(source, {.live = false})),
                                       {.threads = threads, .scheduler = "fixed:4"}, patient)) {
      if (taken == 0) {
        taking.open();
        REQUIRE(read.wait());
      }
      REQUIRE(item[0] == 2.0 * taken++);
    }
    CHECK(taken == 100);
  }
}

TEST_CASE("read ahead: the next chunk is computed while the first is being taken") {
  for (const bool in_memory : {false, true}) {
    Gate taking, computed;
    const RunOptions options{.threads = 2, .scheduler = "fixed:4", .print = [&](std::string_view line) {
                               if (line.find("item 9") != std::string_view::npos && taking.wait())
                                 computed.open();
                             }};
    const auto watched = [](auto row) { return trace("made", doubled(row)); };
    const auto check = [&](const auto& sequence) {
      int taken = 0;
      for (const auto& item : stream_out(sequence, options, patient)) {
        if (taken++ == 0) {
          taking.open();
          REQUIRE(computed.wait());
        }
        REQUIRE(item.size() == 2);
      }
      CHECK(taken == 50);
    };
    if (in_memory)
      check(map_seq(watched, rows(use(Matrix<double>(Index{50, 2})))));
    else
      check(map_seq(watched, stream_in(items(50, [](int) {}), {.live = false})));
  }
}

TEST_CASE("read ahead: with one thread nothing is read before it is asked for") {
  int asked = 0;
  auto range = stream_out(map_seq(doubled, stream_in(items(20, [&](int) { ++asked; }), {.live = false})),
                          {.threads = 1, .scheduler = "fixed:6"});
  CHECK(asked == 0);
  int taken = 0;
  for (const auto& item : range) {
    REQUIRE(item.size() == 2);
    CHECK(asked == std::min(20, 6 * (taken / 6 + 1)));
    ++taken;
  }
}

TEST_CASE("read ahead: no more items than allowed") {
  for (const bool live : {false, true})
    for (const int most : {0, 1, 2, 5, 40})
      for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:3"}) {
        const RunOptions options{.threads = 3, .scheduler = scheduler};
        if (options.scheduler == "fixed:3" && most < 2) continue;
        std::atomic<int> asked = 0, taken = 0, most_ahead = 0;
        const auto source = items(300, [&](int) {
          // The one that is being waited for counts as taken.
          const int ahead = ++asked - taken - 1;
          int before = most_ahead;
          while (ahead > before && !most_ahead.compare_exchange_weak(before, ahead)) {
          }
        });
        for (const auto& item :
             stream_out(map_seq(doubled, stream_in(source, {.live = live, .independent = true})), options,
                        {.items = most})) {
          REQUIRE(item[0] == 2.0 * taken);
          if (taken % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
          ++taken;
        }
        CHECK(taken == 300);
        INFO(scheduler);
        CHECK(most_ahead <= most);
      }
}

TEST_CASE("read ahead: a live source that depends on its results, unless bounds are given") {
  const auto asked_with_first = [](const auto& options, const auto&... ahead) {
    std::atomic<int> asked = 0;
    Gate fourth;
    auto range = stream_out(map_seq(doubled, stream_in(items(50,
                                                             [&](int) {
                                                               if (++asked == 4) fourth.open();
                                                             }))),
                            options, ahead...);
    REQUIRE(range.begin() != range.end());
    if (sizeof...(ahead) > 0) REQUIRE(fourth.wait());
    return asked.load();
  };
  CHECK(asked_with_first(RunOptions{.threads = 3}) == 1);
  // Not more than five after the first; and when five are there, not before some have been taken.
  CHECK(asked_with_first(RunOptions{.threads = 3}, ReadAhead{.items = 5, .seconds = 3600}) <= 6);
}

TEST_CASE("read ahead: what has come of a live source while a chunk was computed is the next one") {
  // The first chunk is not done before all other items but the last have come, which come while it is computed.
  Gate first_at_work, all_here;
  std::atomic<int> printed = 0;
  std::vector<Progress> seen;
  const auto source = items(101, [&](int i) {
    if (i == 1) first_at_work.wait();
    if (i == 100) all_here.open();
  });
  const RunOptions options{.threads = 2,
                           .progress = [&](const Progress& p) { seen.push_back(p); },
                           .print =
                               [&](std::string_view) {
                                 first_at_work.open();
                                 if (printed++ == 0) all_here.wait();
                               }};
  const auto watched = [](auto row) { return trace("made", doubled(row)); };
  int taken = 0;
  // Time is no bound here: the first chunk may take long.
  for (const auto& item :
       stream_out(map_seq(watched, stream_in(source, {.independent = true})), options, {.seconds = 3600}))
    REQUIRE(item[0] == 2.0 * taken++);
  CHECK(taken == 101);
  REQUIRE(seen.size() >= 2);
  CHECK(seen[0].items == 1);
  CHECK(seen[1].items >= 100);
  CHECK(seen.back().items == 101);
}

TEST_CASE("read ahead: what has come through a pipe while a chunk was computed is the next one") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto send = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const double record = i;
      if (::write(ends[1], &record, sizeof record) != static_cast<ssize_t>(sizeof record)) return;
    }
  };
  const auto is_read = [&] {
    for (int left = 1, turn = 0; turn < 20'000; ++turn) {
      if (::ioctl(ends[0], FIONREAD, &left) == 0 && left == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  send(0, 1);
  std::atomic<int> printed = 0;
  bool all_were_read = false;
  std::vector<Progress> seen;
  const RunOptions options{.threads = 2,
                           .progress = [&](const Progress& p) { seen.push_back(p); },
                           .print =
                               [&](std::string_view) {
                                 if (printed++ > 0) return;
                                 send(1, 101);  // while the first one is computed
                                 all_were_read = is_read();
                                 ::close(ends[1]);
                               }};
  const auto watched = [](auto row) { return trace("made", doubled(row)); };
  int taken = 0;
  for (const auto& item : stream_out(map_seq(watched, stream_in(io::records_of<double>(ends[0], Index{1}))),
                                     options, {.seconds = 3600}))
    REQUIRE(item[0] == 2.0 * taken++);
  ::close(ends[0]);
  CHECK(taken == 101);
  CHECK(all_were_read);
  REQUIRE(seen.size() >= 2);
  CHECK(seen[0].items == 1);
  CHECK(seen[1].items >= 100);
}

TEST_CASE("read ahead: fixed:N gathers N items of a live source") {
  std::vector<std::int64_t> ends;
  const RunOptions options{
      .threads = 2, .scheduler = "fixed:4", .progress = [&](const Progress& p) { ends.push_back(p.items); }};
  int taken = 0;
  for (const auto& item :
       stream_out(map_seq(doubled, stream_in(items(10, [](int) {}), {.independent = true})), options))
    REQUIRE(item[0] == 2.0 * taken++);
  CHECK(ends == std::vector<std::int64_t>{4, 8, 10});
}

TEST_CASE("read ahead: fixed:N gathers fewer items of a live source where memory says so") {
  const auto source = std::views::iota(0, 300) | std::views::transform([](int i) {
                        return numbers<double>(1000, static_cast<std::uint64_t>(i));
                      });
  for (const int threads : {1, 2, 3})
    for (const bool independent : {false, true}) {
      INFO(threads << (independent ? ", independent" : ""));
      std::uint64_t i = 0;
      const RunOptions options{.threads = threads, .memory = 1'000'000, .scheduler = "fixed:200"};
      for (const auto& item :
           stream_out(map_seq(doubled, stream_in(source, {.independent = independent})), options)) {
        const auto expected = numbers<double>(1000, i++);
        REQUIRE(item[0] == 2.0 * expected[0]);
        REQUIRE(item[999] == 2.0 * expected[999]);
      }
      CHECK(i == 300);
    }
}

TEST_CASE("read ahead: an exception of a source comes after all items before it") {
  for (const int bad : {0, 1, 17, 99})
    for (const auto& range : {RangeOptions{}, RangeOptions{.live = false}, RangeOptions{.independent = true}})
      for (const char* scheduler : {"fixed:1", "fixed:7", "adaptive"})
        for (const int threads : {1, 2, 4}) {
          const auto source = items(100, [=](int i) {
            if (i == bad) throw std::domain_error("not to be had");
          });
          auto given = stream_out(map_seq(doubled, stream_in(source, range)),
                                  {.threads = threads, .scheduler = scheduler});
          int taken = 0;
          const auto read = [&] {
            for (const auto& item : given) REQUIRE(item[0] == 2.0 * taken++);
          };
          REQUIRE_THROWS_AS(read(), std::domain_error);
          CHECK(taken == bad);
          REQUIRE_THROWS_AS(read(), std::domain_error);  // and again
          CHECK(taken == bad);
        }
}

TEST_CASE("read ahead: an error of a computation comes after all items before it") {
  for (const std::int64_t bad : {0, 1, 17, 98, 99}) {
    const auto inverse = [=](auto i) { return unit(Exp(std::int64_t{1000}) / (i - bad)); };
    std::string expected;
    for (const RunOptions& options : configurations()) {
      std::int64_t taken = 0;
      try {
        for (const auto& item : stream_out(produce(100, inverse), options)) {
          REQUIRE(item[Index{}] == 1000 / (taken - bad));
          ++taken;
        }
        FAIL("no error");
      } catch (const RunError& e) {
        if (expected.empty()) expected = e.what();
        CHECK(e.what() == expected);
      }
      CHECK(taken == bad);
    }
    CHECK_THAT(expected, Catch::Contains("item " + std::to_string(bad)));
  }
}

TEST_CASE("read ahead: an error of what decides which items are kept") {
  for (const std::int64_t bad : {0, 1, 17, 98, 99})
    for (const RunOptions& options : configurations()) {
      std::int64_t taken = 0;
      const auto is_even = [=](auto n) { return the(n) % 2 == 0 && 1000 / (the(n) - bad) != 5000; };
      const auto read = [&] {
        for (const auto& item :
             stream_out(filter_seq(is_even, produce(100, [](auto i) { return unit(i); })), options))
          REQUIRE(item[Index{}] == 2 * taken++);
      };
      if (bad % 2 != 0) {
        read();  // it is never asked for
        CHECK(taken == 50);
        continue;
      }
      REQUIRE_THROWS_AS(read(), RunError);
      CHECK(taken == bad / 2);
    }
}

TEST_CASE("read ahead: of a chunk that prints nothing is computed twice") {
  int lines = 0, taken = 0;
  const auto inverse = [](auto i) { return trace("made", unit(Exp(std::int64_t{1000}) / (i - 5))); };
  const RunOptions options{.threads = 1, .scheduler = "fixed:4", .print = [&](std::string_view) { ++lines; }};
  const auto read = [&] {
    for (const auto& item : stream_out(produce(20, inverse), options)) taken += item.size() == 1;
  };
  REQUIRE_THROWS_AS(read(), RunError);
  CHECK(taken == 4);
  CHECK(lines <= 8);
}

TEST_CASE("read ahead: a range that is left ends what is under way, and its source is free") {
  for (int round = 0; round < 28; ++round) {
    const int threads = 1 + round % 4, wanted = round % 7;
    const auto shared = std::make_shared<std::atomic<int>>(0);
    const Bounds& bounds = all_bounds[static_cast<std::size_t>(round) % std::size(all_bounds)];
    const RangeOptions how{.live = round % 3 == 0, .independent = round % 2 == 0};
    auto s = map_seq(doubled, stream_in(items(100'000, [=](int) { ++*shared; }), how));
    {
      auto range = out(s, {.threads = threads}, bounds);
      int taken = 0;
      if (wanted > 0)
        for (const auto& item : range) {
          REQUIRE(item[0] == 2.0 * taken);
          if (++taken == wanted) break;
        }
    }
    const int asked = *shared;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(*shared == asked);
    auto again = stream_out(s);
    REQUIRE(again.begin() != again.end());
  }
}

TEST_CASE("read ahead: a range that is left ends a chunk that would take for ever") {
  const auto forever = [](auto row) {
    return map(
        [](auto x) { return while_loop([](auto y) { return y >= 0.0; }, [](auto y) { return y + 1.0; }, x); },
        row);
  };
  Gate reached;
  const auto second = items(2, [&](int i) {
    if (i == 1) reached.open();
  });
  // Items that are negative come to an end.
  const auto ends = [&](auto row) { return forever(map([](auto x) { return x - 1.0; }, row)); };
  auto range =
      stream_out(map_seq([&](auto row) { return ends(take(1, row)); }, stream_in(second, {.live = false})),
                 {.threads = 2, .scheduler = "fixed:1"});
  REQUIRE(range.begin() != range.end());
  REQUIRE(reached.wait());
}

TEST_CASE("read ahead: a stop request ends the waiting for a source") {
  Gate waits, released;
  std::stop_source stop;
  const auto source = items(10, [&](int i) {
    if (i != 3) return;
    waits.open();
    released.wait();
  });
  std::jthread stopper([&] {
    waits.wait();
    stop.request_stop();
    released.open();
  });
  auto range = stream_out(map_seq(doubled, stream_in(source, {.independent = true})),
                          {.threads = 2, .stop = stop.get_token()});
  int taken = 0;
  const auto read = [&] {
    for (const auto& item : range) REQUIRE(item[0] == 2.0 * taken++);
  };
  REQUIRE_THROWS_AS(read(), Cancelled);
  CHECK(taken <= 3);
  REQUIRE_THROWS_AS(read(), Cancelled);
}

TEST_CASE("read ahead: a stop request at any time, and the next run works") {
  const std::vector<Vector<double>> rows(2000, Vector<double>{1.0, 2.0, 3.0});
  auto s = map_seq(doubled, stream_in(rows));
  for (int round = 0; round < 40; ++round) {
    std::stop_source stop;
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
      stop.request_stop();
    });
    try {
      for (const auto& item :
           stream_out(s, {.threads = 1 + round % 3, .scheduler = "fixed:16", .stop = stop.get_token()}))
        REQUIRE(item[2] == 6.0);
    } catch (const Cancelled&) {
      SUCCEED();
    }
  }
  std::size_t taken = 0;
  for (const auto& item : stream_out(s)) taken += item.size() == 3;
  CHECK(taken == rows.size());
}

TEST_CASE("read ahead: under a memory bound everything passes, whatever its size") {
  for (const int threads : {1, 2, 4}) {
    // Now and then an item that takes most of the memory.
    const auto source =
        std::views::iota(0, 300) | std::views::transform([](int i) {
          return numbers<double>(i % 50 == 49 ? 20'000 : i % 9, static_cast<std::uint64_t>(i));
        });
    for (const RangeOptions& kind : {RangeOptions{.live = false}, RangeOptions{.independent = true}})
      for (const char* scheduler : {"adaptive", "fixed:40"}) {
        INFO(threads << " threads, " << scheduler << (kind.independent ? ", live" : ""));
        std::uint64_t i = 0;
        for (const auto& item : stream_out(map_seq(doubled, stream_in(source, kind)),
                                           {.threads = threads, .memory = 400'000, .scheduler = scheduler})) {
          const auto expected = numbers<double>(i % 50 == 49 ? 20'000 : static_cast<std::int64_t>(i % 9), i);
          REQUIRE(item.size() == expected.size());
          for (std::int64_t k = 0; k < item.size(); ++k) REQUIRE(item[k] == 2.0 * expected[k]);
          if (kind.independent) std::this_thread::sleep_for(std::chrono::microseconds(100));
          ++i;
        }
        CHECK(i == 300);
      }
    // Results that are a hundred times as large as what they are made of.
    const std::vector<Vector<double>> small(100, numbers<double>(20, 1));
    const auto grown = [](auto row) {
      return generate(index_of(size(row), std::int64_t{500}),
                      [=](auto ix) { return row[ix[0]] + cast<double>(ix[1]); });
    };
    std::uint64_t i = 0;
    for (const auto& item :
         stream_out(map_seq(grown, stream_in(small)), {.threads = threads, .memory = 1 << 20})) {
      REQUIRE(item.size() == 10'000);
      ++i;
    }
    CHECK(i == 100);
    const auto too_large = [&] {
      for (const auto& item :
           stream_out(map_seq(grown, stream_in(small)), {.threads = threads, .memory = 50'000}))
        FAIL("an item of " << item.size());
    };
    CHECK_THROWS_AS(too_large(), ResourceError);
  }
}

TEST_CASE("read ahead: many streams at once, one inside of another") {
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> users;
    for (int u = 0; u < 6; ++u)
      users.emplace_back([&, u] {
        const auto inner = map_seq(doubled, stream_in(items(200, [](int) {}), {.independent = u % 2 == 0}));
        auto halves = stream_out(inner, {.threads = 1 + u % 3});
        // A stream of what another stream gives.
        const auto again = std::ranges::subrange(halves.begin(), halves.end());
        int i = 0;
        for (const auto& item :
             stream_out(map_seq(doubled, stream_in(again, {.live = u % 2 == 0, .independent = true})),
                        {.threads = 2}))
          wrong += item[0] != 4.0 * i++;
        wrong += i != 200;
      });
  }
  CHECK(wrong == 0);
}

TEST_CASE("read ahead: bounds that make no sense") {
  const auto s = stream_in(std::vector{Vector<double>{1.0}});
  const auto refused = [&](const RunOptions& options, const ReadAhead& ahead, const std::string& what) {
    CHECK_THROWS_AS(stream_out(s, options, ahead), ProgramError);
    CHECK_THROWS_WITH(stream_out(s, options, ahead), Catch::Contains("ReadAhead: ") && Catch::Contains(what));
  };
  refused({}, {.items = -1}, "-1 items");
  refused({}, {.bytes = -5}, "-5 bytes");
  refused({}, {.seconds = -1}, "-1 seconds");
  refused({}, {.seconds = std::numeric_limits<double>::quiet_NaN()}, "nan seconds");
  refused({.scheduler = "fixed:4"}, {.items = 2}, "reads 3 items");
  refused({.scheduler = "fixed:4"}, {.bytes = 0}, "0 may be ahead");
  refused({.backend = Backend::interpreter}, {}, "the interpreter reads nothing ahead");
  for (const auto& item : stream_out(s, {.backend = Backend::interpreter}, {.items = 0}))
    CHECK(item[0] == 1.0);
  for (const auto& item : stream_out(s, {.scheduler = "fixed:4"}, {.items = 3})) CHECK(item[0] == 1.0);
}

}  // namespace
}  // namespace anabranch::testing
