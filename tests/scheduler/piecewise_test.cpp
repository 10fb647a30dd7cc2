// Streams that are worked at in pieces, many at once: order, stops, memory, threads.
#include "scheduler/piecewise.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "executors.h"
#include "manual_clock.h"
#include "numbers_in_pieces.h"
#include "scheduler/budget.h"
#include "scheduler/busy.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

namespace {

/// It does not say that threads have waited, for each other say: so nothing is read ahead.
class NoWaits final : public Clock {
 public:
  int64_t now_ns() const noexcept override { return steady_clock().now_ns(); }
};

}  // namespace

TEST_CASE("pieces: nothing is lost, doubled or reordered") {
  const NoWaits clock;
  for (const auto& [name, executor] : all_executors())
    for (const Policy& policy : {Policy::fixed(1), Policy::fixed(7), Policy::paper(), Policy::adaptive()})
      for (const int64_t count : {1, 2, 8, 1000, 300'000}) {
        if (count > 10'000 && policy.kind == Policy::Kind::fixed) continue;
        INFO(name << " " << to_string(policy) << " items " << count);
        NumbersInPieces numbers(count);
        const PipelineResult result = numbers.run(*executor, {.policy = policy, .clock = &clock});
        REQUIRE(numbers.violation().empty());
        REQUIRE(numbers.committed_is_all());
        REQUIRE(!result.cancelled);
        REQUIRE(result.summary.total == ChunkSize{count, count, count * 8});
        REQUIRE(result.summary.chunks == numbers.pieces());
        REQUIRE(numbers.most_at_once() <= executor->concurrency());
      }
}

TEST_CASE("pieces: phases of random length keep the order") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    NumbersInPieces numbers(300);
    const auto pause = [](int64_t piece, int salt) {
      std::this_thread::sleep_for(std::chrono::microseconds((piece * 7919 + salt * 31) % 97));
    };
    numbers.on_take = [&](int64_t piece) { pause(piece, 0); };
    numbers.on_read = [&](int64_t piece) { pause(piece, 1); };
    numbers.on_compute = [&](int64_t piece) { pause(piece, 2); };
    numbers.on_commit = [&](int64_t piece) { pause(piece, 3); };
    numbers.run(*executor, {.policy = Policy::fixed(3)});
    REQUIRE(numbers.violation().empty());
    REQUIRE(numbers.committed_is_all());
  }
}

TEST_CASE("pieces: an empty stream") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    NumbersInPieces numbers(0);
    const PipelineResult result = numbers.run(*executor, {});
    REQUIRE(!result.cancelled);
    REQUIRE(result.summary.chunks == 0);
    REQUIRE(numbers.pieces() == 0);
  }
}

TEST_CASE("pieces: with concurrency 1, or in line, all is in order, in one slot, on the calling thread") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    const LoopsInLine others_work(executor->concurrency() > 1);
    REQUIRE(piece_slots(*executor) == 1);
    NumbersInPieces numbers(10, 1);
    const auto here = std::this_thread::get_id();
    bool elsewhere = false;
    std::string order;
    const auto note = [&](char c) {
      elsewhere |= std::this_thread::get_id() != here;
      order += c;
    };
    numbers.on_take = [&](int64_t) { note('t'); };
    numbers.on_read = [&](int64_t) { note('r'); };
    numbers.on_compute = [&](int64_t) { note('c'); };
    numbers.on_commit = [&](int64_t) { note('w'); };
    numbers.run(*executor, {.policy = Policy::fixed(5)});
    REQUIRE(order == "trcwtrcwt");
    REQUIRE(!elsewhere);
  }
}

TEST_CASE("pieces are read and computed side by side") {
  for (const auto& [name, executor] : all_executors()) {
    const int threads = executor->concurrency();
    if (threads < 2) continue;
    INFO(name);
    // Ends only if as many pieces as there are threads are read at once, and then computed at once.
    std::latch reading(threads), computing(threads);
    NumbersInPieces numbers(threads);
    numbers.on_read = [&](int64_t) { reading.arrive_and_wait(); };
    numbers.on_compute = [&](int64_t) { computing.arrive_and_wait(); };
    numbers.run(*executor, {.policy = Policy::fixed(1)});
    REQUIRE(numbers.committed_is_all());
    REQUIRE(numbers.most_at_once() == threads);
  }
}

