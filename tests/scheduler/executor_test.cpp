#include "scheduler/executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "executors.h"
#include "manual_clock.h"
#include "scheduler/busy.h"
#include "scheduler/task_queue.h"
#include "support/catch.h"

#if !defined(__SANITIZE_THREAD__)
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;
using anabranch::scheduler::test::all_executors;

TEST_CASE("every piece runs exactly once") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    for (const int64_t pieces : {0, 1, 2, 3, 7, 100, 10'000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(pieces));
      executor->parallel_for(pieces, [&](int64_t piece) { ++runs[static_cast<std::size_t>(piece)]; });
      REQUIRE(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n == 1; }));
    }
  }
}

TEST_CASE("a negative number of pieces is none") {
  for (const auto& [name, executor] : all_executors()) {
    executor->parallel_for(-1, [&](int64_t) { throw std::logic_error("called"); });
  }
}

TEST_CASE("one piece runs on the calling thread") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::thread::id id;
    executor->parallel_for(1, [&](int64_t) { id = std::this_thread::get_id(); });
    REQUIRE(id == std::this_thread::get_id());
  }
}

TEST_CASE("loops run in line with concurrency 1, and where a thread asks for it") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    const bool alone = executor->concurrency() == 1;
    CHECK(executor->runs_in_line() == alone);
    CHECK(executor->concurrency_here() == executor->concurrency());
    {
      const LoopsInLine asked(true);
      CHECK(executor->runs_in_line());
      CHECK(executor->concurrency_here() == 1);
    }
    CHECK(executor->runs_in_line() == alone);
    CHECK(executor->concurrency_here() == executor->concurrency());
  }
}

TEST_CASE("with concurrency 1 pieces run inline and in order") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() != 1) continue;
    INFO(name);
    std::vector<int64_t> order;
    executor->parallel_for(5, [&](int64_t piece) { order.push_back(piece); });
    REQUIRE(order == std::vector<int64_t>{0, 1, 2, 3, 4});
  }
}

TEST_CASE("pieces really run at the same time") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    // Ends only if two threads are in the loop at once.
    std::latch both(2);
    executor->parallel_for(2, [&](int64_t) { both.arrive_and_wait(); });
  }
}

TEST_CASE("what a piece wrote is seen after the loop") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::vector<int64_t> values(1000);
    for (int round = 0; round < 20; ++round) {
      executor->parallel_for(1000, [&](int64_t piece) { values[static_cast<std::size_t>(piece)] += piece; });
    }
    REQUIRE(std::accumulate(values.begin(), values.end(), int64_t{0}) == 20 * 999 * 1000 / 2);
  }
}

TEST_CASE("loops nest") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::atomic<int> count = 0;
    executor->parallel_for(8, [&](int64_t) {
      executor->parallel_for(8, [&](int64_t) { executor->parallel_for(3, [&](int64_t) { ++count; }); });
    });
    REQUIRE(count == 8 * 8 * 3);
  }
}

TEST_CASE("a piece that waits for a nested loop is not interrupted by another piece of the outer one") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::atomic<bool> interrupted = false;
    executor->parallel_for(64, [&](int64_t) {
      thread_local bool inside = false;
      if (inside) interrupted = true;
      inside = true;
      executor->parallel_for(4, [&](int64_t) { std::this_thread::yield(); });
      inside = false;
    });
    REQUIRE(!interrupted);
  }
}

namespace {
struct Odd {
  int64_t piece;
};
}  // namespace

TEST_CASE("the exception of the lowest failing piece comes out with its type") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    for (const int64_t first : {0, 1, 50, 99}) {
      int64_t caught = -1;
      try {
        executor->parallel_for(100, [&](int64_t piece) {
          if (piece >= first) throw Odd{piece};
        });
      } catch (const Odd& odd) {
        caught = odd.piece;
      }
      REQUIRE(caught == first);
    }
    // From inside a nested loop too, and the executor lives on.
    REQUIRE_THROWS_AS(executor->parallel_for(4,
                                             [&](int64_t) {
                                               executor->parallel_for(4, [](int64_t piece) {
                                                 if (piece == 3) throw std::out_of_range("x");
                                               });
                                             }),
                      std::out_of_range);
    std::atomic<int> count = 0;
    executor->parallel_for(10, [&](int64_t) { ++count; });
    REQUIRE(count == 10);
  }
}

