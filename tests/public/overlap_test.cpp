#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ranges>
#include <string_view>

#include "agree.h"
#include "support/memory_sink.h"
#include "support/memory_source.h"

// Reading, computing and writing of different chunks go on at the same time. No test looks at times: of two phases neither
// can go on without the other, so that a run in which they took turns would never end. (What stream_out does while its items
// are taken: read_ahead_test.)
namespace anabranch::testing {
namespace {

/// How far a phase has come. It is waited for by any thread, for so long that only what would never come is given up; then
/// nobody waits any more.
class Steps {
 public:
  void reach(int step) {
    const std::lock_guard lock(mutex_);
    reached_ = std::max(reached_, step);
    changed_.notify_all();
  }
  void wait_for(int step) {
    std::unique_lock lock(mutex_);
    if (given_up_) return;
    given_up_ = !changed_.wait_for(lock, std::chrono::seconds(60), [&] { return reached_ >= step; });
  }
  bool given_up() const { return given_up_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int reached_ = 0;
  std::atomic<bool> given_up_ = false;
};

constexpr int count = 12;

/// Each item a chunk, and a phase its k-th call.
RunOptions one_by_one(int threads) { return {.threads = threads, .scheduler = "fixed:1"}; }

/// Vectors {i, 1}, with a call before each.
template <class F>
Seq<Vector<double>> slow_source(F before) {
  return stream_in(std::views::iota(0, count) | std::views::transform([=](int i) {
                     before(i);
                     return Vector<double>{static_cast<double>(i), 1.0};
                   }),
                   {.live = false});
}
/// With a call before each chunk is written.
template <class F>
std::shared_ptr<MemorySink> slow_sink(F before) {
  return std::make_shared<MemorySink>("sink", detail::sink_arrays<Vector<double>>(),
                                      [=](const std::string& what, int written) {
                                        if (what == "write") before(written);
                                      });
}
const auto doubled = [](auto row) { return map([](auto x) { return x * 2.0; }, row); };
const auto watched = [](auto row) { return trace("made", doubled(row)); };

/// All items have been written, in their order.
void check_written(const MemorySink& sink) {
  REQUIRE(sink.commits == 1);
  REQUIRE(sink.items.size() == count);
  for (int i = 0; i < count; ++i)
    CHECK(sink.items[static_cast<std::size_t>(i)] == vector_item<double>({2.0 * i, 2.0}));
}

TEST_CASE("overlap: an item is read while the one before it is written", "[once]") {
  for (const int threads : {2, 3}) {
    Steps reads, writes;
    const auto items = slow_source([&](int i) {
      writes.wait_for(i);
      reads.reach(i + 1);
    });
    const auto sink = slow_sink([&](int k) {
      writes.reach(k + 1);
      reads.wait_for(std::min(k + 2, count));
    });
    run(consume(write(map_seq(doubled, items), Sink<Vector<double>>(sink))), one_by_one(threads));
    CHECK_FALSE((reads.given_up() || writes.given_up()));
    check_written(*sink);
  }
}

TEST_CASE("overlap: an item is read while the one before it is computed", "[once]") {
  for (const int threads : {2, 3}) {
    Steps reads, computations;
    const auto items = slow_source([&](int i) {
      computations.wait_for(i);
      reads.reach(i + 1);
    });
    RunOptions options = one_by_one(threads);
    int lines = 0;
    options.print = [&](std::string_view) {
      computations.reach(++lines);
      reads.wait_for(std::min(lines + 1, count));
    };
    const auto all = run(consume(elements(map_seq(watched, items))), options);
    CHECK_FALSE((reads.given_up() || computations.given_up()));
    REQUIRE(all.size() == 2 * count);
    for (int i = 0; i < count; ++i) CHECK((all[2 * i] == 2.0 * i && all[2 * i + 1] == 2.0));
  }
}

TEST_CASE("overlap: an item is computed while the one before it is written", "[once]") {
  for (const int threads : {2, 3}) {
    Steps computations, writes;
    RunOptions options = one_by_one(threads);
    int lines = 0;
    options.print = [&](std::string_view) {
      writes.wait_for(lines);
      computations.reach(++lines);
    };
    const auto sink = slow_sink([&](int k) {
      writes.reach(k + 1);
      computations.wait_for(std::min(k + 2, count));
    });
    // Read by who computes, who else might do the writing while a read is waited for.
    const auto items = produce(count, [](auto i) {
      return generate(2, [=](auto k) { return cond(k == 0, cast<double>(i), Exp<double>(1.0)); });
    });
    run(consume(write(map_seq(watched, items), Sink<Vector<double>>(sink))), options);
    CHECK_FALSE((computations.given_up() || writes.given_up()));
    check_written(*sink);
  }
}

TEST_CASE("overlap: a piece of a source is read while the one before it is written", "[once]") {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < count; ++i) rows.push_back({static_cast<double>(i), 1.0});
  for (const int threads : {2, 3}) {
    Steps reads, writes;
    const auto source = ragged<double>("pieces", rows);
    source->read_in_pieces();
    // The second one: later on other threads may be reading ahead.
    source->on_read = [&](std::int64_t first, std::int64_t) {
      if (first != 1) return;
      writes.wait_for(1);
      reads.reach(1);
    };
    const auto sink = slow_sink([&](int k) {
      writes.reach(k + 1);
      reads.wait_for(1);
    });
    RunReport report;
    compile(consume(write(map_seq(doubled, stream_in(Source<Vector<double>>(source))),
                          Sink<Vector<double>>(sink))))
        .run(one_by_one(threads), &report);
    REQUIRE(report.stages.size() == 1);
    CHECK(report.stages[0].in_pieces);
    CHECK_FALSE((reads.given_up() || writes.given_up()));
    check_written(*sink);
  }
}

}  // namespace
}  // namespace anabranch::testing