TEST_CASE("pieces that are done wait for the first, and others are taken meanwhile") {
  for (const auto& [name, executor] : all_executors()) {
    const int threads = executor->concurrency();
    if (threads < 2) continue;
    INFO(name);
    std::latch later_ones(threads);
    NumbersInPieces numbers(20);
    // (Not computed: that the calling thread may do for others, and while it waits it cannot.)
    numbers.on_read = [&](int64_t piece) {
      if (piece == 0) later_ones.wait();
    };
    numbers.on_compute = [&](int64_t piece) {
      if (piece > 0 && piece <= threads) later_ones.count_down();
    };
    numbers.run(*executor, {.policy = Policy::fixed(1)});
    REQUIRE(numbers.committed_is_all());
    REQUIRE(numbers.violation().empty());
  }
}

TEST_CASE("pieces: never more in flight than there are slots") {
  for (const auto& [name, executor] : all_executors())
    for (const int slots : {1, 2, 3, 5}) {
      INFO(name << " slots " << slots);
      NumbersInPieces numbers(100, slots);  // a higher slot would throw
      numbers.run(*executor, {.policy = Policy::fixed(1)});
      REQUIRE(numbers.committed_is_all());
      REQUIRE(numbers.violation().empty());
    }
}

TEST_CASE("pieces: a run makes progress when every other thread is taken") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    const auto over = std::make_shared<std::latch>(1);
    for (int i = 1; i < executor->concurrency(); ++i) executor->submit([over] { over->wait(); });
    NumbersInPieces numbers(500);
    numbers.run(*executor, {.policy = Policy::fixed(2)});
    over->count_down();
    REQUIRE(numbers.committed_is_all());
  }
}

TEST_CASE("pieces: many runs share one executor, and one is inside a loop of another") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::vector<std::unique_ptr<NumbersInPieces>> streams;
    for (int run = 0; run < 8; ++run) streams.push_back(std::make_unique<NumbersInPieces>(400));
    {
      std::vector<std::jthread> users;
      for (int run = 0; run < 4; ++run)
        users.emplace_back([&stream = *streams[static_cast<std::size_t>(run)], &shared = *executor] {
          stream.run(shared, {.policy = Policy::fixed(5)});
        });
      executor->parallel_for(4, [&](int64_t run) {
        streams[static_cast<std::size_t>(4 + run)]->run(*executor, {.policy = Policy::fixed(3)});
      });
    }
    for (const auto& stream : streams) {
      REQUIRE(stream->committed_is_all());
      REQUIRE(stream->violation().empty());
    }
  }
}

TEST_CASE("pieces: a run that comes while another one has all threads gets some of them") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    constexpr int64_t many = 100'000'000;
    std::stop_source end_first, end_second;
    std::latch begun(50);
    std::atomic<int> computed = 0;
    NumbersInPieces first(many), second(many);
    first.on_compute = [&](int64_t) {
      if (++computed <= 50) begun.count_down();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    std::jthread other(
        [&] { first.run(*executor, {.policy = Policy::fixed(1), .stop = end_first.get_token()}); });
    begun.wait();
    std::mutex mutex;
    std::set<std::thread::id> threads;
    const auto start = std::chrono::steady_clock::now();
    second.on_compute = [&](int64_t) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      if (threads.size() > 1 || std::chrono::steady_clock::now() - start > std::chrono::seconds(30))
        end_second.request_stop();
    };
    second.run(*executor, {.policy = Policy::fixed(1), .stop = end_second.get_token()});
    end_first.request_stop();
    other.join();
    CHECK(threads.size() > 1);
    CHECK(first.violation() == "");
    CHECK(second.violation() == "");
  }
}

