// Streams that are worked at in pieces, many at once: order, what goes wrong, memory, threads.
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
#include "scheduler/budget.h"
#include "scheduler/busy.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

namespace {

struct Failure {  // not derived from std::exception: the type itself must come out
  std::string phase;
  int64_t piece;
};

// The numbers 0 .. count - 1, of which 2 x + 1 is committed, with every rule of the phases checked on the way. Hooks run
// at the beginning of a phase, with the number of the piece. Violations are collected, not thrown.
class Numbers {
 public:
  explicit Numbers(int64_t count, int slots = 64) : count_(count), slots_(static_cast<std::size_t>(slots)) {}

  std::function<void(int64_t piece)> on_take, on_read, on_compute, on_commit;
  // Of one number, and of more of them together: what `take` refuses, and `compute` unless it is alone.
  int64_t most_taken = no_limit, most_computed = no_limit;

  PiecePhases phases() {
    PiecePhases result;
    result.take = [this](int slot, const Target& target) { return take(slot, target); };
    result.read = [this](int slot) { return read(slot); };
    result.compute = [this](int slot, bool alone) { return compute(slot, alone); };
    result.commit = [this](int slot) { commit(slot); };
    return result;
  }
  PipelineResult run(Executor& executor, PipelineOptions options) {
    options.max_ring = std::min(piece_slots(executor), static_cast<int>(slots_.size()));
    return run_piecewise(executor, phases(), options);
  }

  const std::vector<int64_t>& committed() const { return committed_; }
  bool committed_is_prefix() const {
    for (std::size_t i = 0; i < committed_.size(); ++i)
      if (committed_[i] != 2 * static_cast<int64_t>(i) + 1) return false;
    return true;
  }
  bool committed_is_all() const {
    return static_cast<int64_t>(committed_.size()) == count_ && committed_is_prefix();
  }
  const std::string& violation() const { return violation_; }
  int64_t pieces() const { return pieces_; }
  int64_t computed_alone() const { return computed_alone_; }
  int most_at_once() const { return most_at_once_; }

 private:
  enum class State { free, taken, read, computed };
  struct Slot {
    int64_t piece = 0, first = 0, items = 0;
    std::vector<int64_t> values;
    State state = State::free;
    std::atomic<bool> touched = false;
  };

  class Use {
   public:
    Use(Numbers& numbers, Slot& slot) : slot_(slot) {
      if (slot_.touched.exchange(true)) numbers.violate("two phases in one slot");
    }
    ~Use() { slot_.touched = false; }

   private:
    Slot& slot_;
  };
  class One {
   public:
    One(Numbers& numbers, std::atomic<bool>& phase) : phase_(phase) {
      if (phase_.exchange(true)) numbers.violate("a phase that comes one at a time runs twice");
    }
    ~One() { phase_ = false; }

   private:
    std::atomic<bool>& phase_;
  };
  class AtOnce {
   public:
    explicit AtOnce(Numbers& numbers) : numbers_(numbers) {
      const int now = ++numbers_.at_once_;
      int most = numbers_.most_at_once_;
      while (now > most && !numbers_.most_at_once_.compare_exchange_weak(most, now)) {
      }
    }
    ~AtOnce() { --numbers_.at_once_; }

   private:
    Numbers& numbers_;
  };

  void violate(const char* what) {
    if (!violated_.exchange(true)) violation_ = what;
  }
  Slot& slot_at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }

  std::optional<ChunkSize> take(int number, const Target& target) {
    const One one(*this, taking_);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (ended_) violate("taken after the end");
    if (target.items < 1 || target.work < 1 || target.bytes < 1) violate("an empty target");
    if (on_take) on_take(pieces_);
    if (slot.state != State::free) violate("taken into a slot that was not committed");
    const int64_t items = std::min({count_ - next_, target.items, std::max<int64_t>(target.work, 1),
                                    std::max<int64_t>(target.bytes / 8, 1)});
    if (items == 0) {
      ended_ = true;
      return std::nullopt;
    }
    if (items > most_taken) throw ChunkTooBig("too many to take", {items, items, items * 8});
    slot.piece = pieces_++;
    slot.first = next_;
    slot.items = items;
    next_ += items;
    slot.state = State::taken;
    return ChunkSize{items, items, items * 8};
  }

  ChunkSize read(int number) {
    const AtOnce at_once(*this);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (on_read) on_read(slot.piece);
    if (slot.state != State::taken) violate("read without having been taken");
    slot.values.clear();
    for (int64_t i = 0; i < slot.items; ++i) slot.values.push_back(slot.first + i);
    slot.state = State::read;
    return {slot.items, slot.items, slot.items * 8};
  }