TEST_CASE("a higher piece that throws later does not hide the lowest") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() != 2) continue;
    INFO(name);
    std::latch both(2);
    int64_t caught = -1;
    try {
      executor->parallel_for(2, [&](int64_t piece) {
        both.arrive_and_wait();
        if (piece == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        throw Odd{piece};
      });
    } catch (const Odd& odd) {
      caught = odd.piece;
    }
    REQUIRE(caught == 0);
  }
}

TEST_CASE("no pieces are begun after one has thrown") {
  const auto executor = make_plain_executor(1);
  int runs = 0;
  REQUIRE_THROWS(executor->parallel_for(100, [&](int64_t) {
    ++runs;
    throw std::runtime_error("stop");
  }));
  REQUIRE(runs == 1);
}

TEST_CASE("submitted tasks all run, at the latest when the executor goes") {
  for (auto& [name, executor] : all_executors()) {
    INFO(name);
    std::atomic<int> count = 0;
    for (int i = 0; i < 100; ++i) executor->submit([&] { ++count; });
    executor.reset();
    REQUIRE(count == 100);
  }
}

TEST_CASE("a submitted task runs beside its submitter") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    const auto started = std::make_shared<std::latch>(1);
    executor->submit([started] { started->count_down(); });
    started->wait();
  }
}

TEST_CASE("a task that waits takes none of the threads that compute") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() == 1) continue;
    INFO(name);
    std::latch computed(executor->concurrency());
    std::latch waiting(3);
    for (int i = 0; i < 2; ++i)
      executor->submit_waiting([&] {
        computed.wait();
        waiting.count_down();
      });
    // Each piece waits for all others.
    executor->parallel_for(executor->concurrency(), [&](int64_t) { computed.arrive_and_wait(); });
    waiting.arrive_and_wait();
  }
}

TEST_CASE("tasks that wait all run, at the latest when the executor goes") {
  std::atomic<int> runs = 0;
  for (auto& [name, executor] : all_executors()) {
    for (int i = 0; i < 200; ++i) executor->submit_waiting([&] { ++runs; });
    executor.reset();
    INFO(name);
    REQUIRE(runs.exchange(0) == 200);
  }
}

TEST_CASE("withdrawn tasks do not run, and what they hold goes") {
  for (auto& [name, executor] : all_executors()) {
    const int threads = executor->concurrency();
    if (threads == 1) continue;
    INFO(name);
    const auto held = std::make_shared<int>(0);
    std::atomic<int> others = 0, withdrawn = 0;
    const auto over = std::make_shared<std::latch>(1);
    for (int i = 1; i < threads; ++i) executor->submit([over] { over->wait(); });
    for (int i = 0; i < 64; ++i) executor->submit_waiting([over] { over->wait(); });
    for (int i = 0; i < 100; ++i) {
      executor->submit([&, held] { ++withdrawn; }, &withdrawn);
      executor->submit([&, held] { ++others; }, &others);
      executor->submit_waiting([&, held] { ++withdrawn; }, &withdrawn);
      executor->submit_waiting([&, held] { ++others; }, &others);
    }
    CHECK(held.use_count() == 401);
    executor->withdraw(&withdrawn);
    CHECK(held.use_count() == 201);
    over->count_down();
    executor.reset();
    CHECK(held.use_count() == 1);
    CHECK(withdrawn == 0);
    CHECK(others == 200);
  }
}