TEST_CASE("pieces: phases are checked before the run") {
  const auto executor = make_plain_executor(1);
  NumbersInPieces numbers(1);
  PiecePhases phases = numbers.phases();
  phases.commit = nullptr;
  REQUIRE_THROWS_AS(run_piecewise(*executor, phases, {}), std::invalid_argument);
  phases = numbers.phases();
  phases.take = nullptr;
  REQUIRE_THROWS_AS(run_piecewise(*executor, phases, {}), std::invalid_argument);
  REQUIRE_THROWS_AS(run_piecewise(*executor, numbers.phases(), {.max_ring = 0}), std::invalid_argument);
  for (const int64_t limit : {-1, 0})
    REQUIRE_THROWS_AS(run_piecewise(*executor, numbers.phases(), {.memory_limit = limit}),
                      std::invalid_argument);
}

TEST_CASE("pieces: records are in order and utilisation is a share") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    NumbersInPieces numbers(100);
    Trace trace;
    const PipelineResult result = numbers.run(*executor, {.policy = Policy::fixed(10), .trace = &trace});
    REQUIRE(result.summary.utilisation >= 0);
    REQUIRE(result.summary.utilisation <= 1);
    REQUIRE(trace.records().size() == 10);
    int64_t chunk = 0;
    for (const ChunkTimes& record : trace.records()) {
      REQUIRE(record.chunk == chunk++);
      REQUIRE(record.utilisation > 0);
      REQUIRE(record.utilisation <= 1);
      REQUIRE(record.read.end_ns >= record.read.begin_ns);
      REQUIRE(record.compute.begin_ns >= record.read.end_ns);
      REQUIRE(record.write.begin_ns >= record.compute.end_ns);
      // Where the calling thread, which is 0, has nothing to do, all help it to compute.
      const bool by_all = record.compute.thread == 0;
      REQUIRE((by_all || record.read.thread == record.compute.thread));
    }
  }
}

TEST_CASE("pieces: reading is waited for, and only computing keeps threads busy") {
  const auto executor = make_plain_executor(1);
  ManualClock clock;
  NumbersInPieces numbers(40);
  numbers.on_take = [&](int64_t) { clock.advance(30); };
  numbers.on_read = [&](int64_t) { clock.advance(60); };
  numbers.on_compute = [&](int64_t) { clock.advance(8); };
  numbers.on_commit = [&](int64_t) { clock.advance(2); };
  Trace trace;
  const Summary summary =
      numbers.run(*executor, {.policy = Policy::fixed(10), .clock = &clock, .trace = &trace}).summary;
  CHECK(summary.wall_ns == 430);  // the end is found out as a piece is
  CHECK(summary.phase_ns.read == 360);
  CHECK(summary.phase_ns.wait == 360);
  CHECK(summary.phase_ns.compute == 32);
  CHECK(summary.phase_ns.write == 8);
  CHECK(summary.utilisation == Approx(32.0 / 430));
  for (const ChunkTimes& record : trace.records()) CHECK(record.wait_ns == 90);
}

TEST_CASE("pieces: what a thread puts aside while it computes is neither computing nor busy") {
  const auto executor = make_plain_executor(1);
  ManualClock clock;
  NumbersInPieces numbers(20);
  numbers.on_compute = [&](int64_t piece) {
    clock.advance(10);
    if (piece != 0) return;
    clock.advance(1000);
    put_aside(1000);
  };
  Trace trace;
  const Summary summary =
      numbers.run(*executor, {.policy = Policy::fixed(10), .clock = &clock, .trace = &trace}).summary;
  CHECK(summary.wall_ns == 1020);
  CHECK(summary.phase_ns.compute == 20);
  CHECK(summary.utilisation == Approx(20.0 / 1020));
  CHECK(trace.records()[0].aside_ns == 1000);
  CHECK(trace.records()[1].aside_ns == 0);
}

TEST_CASE("pieces: a stop request lets what has begun end, and begins nothing else") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::stop_source stop;
    NumbersInPieces numbers(1'000'000);
    numbers.on_compute = [&](int64_t piece) {
      if (piece == 10) stop.request_stop();
    };
    const PipelineResult result =
        numbers.run(*executor, {.policy = Policy::fixed(1), .stop = stop.get_token()});
    REQUIRE(result.cancelled);
    REQUIRE(numbers.pieces() <= 11 + piece_slots(*executor));
    REQUIRE(numbers.committed_is_prefix());
    REQUIRE(numbers.committed().size() <= 10);
    REQUIRE(numbers.violation().empty());
  }
}

