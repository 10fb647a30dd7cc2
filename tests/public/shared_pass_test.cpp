// Several results of one source that can be read only once: computed side by side, in one pass.
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "agree.h"
#include "support/memory_source.h"

namespace anabranch::testing {
namespace {

/// Vectors of one to four elements that hold their number. After so many it fails, or waits until it is told to stop.
class Tape final : public SourceBase {
 public:
  enum class Then : std::uint8_t { end, fail, wait };
  explicit Tape(std::int64_t items, Then then) : items_(items), then_(then) {
    info_.name = "tape";
    info_.arrays = {array_info({ScalarType::float64}, {std::nullopt}, 0)};
    info_.live = then == Then::wait;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (at_ == items_) {
      ++asked_at_end;
      if (then_ == Then::fail) throw DataError("the tape is torn");
      if (then_ == Then::wait) wait(limit.stop);
      return false;
    }
    const std::int64_t n = info_.live ? 1 : std::min({limit.items, items_ - at_, std::int64_t{50}});
    const auto offsets = std::make_shared<std::vector<std::int64_t>>(1, 0);
    const auto values = std::make_shared<std::vector<double>>();
    for (std::int64_t i = at_; i < at_ + n; ++i) {
      values->resize(values->size() + static_cast<std::size_t>(1 + i % 4), static_cast<double>(i));
      offsets->push_back(static_cast<std::int64_t>(values->size()));
    }
    chunk = SourceChunk{n, std::ssize(*values), 8 * std::ssize(*values), {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    chunk.arrays[0].offsets = {offsets, offsets->data()};
    at_ += n;
    return true;
  }
  std::atomic<int> asked_at_end = 0;
  std::atomic<bool> waits = false, was_stopped = false;

 private:
  /// A minute at most: then the test fails, and ends.
  void wait(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    waits = true;
    changed.wait_for(lock, stop, std::chrono::minutes(1), [&] { return stop.stop_requested(); });
    was_stopped = stop.stop_requested();
    if (was_stopped) throw Cancelled("the tape was stopped");
  }

  SourceInfo info_;
  std::int64_t items_, at_ = 0;
  Then then_;
};

Seq<Vector<double>> items_of(const std::shared_ptr<Tape>& tape) {
  return stream_in(Source<Vector<double>>(tape));
}

const auto total = [](auto row) { return sum(row); };
const auto is_odd = [](auto row) { return cast<std::int64_t>(row[0]) % 2 == 1; };
/// Of items from 3 on there is no such element.
const auto beyond = [](auto row) {
  return unit(row[cond(row[0] < 3.0, std::int64_t{0}, std::int64_t{100})]);
};

TEST_CASE("a result that fails ends the run, though its source waits for items") {
  for (const bool filtered_fails : {false, true})
    for (const int threads : {1, 2, 4}) {
      INFO("the filtered one fails: " << filtered_fails << ", threads " << threads);
      const auto tape = std::make_shared<Tape>(40, Tape::Then::wait);
      const auto s = items_of(tape);
      const auto all = filtered_fails ? map_seq(total, s) : map_seq(beyond, s);
      const auto odd =
          filtered_fails ? map_seq(beyond, filter_seq(is_odd, s)) : map_seq(total, filter_seq(is_odd, s));
      CHECK_THROWS_AS(run(std::tuple(consume(elements(all)), consume(elements(odd))), {.threads = threads}),
                      RunError);
      CHECK((!tape->waits || tape->was_stopped));
    }
}

TEST_CASE("a result that fails ends the run, though another source waits for items") {
  const auto sum_of_both = [](auto a, auto b) { return unit(the(sum(a)) + the(sum(b))); };
  for (const int threads : {1, 2, 4}) {
    const auto tape = std::make_shared<Tape>(1000, Tape::Then::end),
               live = std::make_shared<Tape>(6, Tape::Then::wait);
    const auto s = items_of(tape);
    CHECK_THROWS_AS(run(std::tuple(consume(elements(zip_with_seq(sum_of_both, s, items_of(live)))),
                                   consume(elements(map_seq(beyond, filter_seq(is_odd, s))))),
                        {.threads = threads, .scheduler = "fixed:1"}),
                    RunError);
    CHECK((!live->waits || live->was_stopped));
  }
  // Beside no other result: what was read before fails while the source waits.
  const auto live = std::make_shared<Tape>(40, Tape::Then::wait);
  CHECK_THROWS_AS(run(consume(elements(map_seq(beyond, items_of(live)))), {.threads = 2}), RunError);
  CHECK((!live->waits || live->was_stopped));
}

TEST_CASE("results of two sources that can be read once end in whatever memory they run") {
  const auto sum_of_both = [](auto a, auto b) { return unit(the(sum(a)) + the(sum(b))); };
  const auto add = [](auto a, auto b) { return unit(the(a) + the(b)); };
  int runs = 0;
  for (std::int64_t memory = 1 << 13; memory <= 1 << 21; memory += memory / 3)
    for (const int threads : {1, 2}) {
      INFO("memory " << memory << ", threads " << threads);
      const auto x = items_of(std::make_shared<Tape>(2000, Tape::Then::end)),
                 y = items_of(std::make_shared<Tape>(2000, Tape::Then::end));
      try {
        const auto [together, after] =
            run(std::tuple(consume(fold_seq(add, unit(0.0), zip_with_seq(sum_of_both, x, y))),
                           consume(fold_seq(add, unit(0.0), map_seq(total, append_seq(y, x))))),
                {.threads = threads, .memory = memory});
        CHECK(*together.data() == *after.data());
        ++runs;
      } catch (const ResourceError&) {  // NOLINT(bugprone-empty-catch): it has ended
      }
    }
  CHECK(runs >= 4);
}

TEST_CASE("results of a source that waits for items are given up when a stop is requested") {
  for (const int threads : {1, 2}) {
    const auto tape = std::make_shared<Tape>(40, Tape::Then::wait);
    const auto s = items_of(tape);
    std::stop_source stop;
    const std::jthread user([&] {
      while (!tape->waits) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      stop.request_stop();
    });
    CHECK_THROWS_AS(run(std::tuple(consume(elements(map_seq(total, s))),
                                   consume(elements(map_seq(total, filter_seq(is_odd, s))))),
                        {.threads = threads, .stop = stop.get_token()}),
                    Cancelled);
    CHECK(tape->was_stopped);
  }
}

TEST_CASE("a source of several results that fails is not asked again") {
  for (const int threads : {1, 2, 4})
    for (const char* scheduler : {"adaptive", "fixed:7"}) {
      const auto tape = std::make_shared<Tape>(1000, Tape::Then::fail);
      const auto s = items_of(tape);
      CHECK_THROWS_AS(run(std::tuple(consume(elements(map_seq(total, s))),
                                     consume(elements(map_seq(total, filter_seq(is_odd, s)))),
                                     consume(tabulate(drop_seq(3, s)))),
                          {.threads = threads, .scheduler = scheduler}),
                      DataError);
      CHECK(tape->asked_at_end == 1);
    }
}

TEST_CASE("several results of a source that can be read once are the same within whatever memory they run") {
  const auto expected = [&] {
    const auto s = items_of(std::make_shared<Tape>(3000, Tape::Then::end));
    return run(
        std::tuple(consume(elements(map_seq(total, s))), consume(elements(filter_seq(is_odd, s))),
                   consume(fold_seq(
                       [](auto a, auto b) { return zip_with([](auto x, auto y) { return x + y; }, a, b); },
                       unit(0.0), map_seq(total, drop_seq(5, s))))),
        {.backend = Backend::interpreter});
  }();
  int runs = 0;
  for (std::int64_t memory = 1 << 12; memory <= 1 << 22; memory += memory / 2)
    for (const int threads : {1, 2, 4}) {
      INFO("memory " << memory << ", threads " << threads);
      const auto s = items_of(std::make_shared<Tape>(3000, Tape::Then::end));
      try {
        const auto got =
            run(std::tuple(
                    consume(elements(map_seq(total, s))), consume(elements(filter_seq(is_odd, s))),
                    consume(fold_seq(
                        [](auto a, auto b) { return zip_with([](auto x, auto y) { return x + y; }, a, b); },
                        unit(0.0), map_seq(total, drop_seq(5, s))))),
                {.threads = threads, .memory = memory});
        require_same(std::get<0>(got), std::get<0>(expected));
        require_same(std::get<1>(got), std::get<1>(expected));
        require_same(std::get<2>(got), std::get<2>(expected));
        ++runs;
      } catch (const ResourceError&) {
        CHECK(memory < 1 << 19);  // results and what is in flight take some 100 KB
      }
    }
  CHECK(runs >= 15);
}

/// Two sinks, each of which waits until the other one has been given about as many items: as where both write into short
/// queues, and somebody takes from each in turn.
class Pair {
 public:
  class Half final : public SinkBase {
   public:
    Half(Pair& pair, std::size_t number) : pair_(pair), number_(number) {
      info_.name = "half of a pair";
      info_.arrays = {{{ScalarType::float64}, 1}};
    }
    const SinkInfo& info() const override { return info_; }
    std::unique_ptr<SinkPass> begin(const SinkStart&) override {
      return std::make_unique<Pass>(pair_, number_);
    }

   private:
    struct Pass final : SinkPass {
      Pass(Pair& of, std::size_t half) : pair(of), number(half) {}
      void write(const SinkChunk& chunk) override {
        for (std::int64_t i = 0; i < chunk.items; ++i) pair.pass(number);
      }
      void finish() override { pair.end(number); }
      void commit() override {}
      Pair& pair;
      const std::size_t number;
    };
    Pair& pair_;
    std::size_t number_;
    SinkInfo info_;
  };

  Sink<Vector<double>> half(std::size_t number) {
    return Sink<Vector<double>>(std::make_shared<Half>(*this, number));
  }
  std::int64_t given(std::size_t number) const { return given_[number]; }

 private:
  static constexpr std::int64_t most_ahead = 8;

  void pass(std::size_t number) {
    std::unique_lock lock(mutex_);
    const std::int64_t mine = ++given_[number];
    changed_.notify_all();
    const auto is_near = [&] { return ended_[1 - number] || given_[1 - number] >= mine - most_ahead; };
    if (!changed_.wait_for(lock, std::chrono::seconds(20), is_near)) throw DataError("the other half waits");
  }
  void end(std::size_t number) {
    const std::lock_guard lock(mutex_);
    ended_[number] = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::int64_t, 2> given_{};
  std::array<bool, 2> ended_{};
};

TEST_CASE("sinks of one source that can be read once are written side by side") {
  for (const RunOptions& options : configurations()) {
    INFO(to_string(options));
    const auto s = items_of(std::make_shared<Tape>(500, Tape::Then::end));
    Pair pair;
    const auto negated = map_seq([](auto row) { return map([](auto x) { return -x; }, row); }, s);
    const auto filtered = filter_seq([](auto row) { return the(sum(row)) >= 0.0; }, s);
    run(std::tuple(consume(write(negated, pair.half(0))), consume(write(filtered, pair.half(1)))), options);
    CHECK(pair.given(0) == 500);
    CHECK(pair.given(1) == 500);
  }
}

TEST_CASE("a result that fails ends the run, though another one reads on in a stream without an end") {
  for (const int threads : {1, 2, 4}) {
    const auto tape = std::make_shared<Tape>(40, Tape::Then::end),
               endless = std::make_shared<Tape>(std::int64_t{1} << 30, Tape::Then::end);  // some minutes
    const auto s = items_of(tape);
    const auto kept = filter_seq([](auto row) { return row[0] < 0.0; }, append_seq(s, items_of(endless)));
    CHECK_THROWS_AS(
        run(std::tuple(consume(elements(map_seq(total, kept))), consume(elements(map_seq(beyond, s)))),
            {.threads = threads}),
        RunError);
  }
}

}  // namespace
}  // namespace anabranch::testing
