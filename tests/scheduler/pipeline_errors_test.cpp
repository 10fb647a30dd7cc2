// What a run does when something goes wrong: a phase throws, somebody cancels, a chunk does not fit.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "executors.h"
#include "numbers.h"
#include "scheduler/budget.h"
#include "scheduler/pipeline.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

namespace {

struct Failure {  // not derived from std::exception: the type itself must come out
  std::string phase;
  int64_t call;
};

void fail_at(std::function<void(int64_t)>& hook, const char* phase, int64_t at) {
  hook = [phase, at](int64_t call) {
    if (call == at) throw Failure{phase, call};
  };
}

constexpr int64_t all_items = 40;  // one per chunk

}  // namespace

TEST_CASE("an exception of any phase, at any call, comes out after what a serial run would have written") {
  for (const auto& [name, executor] : all_executors()) {
    for (const std::string phase : {"read", "compute", "write"}) {
      for (const int64_t call : {int64_t{0}, all_items / 2, all_items - 1}) {
        INFO(name << " " << phase << " " << call);
        Numbers numbers(all_items);
        fail_at(phase == "read"      ? numbers.on_read
                : phase == "compute" ? numbers.on_compute
                                     : numbers.on_write,
                phase.c_str(), call);
        bool caught = false;
        try {
          run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(1)});
        } catch (const Failure& failure) {
          caught = failure.phase == phase && failure.call == call;
        }
        REQUIRE(caught);
        REQUIRE(numbers.violation().empty());
        REQUIRE(numbers.written_is_prefix());
        REQUIRE(static_cast<int64_t>(numbers.written().size()) == call);
        // The executor is as good as before.
        Numbers next(all_items);
        run_pipeline(*executor, next.phases(), {.policy = Policy::fixed(3)});
        REQUIRE(next.written_is_all());
      }
    }
  }
}

TEST_CASE("an exception at the end of the stream") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Numbers numbers(all_items);
    fail_at(numbers.on_read, "read", all_items);
    REQUIRE_THROWS_AS(run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(1)}), Failure);
    REQUIRE(numbers.written_is_all());
  }
}

TEST_CASE("of several exceptions the one of the lowest chunk comes out") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    // The read of chunk 5 fails first in time: compute 4 waits for it, and then fails itself.
    std::latch read_failed(1);
    Numbers numbers(all_items);
    numbers.on_read = [&](int64_t call) {
      if (call != 5) return;
      read_failed.count_down();
      throw Failure{"read", call};
    };
    numbers.on_compute = [&](int64_t call) {
      if (call != 4) return;
      read_failed.wait();
      throw Failure{"compute", call};
    };
    std::string phase;
    try {
      run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(1)});
    } catch (const Failure& failure) {
      phase = failure.phase;
    }
    REQUIRE(phase == "compute");
    REQUIRE(numbers.written().size() == 4);
  }
}

TEST_CASE("a source that gives no items is an error, not an endless loop") {
  const auto executor = make_plain_executor(1);
  Numbers numbers(1);
  ChunkPhases phases = numbers.phases();
  phases.read = [](int, const Target&) { return ChunkSize{0, 0, 0}; };
  REQUIRE_THROWS_AS(run_pipeline(*executor, phases, {}), std::logic_error);
}

TEST_CASE("a trace callback that throws stops the run") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Numbers numbers(all_items);
    Trace trace;
    trace.on_chunk([](const ChunkTimes& record) {
      if (record.chunk == 3) throw Failure{"trace", record.chunk};
    });
    REQUIRE_THROWS_AS(
        run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(1), .trace = &trace}), Failure);
    REQUIRE(numbers.written().size() == 4);
  }
}

TEST_CASE("a stop request ends the run within the chunk") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::stop_source stop;
    Numbers numbers(1'000'000);
    numbers.on_compute = [&](int64_t call) {
      if (call == 10) stop.request_stop();
    };
    const PipelineResult result =
        run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(1), .stop = stop.get_token()});
    REQUIRE(result.cancelled);
    REQUIRE(numbers.computes() == 11);
    REQUIRE(numbers.written_is_prefix());
    REQUIRE(numbers.written().size() <= 10);
    REQUIRE(numbers.violation().empty());
  }
}

TEST_CASE("a stop request before the run reads nothing; one after the end changes nothing") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::stop_source stop;
    stop.request_stop();
    Numbers none(10);
    REQUIRE(run_pipeline(*executor, none.phases(), {.stop = stop.get_token()}).cancelled);
    REQUIRE(none.reads() == 0);

    std::stop_source late;
    Numbers all(10);
    const ChunkPhases phases = all.phases();
    REQUIRE(!run_pipeline(*executor, phases, {.stop = late.get_token()}).cancelled);
    REQUIRE(all.written_is_all());
  }
}

namespace {

// Refuses to read more than `most_read` items, and computes more than `most_computed` in parts.
class Refusing : public Numbers {
 public:
  using Numbers::Numbers;
  int64_t most_read = no_limit;
  int64_t most_computed = no_limit;