TEST_CASE("pieces: a stop request before the run takes nothing; stopping at random times") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::stop_source before;
    before.request_stop();
    NumbersInPieces none(10);
    REQUIRE(none.run(*executor, {.stop = before.get_token()}).cancelled);
    REQUIRE(none.pieces() == 0);
    for (int microseconds = 0; microseconds < 400; microseconds += 13) {
      std::stop_source stop;
      NumbersInPieces numbers(20'000);
      PipelineResult result;
      {
        const std::jthread stopper([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
          stop.request_stop();
        });
        result = numbers.run(*executor, {.policy = Policy::fixed(10), .stop = stop.get_token()});
      }
      REQUIRE(numbers.violation().empty());
      REQUIRE(numbers.committed_is_prefix());
      REQUIRE(result.cancelled == !numbers.committed_is_all());
    }
  }
}

TEST_CASE("pieces: what is too much to take is halved until it is not") {
  for (const auto& [name, executor] : all_executors())
    for (const Policy& policy : {Policy::fixed(100), Policy::adaptive(), Policy::paper()})
      for (const int64_t most : {1, 3, 60}) {
        INFO(name << " " << to_string(policy) << " at most " << most);
        NumbersInPieces numbers(1000);
        numbers.most_taken = most;
        const PipelineResult result = numbers.run(*executor, {.policy = policy});
        REQUIRE(numbers.violation().empty());
        REQUIRE(numbers.committed_is_all());
        REQUIRE(result.summary.most.items <= most);
        if (policy.kind != Policy::Kind::paper) REQUIRE(result.summary.halvings > 0);
        REQUIRE(result.summary.halvings < 100);
      }
}

TEST_CASE("pieces: one item that cannot be taken is the user's error") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    NumbersInPieces numbers(100);
    numbers.most_taken = 0;
    REQUIRE_THROWS_AS(numbers.run(*executor, {.policy = Policy::fixed(50)}), ChunkTooBig);
    REQUIRE(numbers.committed().empty());
  }
}

TEST_CASE("pieces: what has no memory beside others is computed alone, in its turn; later ones are smaller") {
  for (const auto& [name, executor] : all_executors())
    for (const Policy& policy : {Policy::fixed(500), Policy::adaptive(), Policy::paper()}) {
      INFO(name << " " << to_string(policy));
      NumbersInPieces numbers(100'000);
      numbers.most_computed = 60;
      const PipelineResult result = numbers.run(*executor, {.policy = policy});
      REQUIRE(numbers.violation().empty());
      REQUIRE(numbers.committed_is_all());
      REQUIRE(numbers.computed_alone() > 0);
      REQUIRE(numbers.computed_alone() <= 24 + result.summary.chunks / 10);
    }
}

TEST_CASE("pieces: an item that needs the whole memory travels alone") {
  constexpr int64_t limit = 1000;
  constexpr int64_t big = 13;  // the item that takes 900 bytes; the others take 40
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Budget budget(limit);
    std::vector<Reservation> held(64);
    std::vector<int64_t> items(64), committed;
    std::atomic<int> at_once = 0;
    bool beside_big = false;
    int64_t next = 0;
    PiecePhases phases;
    phases.take = [&](int slot, const Target& target) -> std::optional<ChunkSize> {
      if (next == 40) return std::nullopt;
      const int64_t bytes = next == big ? 900 : 40;
      if (bytes > target.bytes) throw ChunkTooBig("item 13 needs 900 bytes", {1, 1, bytes});
      held[static_cast<std::size_t>(slot)] = budget.reserve("slot", bytes);
      items[static_cast<std::size_t>(slot)] = next++;
      return ChunkSize{1, 1, bytes};
    };
    phases.read = [&](int slot) {
      return ChunkSize{1, 1, items[static_cast<std::size_t>(slot)] == big ? 900 : 40};
    };
    phases.compute = [&](int slot, bool) {
      const int now = ++at_once;
      if (items[static_cast<std::size_t>(slot)] == big) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        beside_big = now > 1;
      }
      --at_once;
      held[static_cast<std::size_t>(slot)].release();  // what has been computed is not looked at any more
      return Computed::whole;
    };
    phases.commit = [&](int slot) { committed.push_back(items[static_cast<std::size_t>(slot)]); };
    run_piecewise(*executor, phases,
                  {.policy = Policy::fixed(1), .max_ring = piece_slots(*executor), .memory_limit = limit});
    REQUIRE(committed.size() == 40);
    REQUIRE(std::is_sorted(committed.begin(), committed.end()));
    REQUIRE(budget.peak() <= limit);
    REQUIRE(!beside_big);
  }
}