  Computed compute(int number, bool alone) {
    const AtOnce at_once(*this);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (on_compute) on_compute(slot.piece);
    if (slot.state != State::read) violate("computed without having been read");
    if (alone) {
      ++computed_alone_;
      if (at_once_ != 1 || taking_ || committing_) violate("alone, but not the only one");
      if (static_cast<int64_t>(committed_.size()) != slot.first) violate("alone, but not the first");
    } else if (slot.items > most_computed) {
      throw ChunkTooBig("no memory beside others", {slot.items, slot.items, slot.items * 8});
    }
    for (int64_t& value : slot.values) value = 2 * value + 1;
    slot.state = State::computed;
    return alone && slot.items > most_computed ? Computed::in_parts : Computed::whole;
  }

  void commit(int number) {
    const One one(*this, committing_);
    Slot& slot = slot_at(number);
    const Use use(*this, slot);
    if (on_commit) on_commit(slot.piece);
    if (slot.state != State::computed) violate("committed without having been computed");
    committed_.insert(committed_.end(), slot.values.begin(), slot.values.end());
    slot.state = State::free;
  }

  const int64_t count_;
  std::vector<Slot> slots_;
  int64_t next_ = 0, pieces_ = 0;
  bool ended_ = false;
  std::atomic<bool> taking_ = false, committing_ = false;
  std::atomic<int> at_once_ = 0, most_at_once_ = 0;
  std::atomic<int64_t> computed_alone_ = 0;
  std::vector<int64_t> committed_;
  std::atomic<bool> violated_ = false;
  std::string violation_;
};

void fail_at(std::function<void(int64_t)>& hook, const char* phase, int64_t at) {
  hook = [phase, at](int64_t piece) {
    if (piece == at) throw Failure{phase, piece};
  };
}

constexpr int64_t all_items = 40;  // one in a piece

}  // namespace

TEST_CASE("pieces: nothing is lost, doubled or reordered") {
  for (const auto& [name, executor] : all_executors())
    for (const Policy& policy : {Policy::fixed(1), Policy::fixed(7), Policy::paper(), Policy::adaptive()})
      for (const int64_t count : {1, 2, 8, 1000, 300'000}) {
        if (count > 10'000 && policy.kind == Policy::Kind::fixed) continue;
        INFO(name << " " << to_string(policy) << " items " << count);
        Numbers numbers(count);
        const PipelineResult result = numbers.run(*executor, {.policy = policy});
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
    Numbers numbers(300);
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
    Numbers numbers(0);
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
    Numbers numbers(10, 1);
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
    Numbers numbers(threads);
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
    Numbers numbers(20);
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
      Numbers numbers(100, slots);  // a higher slot would throw
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
    Numbers numbers(500);
    numbers.run(*executor, {.policy = Policy::fixed(2)});
    over->count_down();
    REQUIRE(numbers.committed_is_all());
  }
}

TEST_CASE("pieces: many runs share one executor, and one is inside a loop of another") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::vector<std::unique_ptr<Numbers>> streams;
    for (int run = 0; run < 8; ++run) streams.push_back(std::make_unique<Numbers>(400));
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
    Numbers first(many), second(many);
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
  Numbers numbers(1);
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
    Numbers numbers(100);
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
  Numbers numbers(40);
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
  Numbers numbers(20);
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

TEST_CASE("pieces: an exception of any phase comes out after what a serial run would have committed") {
  for (const auto& [name, executor] : all_executors())
    for (const std::string phase : {"take", "read", "compute", "commit"})
      for (const int64_t piece : {int64_t{0}, all_items / 2, all_items - 1}) {
        INFO(name << " " << phase << " " << piece);
        Numbers numbers(all_items);
        fail_at(phase == "take"      ? numbers.on_take
                : phase == "read"    ? numbers.on_read
                : phase == "compute" ? numbers.on_compute
                                     : numbers.on_commit,
                phase.c_str(), piece);
        bool caught = false;
        try {
          numbers.run(*executor, {.policy = Policy::fixed(1)});
        } catch (const Failure& failure) {
          caught = failure.phase == phase && failure.piece == piece;
        }
        REQUIRE(caught);
        REQUIRE(numbers.violation().empty());
        REQUIRE(numbers.committed_is_prefix());
        REQUIRE(static_cast<int64_t>(numbers.committed().size()) == piece);
        // The executor is as good as before.
        Numbers next(all_items);
        next.run(*executor, {.policy = Policy::fixed(3)});
        REQUIRE(next.committed_is_all());
      }
}

TEST_CASE("pieces: an exception at the end of the stream") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Numbers numbers(all_items);
    fail_at(numbers.on_take, "take", all_items);
    REQUIRE_THROWS_AS(numbers.run(*executor, {.policy = Policy::fixed(1)}), Failure);
    REQUIRE(numbers.committed_is_all());
  }
}

TEST_CASE("pieces: of several exceptions the one of the lowest piece comes out") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    // The read of piece 5 fails first in time; piece 4 waits for it, and then fails itself.
    std::latch read_failed(1);
    Numbers numbers(all_items);
    numbers.on_read = [&](int64_t piece) {
      if (piece != 5) return;
      read_failed.count_down();
      throw Failure{"read", piece};
    };
    numbers.on_compute = [&](int64_t piece) {
      if (piece != 4) return;
      read_failed.wait();
      throw Failure{"compute", piece};
    };
    std::string phase;
    try {
      numbers.run(*executor, {.policy = Policy::fixed(1)});
    } catch (const Failure& failure) {
      phase = failure.phase;
    }
    REQUIRE(phase == "compute");
    REQUIRE(numbers.committed().size() == 4);
  }
}