  ChunkPhases refusing_phases() {
    ChunkPhases phases = this->phases();
    phases.read = [this](int slot, const Target& target) {
      const int64_t items = std::min({count_ - next_, target.items, target.work});
      if (items > most_read) throw ChunkTooBig("too big to read", {items, items, items * 8});
      return read(slot, target);
    };
    phases.compute = [this](int slot) {
      const auto items = static_cast<int64_t>(slot_at(slot).values.size());
      compute(slot);
      return items > most_computed ? Computed::in_parts : Computed::whole;
    };
    return phases;
  }
};

}  // namespace

TEST_CASE("a chunk that does not fit is halved until it does") {
  for (const auto& [name, executor] : all_executors()) {
    for (const Policy& policy : {Policy::fixed(100), Policy::adaptive(), Policy::paper()}) {
      for (const int64_t most : {1, 3, 60}) {
        INFO(name << " " << to_string(policy) << " at most " << most);
        Refusing numbers(1000);
        numbers.most_read = most;
        const PipelineResult result = run_pipeline(*executor, numbers.refusing_phases(), {.policy = policy});
        REQUIRE(numbers.violation().empty());
        REQUIRE(numbers.written_is_all());
        REQUIRE(result.summary.most.items <= most);
        REQUIRE(result.summary.total.items == 1000);
        if (policy.kind != Policy::Kind::paper) REQUIRE(result.summary.halvings > 0);
        // It learns: not every chunk fails first.
        REQUIRE(result.summary.halvings < 100);
      }
    }
  }
}

TEST_CASE("after a chunk that was computed in parts the next ones are smaller") {
  for (const auto& [name, executor] : all_executors()) {
    for (const Policy& policy : {Policy::adaptive(), Policy::paper(), Policy::fixed(500)}) {
      INFO(name << " " << to_string(policy));
      Refusing numbers(200'000);
      numbers.most_computed = 60;
      const PipelineResult result = run_pipeline(*executor, numbers.refusing_phases(), {.policy = policy});
      REQUIRE(numbers.violation().empty());
      REQUIRE(numbers.written_is_all());
      // It halves its way down, and tries larger chunks again now and then.
      REQUIRE(result.summary.halvings <= 24 + result.summary.chunks / 10);
    }
  }
}

TEST_CASE("after memory was short for a while chunks grow again") {
  const auto executor = make_plain_executor(1);
  Refusing numbers(200'000, 1);
  numbers.most_read = 100;
  numbers.on_write = [&](int64_t call) {
    if (call == 3) numbers.most_read = no_limit;
  };
  const PipelineResult result = run_pipeline(*executor, numbers.refusing_phases(), {});
  REQUIRE(numbers.written_is_all());
  REQUIRE(result.summary.most.items > 400);
}

TEST_CASE("one item that does not fit is the user's error") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Refusing unreadable(100);
    unreadable.most_read = 0;
    REQUIRE_THROWS_AS(run_pipeline(*executor, unreadable.refusing_phases(), {.policy = Policy::fixed(50)}),
                      ChunkTooBig);
    REQUIRE(unreadable.written().empty());
  }
}

TEST_CASE("an item that needs the whole memory travels alone") {
  constexpr int64_t limit = 1000;
  constexpr int64_t big = 13;  // the item that takes 900 bytes; the others take 40
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Budget budget(limit);
    std::vector<Reservation> held(4);
    std::vector<int64_t> items(4);
    std::vector<int64_t> written;
    int64_t next = 0;
    ChunkPhases phases;
    phases.read = [&](int slot, const Target& target) -> std::optional<ChunkSize> {
      if (next == 40) return std::nullopt;
      const int64_t bytes = next == big ? 900 : 40;
      if (bytes > target.bytes) throw ChunkTooBig("item 13 needs 900 bytes", {1, 1, bytes});
      const auto s = static_cast<std::size_t>(slot);
      held[s] = budget.reserve("slot", bytes);
      items[s] = next++;
      return ChunkSize{1, 1, bytes};
    };
    phases.compute = [&](int slot) {
      // Time for a read beside it, which would not fit.
      if (items[static_cast<std::size_t>(slot)] == big)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return Computed::whole;
    };
    phases.write = [&](int slot) {
      const auto s = static_cast<std::size_t>(slot);
      written.push_back(items[s]);
      held[s].release();
    };
    run_pipeline(*executor, phases, {.policy = Policy::fixed(1), .memory_limit = limit});
    REQUIRE(written.size() == 40);
    REQUIRE(std::is_sorted(written.begin(), written.end()));
    REQUIRE(budget.peak() <= limit);
  }
}

TEST_CASE("a reservation that fails in a phase reaches the caller by name") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Budget budget(100);
    Numbers numbers(all_items);
    std::vector<Reservation> leak;
    numbers.on_write = [&](int64_t) { leak.push_back(budget.reserve("result y", 30)); };
    try {
      run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(1)});
      FAIL("no exception");
    } catch (const BudgetExceeded& e) {
      REQUIRE(e.name() == "result y");
    }
    REQUIRE(numbers.written().size() == 3);
  }
}