TEST_CASE("pieces: a large item is computed by the calling thread, and idle threads help") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    // An item has 8 bytes, and a piece shall have 3 at most.
    NumbersInPieces numbers(12);
    const auto here = std::this_thread::get_id();
    bool elsewhere = false;
    numbers.on_compute = [&](int64_t) {
      elsewhere |= std::this_thread::get_id() != here;
      // Ends only if all threads take part.
      std::latch all(executor->concurrency());
      executor->parallel_for(executor->concurrency(), [&](int64_t) { all.arrive_and_wait(); });
    };
    numbers.run(*executor, {.policy = Policy::fixed(1), .memory_limit = 3 * (executor->concurrency() + 1)});
    REQUIRE(numbers.committed_is_all());
    REQUIRE(!elsewhere);
  }
}

TEST_CASE("pieces: where every thread has one, loops run in line") {
  for (const auto& [name, executor] : all_executors()) {
    const int threads = executor->concurrency();
    if (threads < 2) continue;
    INFO(name);
    std::latch all(threads), over(1);
    bool elsewhere = false;
    std::vector<int64_t> order;
    NumbersInPieces numbers(threads);
    numbers.on_read = [&](int64_t) { all.arrive_and_wait(); };
    numbers.on_compute = [&](int64_t piece) {
      if (piece != 0) return over.wait();
      const auto here = std::this_thread::get_id();
      executor->parallel_for(64, [&](int64_t i) {
        elsewhere |= std::this_thread::get_id() != here;
        order.push_back(i);
      });
      over.count_down();
    };
    numbers.run(*executor, {.policy = Policy::fixed(1)});
    REQUIRE(numbers.committed_is_all());
    REQUIRE(!elsewhere);
    REQUIRE(order.size() == 64);
    REQUIRE(std::is_sorted(order.begin(), order.end()));
  }
}

TEST_CASE("pieces: of several items of some times the size each thread computes one") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    int64_t next = 0;
    std::vector<int64_t> item_of(64);
    std::atomic<int> begun = 0;
    std::atomic<bool> one_after_the_other = false;
    PiecePhases phases;
    phases.take = [&](int slot, const Target&) -> std::optional<ChunkSize> {
      if (next == 20) return std::nullopt;
      item_of[static_cast<std::size_t>(slot)] = next++;
      return ChunkSize{1, 100, 8};
    };
    phases.read = [](int) { return ChunkSize{1, 100, 8}; };
    phases.compute = [&](int slot, bool) {
      // (Others wait, too: what is left when they are done is for all.)
      if (item_of[static_cast<std::size_t>(slot)] < 2) ++begun;
      for (int i = 0; i < 5000 && begun < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (begun < 2) one_after_the_other = true;
      return Computed::whole;
    };
    phases.commit = [](int) {};
    run_piecewise(*executor, phases, {.policy = Policy::adaptive(), .max_ring = 64, .start_work = 10});
    REQUIRE(next == 20);
    REQUIRE(!one_after_the_other);
  }
}