TEST_CASE("pieces: a large one behind one that has failed is not begun") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 3) continue;
    INFO(name);
    // While the calling thread computes piece 0, piece 2 waits for it, being large, piece 3 is being read, and 1 fails.
    std::vector<int64_t> piece_of(64);
    int64_t taken = 0;
    std::latch reading_the_last(1), failed(1);
    std::atomic<bool> large_begun = false;
    const auto wait_a_while = [&] {
      for (int i = 0; i < 50 && !large_begun; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    };
    bool small_target = true;
    PiecePhases phases;
    const auto size_of = [](int64_t piece) { return ChunkSize{1, 1, piece == 2 ? 4800 : 8}; };
    phases.take = [&](int slot, const Target& target) -> std::optional<ChunkSize> {
      small_target &= target.bytes < 2400;
      if (taken == 4) return std::nullopt;
      piece_of[static_cast<std::size_t>(slot)] = taken;
      return size_of(taken++);
    };
    phases.read = [&](int slot) {
      const int64_t piece = piece_of[static_cast<std::size_t>(slot)];
      if (piece == 3) {
        reading_the_last.count_down();
        failed.wait();
        wait_a_while();
      }
      return size_of(piece);
    };
    phases.compute = [&](int slot, bool) {
      const int64_t piece = piece_of[static_cast<std::size_t>(slot)];
      if (piece == 0) {
        failed.wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      } else if (piece == 1) {
        reading_the_last.wait();
        failed.count_down();
        throw Failure{"compute", piece};
      } else if (piece == 2 && failed.try_wait()) {  // the calling thread may have taken it itself
        large_begun = true;
      }
      return Computed::whole;
    };
    phases.commit = [](int) {};
    try {
      run_piecewise(*executor, phases, {.policy = Policy::fixed(1), .max_ring = 64, .memory_limit = 8000});
      FAIL("nothing was thrown");
    } catch (const Failure& failure) {
      CHECK(failure.piece == 1);
    }
    CHECK(small_target);
    CHECK_FALSE(large_begun);
  }
}

TEST_CASE("pieces: a source that gives no items is an error, not an endless loop") {
  const auto executor = make_plain_executor(1);
  Numbers numbers(1);
  PiecePhases phases = numbers.phases();
  phases.take = [](int, const Target&) { return ChunkSize{0, 0, 0}; };
  REQUIRE_THROWS_AS(run_piecewise(*executor, phases, {}), std::logic_error);
}

TEST_CASE("pieces: a trace callback that throws stops the run") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Numbers numbers(all_items);
    Trace trace;
    trace.on_chunk([](const ChunkTimes& record) {
      if (record.chunk == 3) throw Failure{"trace", record.chunk};
    });
    REQUIRE_THROWS_AS(numbers.run(*executor, {.policy = Policy::fixed(1), .trace = &trace}), Failure);
    REQUIRE(numbers.committed().size() == 4);
  }
}

TEST_CASE("pieces: a stop request lets what has begun end, and begins nothing else") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::stop_source stop;
    Numbers numbers(1'000'000);
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
    Numbers none(10);
    REQUIRE(none.run(*executor, {.stop = before.get_token()}).cancelled);
    REQUIRE(none.pieces() == 0);
    for (int microseconds = 0; microseconds < 400; microseconds += 13) {
      std::stop_source stop;
      Numbers numbers(20'000);
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
        Numbers numbers(1000);
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
    Numbers numbers(100);
    numbers.most_taken = 0;
    REQUIRE_THROWS_AS(numbers.run(*executor, {.policy = Policy::fixed(50)}), ChunkTooBig);
    REQUIRE(numbers.committed().empty());
  }
}

TEST_CASE("pieces: what has no memory beside others is computed alone, in its turn; later ones are smaller") {
  for (const auto& [name, executor] : all_executors())
    for (const Policy& policy : {Policy::fixed(500), Policy::adaptive(), Policy::paper()}) {
      INFO(name << " " << to_string(policy));
      Numbers numbers(100'000);
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
    Numbers numbers(12);
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
    Numbers numbers(threads);
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

TEST_CASE("pieces: a reservation that fails reaches the caller by name") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Budget budget(100);
    Numbers numbers(all_items);
    std::vector<Reservation> leak;
    numbers.on_commit = [&](int64_t) { leak.push_back(budget.reserve("result y", 30)); };
    try {
      numbers.run(*executor, {.policy = Policy::fixed(1)});
      FAIL("no exception");
    } catch (const BudgetExceeded& e) {
      REQUIRE(e.name() == "result y");
    }
    REQUIRE(numbers.committed().size() == 3);
  }
}