TEST_CASE("a queue asks for no more visits than it has had tasks at once") {
  TaskQueue queue;
  int runs = 0;
  const auto push = [&] { queue.push([&] { ++runs; }, &queue); };
  push();
  CHECK(queue.wants_visit());
  for (int i = 0; i < 1000; ++i) {
    queue.withdraw(&queue);
    push();
    REQUIRE(!queue.wants_visit());
  }
  push();
  CHECK(queue.wants_visit());
  CHECK(!queue.wants_visit());
  queue.visit();
  CHECK(runs == 1);
  CHECK(!queue.wants_visit());
  queue.no_visit();
  queue.visit();  // it comes all the same
  CHECK(runs == 2);
  push();
  CHECK(queue.wants_visit());
  queue.withdraw(&queue);
  queue.visit();  // in vain
  CHECK(runs == 2);
  push();
  CHECK(queue.wants_visit());
}

TEST_CASE("with concurrency 1 a submitted task runs at once, here") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() != 1) continue;
    std::thread::id id;
    executor->submit([&] { id = std::this_thread::get_id(); });
    REQUIRE(id == std::this_thread::get_id());
  }
}

TEST_CASE("many threads share one executor") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::atomic<int64_t> count = 0;
    {
      std::vector<std::jthread> users;
      for (int user = 0; user < 4; ++user) {
        users.emplace_back([&, &shared = *executor] {
          for (int round = 0; round < 50; ++round) shared.parallel_for(20, [&](int64_t) { ++count; });
        });
      }
    }
    REQUIRE(count == 4 * 50 * 20);
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("works inside a user's own oneTBB arena and loops, even cancelled ones") {
  const auto executor = make_tbb_executor(2);
  std::atomic<int> count = 0;
  tbb::task_arena arena(2);
  arena.execute(
      [&] { tbb::parallel_for(0, 8, [&](int) { executor->parallel_for(10, [&](int64_t) { ++count; }); }); });
  REQUIRE(count == 80);

  // Both from outside of the executor's arena and from inside, where the cancelled work surrounds the loop.
  const auto complete_when_cancelled = [&] {
    int complete = 0;
    tbb::task_group_context context;
    tbb::parallel_for(
        0, 1,
        [&](int) {
          context.cancel_group_execution();
          std::atomic<int> done = 0;
          executor->parallel_for(10, [&](int64_t) { ++done; });
          complete = done;
        },
        context);
    return complete == 10;
  };
  REQUIRE(complete_when_cancelled());
  std::atomic<int> good = 0;
  executor->parallel_for(4, [&](int64_t) { good += complete_when_cancelled(); });
  REQUIRE(good == 4);
}
#endif

TEST_CASE("the number of threads is checked") {
  REQUIRE_THROWS_AS(make_plain_executor(-1), std::invalid_argument);
  REQUIRE_THROWS_AS(make_tbb_executor(-1), std::invalid_argument);
  REQUIRE_THROWS_AS(make_tbb_executor(1'000'000), std::invalid_argument);
  REQUIRE(make_plain_executor()->concurrency() >= 1);
  REQUIRE(make_plain_executor(3)->concurrency() == 3);
}

TEST_CASE("busy time is counted in leaves, once") {
  ManualClock clock;
  BusyMeter meter(clock);
  {
    const BusySpan outer(&meter);
    REQUIRE(current_meter() == &meter);
    clock.advance(10);
    {
      const BusySpan waiting(nullptr);
      REQUIRE(current_meter() == nullptr);
      clock.advance(100);
      {
        const BusySpan inner(&meter);
        clock.advance(5);
      }
      clock.advance(100);
    }
    clock.advance(1);
  }
  clock.advance(1000);
  REQUIRE(meter.busy_ns() == 16);
  REQUIRE(current_meter() == nullptr);
}

TEST_CASE("a loop counts for the meter of the thread that began it") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    ManualClock clock;
    BusyMeter meter(clock);
    std::atomic<int> metered = 0;
    {
      const BusySpan busy(&meter);
      executor->parallel_for(50, [&](int64_t) {
        if (current_meter() == &meter) ++metered;
      });
    }
    REQUIRE(metered == 50);
    executor->parallel_for(50, [&](int64_t) {
      if (current_meter() == nullptr) ++metered;
    });
    REQUIRE(metered == 100);
  }
}