/// Whether other threads compute pieces while one is told of a piece.
struct OthersGoOn {
  explicit OthersGoOn(NumbersInPieces& numbers) {
    numbers.on_compute = [this](int64_t piece) {
      // Slots are left for those to come.
      for (int i = 0; i < 5000 && piece >= 8 && !is_told; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++computed;
    };
  }
  /// By who is told, once.
  void wait() {
    is_told = true;
    const int64_t before = computed;
    for (int i = 0; i < 5000 && !went_on; ++i) {
      went_on = computed >= before + 3;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::atomic<int64_t> computed = 0;
  std::atomic<bool> is_told = false;
  bool went_on = false;
};

TEST_CASE("pieces: others go on while somebody is told of a piece") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    NumbersInPieces numbers(200);
    OthersGoOn others(numbers);
    Trace trace;
    trace.on_chunk([&](const ChunkTimes& chunk) {
      if (chunk.chunk == 0) others.wait();
    });
    numbers.run(*executor, {.policy = Policy::fixed(1), .trace = &trace});
    REQUIRE(numbers.committed_is_all());
    REQUIRE(others.went_on);
  }
}

TEST_CASE("pieces: others go on while the controller is told of a piece") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    NumbersInPieces numbers(200);
    OthersGoOn others(numbers);
    PiecePhases phases = numbers.phases();
    phases.array_bytes = [&, is_first = true](int) mutable -> int64_t {
      if (std::exchange(is_first, false)) others.wait();
      return 0;
    };
    run_piecewise(*executor, phases, {.policy = Policy::fixed(1), .max_ring = piece_slots(*executor)});
    REQUIRE(numbers.committed_is_all());
    REQUIRE(numbers.violation().empty());
    REQUIRE(others.went_on);
  }
}

