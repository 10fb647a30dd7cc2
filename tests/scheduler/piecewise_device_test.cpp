// Streams in pieces whose reading and committing wait for a device: threads beside those that compute do it.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "executors.h"
#include "numbers_in_pieces.h"
#include "scheduler/busy.h"
#include "scheduler/clock.h"
#include "scheduler/piecewise.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

namespace {

thread_local int64_t waits_of_thread = 0;

/// Whose threads have never had a processor while they waited for a device, and have waited as often as they say.
class DeviceClock final : public Clock {
 public:
  int64_t now_ns() const noexcept override { return steady_clock().now_ns(); }
  ThreadUse thread_use() const noexcept override { return {.busy_ns = 0, .waits = waits_of_thread}; }
};

void wait_for_device(int microseconds = 100) {
  ++waits_of_thread;
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

enum class Waits { reading, committing, both };

void wait_in(NumbersInPieces& numbers, Waits waits) {
  if (waits != Waits::committing) numbers.on_read = [](int64_t) { wait_for_device(); };
  if (waits != Waits::reading) numbers.on_commit = [](int64_t) { wait_for_device(); };
}

/// What a test lets time pass for is no work of the piece: or else the waits would be little beside it.
class NotComputing {
 public:
  NotComputing() : begin_ns_(steady_clock().now_ns()) {}
  ~NotComputing() { put_aside(ns()); }
  int64_t ns() const { return steady_clock().now_ns() - begin_ns_; }

 private:
  const int64_t begin_ns_;
};

/// `before` comes first.
void before(std::function<void(int64_t)>& hook, const std::function<void(int64_t)>& first) {
  hook = [first, then = hook](int64_t piece) {
    first(piece);
    if (then) then(piece);
  };
}

/// Threads that have done something, by whatever they are.
class ThreadSet {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    threads_.insert(std::this_thread::get_id());
  }
  std::set<std::thread::id> all() const { return threads_; }

 private:
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

int64_t without(std::set<std::thread::id> some, const std::set<std::thread::id>& others) {
  for (const auto& thread : others) some.erase(thread);
  return std::ssize(some);
}

}  // namespace

TEST_CASE("pieces and a device: the next ones are read while all threads compute") {
  const DeviceClock clock;
  for (const auto& [name, executor] : all_executors()) {
    const int threads = executor->concurrency();
    if (threads < 2) continue;
    INFO(name);
    constexpr int64_t pieces = 400;
    // By the first of them it is known that reading waits: at most 16 for each thread are not yet committed.
    const int64_t from = 16L * threads + 40;
    NumbersInPieces numbers(pieces);
    // For longer than a busy machine takes a processor away: if the waits were little all would end here.
    numbers.on_read = [](int64_t) { wait_for_device(1000); };
    std::atomic<int64_t> last_read = 0;
    before(numbers.on_read, [&](int64_t piece) {
      int64_t last = last_read;
      while (last < piece && !last_read.compare_exchange_weak(last, piece)) {
      }
    });
    // Each thread has one piece, and so nobody but another thread could read so many.
    std::atomic<bool> in_vain = false;
    numbers.on_compute = [&](int64_t piece) {
      if (piece < from || piece + threads >= pieces) return;
      const NotComputing meanwhile;
      while (last_read < piece + threads && !in_vain) {
        std::this_thread::yield();
        if (meanwhile.ns() > 30'000'000'000) in_vain = true;
      }
    };
    numbers.run(*executor, {.policy = Policy::fixed(1), .clock = &clock});
    CHECK(!in_vain);
    REQUIRE(numbers.violation().empty());
    REQUIRE(numbers.committed_is_all());
  }
}

TEST_CASE("pieces and a device: who waits for it does not compute, where threads are given for it") {
  const DeviceClock clock;
  for (const auto& [name, executor] : all_executors())
    for (const Waits waits : {Waits::reading, Waits::committing, Waits::both}) {
      if (executor->concurrency() < 2) continue;
      INFO(name << " " << static_cast<int>(waits));
      NumbersInPieces numbers(200);
      wait_in(numbers, waits);
      ThreadSet read, computed, committed;
      before(numbers.on_read, [&](int64_t) { read.add(); });
      before(numbers.on_commit, [&](int64_t) { committed.add(); });
      numbers.on_compute = [&](int64_t) {
        computed.add();
        const NotComputing meanwhile;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that who computes has that to do
      };
      numbers.run(*executor, {.policy = Policy::fixed(1), .clock = &clock});
      if (waits != Waits::committing) CHECK(without(read.all(), computed.all()) > 0);
      if (waits != Waits::reading) CHECK(without(committed.all(), computed.all()) > 0);
      REQUIRE(numbers.violation().empty());
      REQUIRE(numbers.committed_is_all());
    }
}

TEST_CASE("pieces and a device: with concurrency 1, or in line, the calling thread does all") {
  const DeviceClock clock;
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    const LoopsInLine others_work(executor->concurrency() > 1);
    NumbersInPieces numbers(100, 1);
    wait_in(numbers, Waits::both);
    ThreadSet threads;
    before(numbers.on_read, [&](int64_t) { threads.add(); });
    before(numbers.on_commit, [&](int64_t) { threads.add(); });
    numbers.run(*executor, {.policy = Policy::fixed(1), .clock = &clock});
    REQUIRE(threads.all() == std::set{std::this_thread::get_id()});
    REQUIRE(numbers.committed_is_all());
  }
}

TEST_CASE(
    "pieces and a device: never more memory in flight than the limit, and never more pieces than slots") {
  const DeviceClock clock;
  for (const auto& [name, executor] : all_executors())
    for (const int slots : {1, 3, 64})
      for (const int64_t limit : {8, 56, 60, 200, 1000})
        for (const bool known : {true, false}) {  // before they are read
          // An item that is more than a slot may hold, and does not say so before, is read all the same.
          if (!known && limit < 8 * (executor->concurrency() + 1)) continue;
          INFO(name << " slots " << slots << " limit " << limit << " known " << known);
          NumbersInPieces numbers(150, slots);
          PiecePhases phases = numbers.phases();
          std::atomic<int64_t> held = 0, most = 0;
          std::array<int64_t, 64> bytes{};
          phases.take = [&, take = phases.take](int slot, const Target& target) {
            auto size = take(slot, target);
            if (!size) return size;
            bytes[static_cast<std::size_t>(slot)] = size->bytes;
            if (!known) size->bytes = 0;
            return size;
          };
          phases.read = [&, read = phases.read](int slot) {
            const int64_t now = held += bytes[static_cast<std::size_t>(slot)];
            int64_t so_far = most;
            while (so_far < now && !most.compare_exchange_weak(so_far, now)) {
            }
            wait_for_device();
            return read(slot);
          };
          phases.compute = [&, compute = phases.compute](int slot, bool alone) {
            held -= bytes[static_cast<std::size_t>(slot)];
            return compute(slot, alone);
          };
          run_piecewise(*executor, phases,
                        {.policy = Policy::fixed(3),
                         .max_ring = std::min(slots, piece_slots(*executor)),
                         .memory_limit = limit,
                         .clock = &clock});
          CHECK(most <= limit);
          REQUIRE(numbers.violation().empty());
          REQUIRE(numbers.committed_is_all());
        }
}

TEST_CASE(
    "pieces and a device: an exception of any phase comes out after what a serial run would have committed") {
  const DeviceClock clock;
  for (const auto& [name, executor] : all_executors())
    for (const std::string phase : {"take", "read", "compute", "commit"})
      for (const int64_t piece : {0, 1, 80, 159}) {
        INFO(name << " " << phase << " " << piece);
        NumbersInPieces numbers(160);
        wait_in(numbers, Waits::both);
        check_fails_at(numbers, *executor, {.policy = Policy::fixed(1), .clock = &clock}, phase, piece);
      }
}

TEST_CASE("pieces and a device: what is too large, beside others or at all, is as without one") {
  const DeviceClock clock;
  for (const auto& [name, executor] : all_executors())
    for (const Policy& policy : {Policy::fixed(100), Policy::adaptive(), Policy::paper()}) {
      INFO(name << " " << to_string(policy));
      NumbersInPieces numbers(5000);
      wait_in(numbers, Waits::both);
      numbers.most_taken = 80;
      numbers.most_computed = 60;
      numbers.run(*executor, {.policy = policy, .clock = &clock});
      REQUIRE(numbers.violation().empty());
      REQUIRE(numbers.committed_is_all());
    }
}

TEST_CASE("pieces and a device: stopping at random times") {
  const DeviceClock clock;
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    for (int microseconds = 0; microseconds < 20'000; microseconds += 700) {
      std::stop_source stop;
      NumbersInPieces numbers(1000);
      wait_in(numbers, Waits::both);
      PipelineResult result;
      {
        const std::jthread stopper([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
          stop.request_stop();
        });
        result =
            numbers.run(*executor, {.policy = Policy::fixed(1), .stop = stop.get_token(), .clock = &clock});
      }
      REQUIRE(numbers.violation().empty());
      REQUIRE(numbers.committed_is_prefix());
      REQUIRE(result.cancelled == !numbers.committed_is_all());
    }
  }
}