TEST_CASE("pieces: of many large items at the end of a stream each of many threads computes one") {
  constexpr int threads = 40, items = 39;
  constexpr int for_caller = 17;  // those that wait for the calling thread, and the one that it is computing
  const auto executor = make_plain_executor(threads);
  const auto caller = std::this_thread::get_id();
  const auto wait_for = [](auto&& is_so) {
    for (int i = 0; i < 30'000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return is_so();
  };
  int64_t next = 0;
  std::atomic<bool> is_over = false, in_vain = false;
  std::atomic<int> by_others = 0;
  std::vector<int64_t> item_of(64), committed;
  PiecePhases phases;
  phases.take = [&](int slot, const Target&) -> std::optional<ChunkSize> {
    if (next == items) {
      is_over = true;
      return std::nullopt;
    }
    item_of[static_cast<std::size_t>(slot)] = next++;
    return ChunkSize{1, 100, 8};
  };
  // When the first has been read, all have been taken.
  phases.read = [&](int) {
    if (!wait_for([&] { return is_over.load(); })) in_vain = true;
    return ChunkSize{1, 100, 8};
  };
  phases.compute = [&](int, bool) {
    if (std::this_thread::get_id() != caller)
      ++by_others;
    else if (!wait_for([&] { return by_others >= items - for_caller; }))
      in_vain = true;
    return Computed::whole;
  };
  phases.commit = [&](int slot) { committed.push_back(item_of[static_cast<std::size_t>(slot)]); };
  run_piecewise(*executor, phases, {.policy = Policy::adaptive(), .max_ring = 64, .start_work = 10});
  REQUIRE(committed.size() == items);
  REQUIRE(std::is_sorted(committed.begin(), committed.end()));
  REQUIRE(!in_vain);
}

TEST_CASE("pieces: of one piece, though others are expected, the loops are shared") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    NumbersInPieces numbers(1);
    // While the calling thread looks for another one, nobody knows that it would have nothing to do.
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> looks = 0;
    numbers.on_take = [&](int64_t) { ++looks; };
    numbers.on_read = [&](int64_t) {
      if (std::this_thread::get_id() == caller) return;
      for (int i = 0; i < 5000 && looks < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it has looked
    };
    std::atomic<int> here = 0;
    std::atomic<bool> one_after_the_other = false;
    numbers.on_compute = [&](int64_t) {
      executor->parallel_for(2, [&](int64_t) {
        ++here;
        for (int i = 0; i < 5000 && here < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (here < 2) one_after_the_other = true;
      });
    };
    numbers.run(*executor, {.policy = Policy::fixed(1)});
    REQUIRE(numbers.committed_is_all());
    REQUIRE(here == 2);
    REQUIRE(!one_after_the_other);
  }
}

namespace {

// Says that it has more threads than it has, and counts the tasks.
class CountingExecutor : public Executor {
 public:
  CountingExecutor(int claimed, int threads) : Executor(claimed), pool_(make_plain_executor(threads)) {}
  ~CountingExecutor() override { stop_waiting(); }
  void submit(Task task, const void* owner) override {
    ++submitted;
    pool_->submit(std::move(task), owner);
  }
  std::atomic<int> submitted = 0;

 protected:
  void withdraw_from_queue(const void* owner) noexcept override { pool_->withdraw(owner); }
  void team(int, FunctionRef<void()> member) override { member(); }

 private:
  std::unique_ptr<Executor> pool_;
};

}  // namespace

TEST_CASE("pieces: of many threads no more are woken than find work") {
  {
    CountingExecutor executor(64, 4);
    NumbersInPieces numbers(2);
    numbers.run(executor, {.policy = Policy::fixed(1)});
    REQUIRE(numbers.committed_is_all());
    CHECK(executor.submitted <= 30);  // not 63
  }
  {
    // A piece that waits for its turn has a slot: each that is committed makes room for one.
    CountingExecutor executor(64, 4);
    NumbersInPieces numbers(300, 4);
    numbers.on_commit = [](int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
    numbers.run(executor, {.policy = Policy::fixed(1)});
    REQUIRE(numbers.committed_is_all());
    CHECK(executor.submitted <= 3 * 300);
  }
  {
    // Where there is work for all, all come.
    CountingExecutor executor(9, 9);
    NumbersInPieces numbers(5000);
    std::atomic<int> computing = 0;
    std::atomic<bool> all = false;
    numbers.on_compute = [&](int64_t) {
      if (++computing == 9) all = true;
      for (int i = 0; i < 5000 && !all; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --computing;
    };
    numbers.run(executor, {.policy = Policy::fixed(1)});
    REQUIRE(numbers.committed_is_all());
    CHECK(all);
  }
}

namespace {

// Has no thread besides the caller's: tasks wait until they are withdrawn.
class NoThreadExecutor : public Executor {
 public:
  NoThreadExecutor() : Executor(4) {}
  ~NoThreadExecutor() override { stop_waiting(); }
  void submit(Task task, const void* owner) override {
    ++submitted;
    tasks.push_back(std::move(task), owner);
  }
  int submitted = 0;
  TaskList tasks;

 protected:
  void withdraw_from_queue(const void* owner) noexcept override { (void)tasks.take_all_of(owner); }
  void team(int, FunctionRef<void()> member) override { member(); }
};

}  // namespace

// Runs inside a run are many, and may all end before a thread has time for them.
TEST_CASE("pieces: a run that is over leaves no task behind") {
  NoThreadExecutor executor;
  for (int run = 0; run < 20; ++run) {
    NumbersInPieces numbers(100);
    if (run % 2 == 1)
      numbers.on_compute = [](int64_t piece) {
        if (piece == 50) throw std::runtime_error("enough");
      };
    if (run % 2 == 0)
      numbers.run(executor, {.policy = Policy::fixed(1)});
    else
      REQUIRE_THROWS_AS(numbers.run(executor, {.policy = Policy::fixed(1)}), std::runtime_error);
    REQUIRE(executor.submitted > run);
    REQUIRE(executor.tasks.empty());
  }
}

TEST_CASE("loops run in line as long as they are told to") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    const auto here = std::this_thread::get_id();
    std::vector<int64_t> order;
    {
      const LoopsInLine in_line(true);
      const LoopsInLine nested(false);
      executor->parallel_for(20, [&](int64_t i) {
        REQUIRE(std::this_thread::get_id() == here);
        order.push_back(i);
      });
    }
    REQUIRE(order.size() == 20);
    REQUIRE(std::is_sorted(order.begin(), order.end()));
    std::latch all(executor->concurrency());
    executor->parallel_for(executor->concurrency(), [&](int64_t) { all.arrive_and_wait(); });
  }
}
