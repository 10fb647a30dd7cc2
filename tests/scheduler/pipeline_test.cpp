#include "scheduler/pipeline.h"

#include <chrono>
#include <deque>
#include <fstream>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "executors.h"
#include "numbers.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

TEST_CASE("nothing is lost, doubled or reordered") {
  for (const auto& [name, executor] : all_executors()) {
    for (const Policy& policy : {Policy::fixed(1), Policy::fixed(7), Policy::paper(), Policy::adaptive()}) {
      for (const int mode : {0, 1, 2, 3}) {
        for (const int64_t count : {1, 2, 8, 1000}) {
          INFO(name << " " << to_string(policy) << " inline " << mode << " items " << count);
          Numbers numbers(count);
          numbers.inline_read = (mode & 1) != 0;
          numbers.inline_write = (mode & 2) != 0;
          numbers.executor = executor.get();
          const PipelineResult result = run_pipeline(*executor, numbers.phases(), {.policy = policy});
          REQUIRE(numbers.violation().empty());
          REQUIRE(numbers.written_is_all());
          REQUIRE(!result.cancelled);
          REQUIRE(result.summary.total == ChunkSize{count, count, count * 8});
          REQUIRE(result.summary.chunks == numbers.writes());
        }
      }
    }
  }
}

TEST_CASE("phases of random length keep the order") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Numbers numbers(300);
    const auto pause = [](int64_t call, int salt) {
      std::this_thread::sleep_for(std::chrono::microseconds((call * 7919 + salt * 31) % 97));
    };
    numbers.on_read = [&](int64_t call) { pause(call, 1); };
    numbers.on_compute = [&](int64_t call) { pause(call, 2); };
    numbers.on_write = [&](int64_t call) { pause(call, 3); };
    run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(3)});
    REQUIRE(numbers.violation().empty());
    REQUIRE(numbers.written_is_all());
  }
}

TEST_CASE("an empty stream is read once and computes nothing") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Numbers numbers(0);
    const PipelineResult result = run_pipeline(*executor, numbers.phases(), {});
    REQUIRE(!result.cancelled);
    REQUIRE(result.summary.chunks == 0);
    REQUIRE(numbers.computes() == 0);
    REQUIRE(numbers.writes() == 0);
  }
}

TEST_CASE("with concurrency 1 all is inline, in one slot, on the calling thread") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() != 1) continue;
    INFO(name);
    Numbers numbers(10, 1);
    const auto here = std::this_thread::get_id();
    bool elsewhere = false;
    std::string order;
    const auto note = [&](char c) {
      elsewhere |= std::this_thread::get_id() != here;
      order += c;
    };
    numbers.on_read = [&](int64_t) { note('r'); };
    numbers.on_compute = [&](int64_t) { note('c'); };
    numbers.on_write = [&](int64_t) { note('w'); };
    const ChunkPhases phases = numbers.phases();
    REQUIRE(ring_slots(*executor, phases, {}) == 1);
    run_pipeline(*executor, phases, {.policy = Policy::fixed(5)});
    REQUIRE(order == "rcwrcwr");
    REQUIRE(!elsewhere);
  }
}

TEST_CASE("the next chunk is read and the last one written while this one computes") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 3) continue;
    INFO(name);
    constexpr int64_t chunks = 6;
    std::deque<std::latch> read_begun;
    std::deque<std::latch> write_begun;
    for (int64_t i = 0; i <= chunks; ++i) {
      read_begun.emplace_back(1);
      write_begun.emplace_back(1);
    }
    Numbers numbers(chunks);
    numbers.on_read = [&](int64_t call) { read_begun[static_cast<std::size_t>(call)].count_down(); };
    numbers.on_write = [&](int64_t call) { write_begun[static_cast<std::size_t>(call)].count_down(); };
    // Ends only if the other phases go on meanwhile.
    numbers.on_compute = [&](int64_t call) {
      read_begun[static_cast<std::size_t>(call) + 1].wait();
      if (call > 0) write_begun[static_cast<std::size_t>(call) - 1].wait();
    };
    run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(1)});
    REQUIRE(numbers.written_is_all());
  }
}

TEST_CASE("never more chunks in flight than the ring has slots") {
  for (const auto& [name, executor] : all_executors()) {
    for (const int ring : {1, 2, 3, 4}) {
      INFO(name << " ring " << ring);
      Numbers numbers(100, ring);  // a higher slot would throw
      const ChunkPhases phases = numbers.phases();
      const PipelineOptions options{.policy = Policy::fixed(1), .max_ring = ring};
      REQUIRE(ring_slots(*executor, phases, options) <= ring);
      run_pipeline(*executor, phases, options);
      REQUIRE(numbers.written_is_all());
      REQUIRE(numbers.violation().empty());
    }
  }
}

TEST_CASE("a run makes progress when every other thread is taken") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    // Tasks that hold all threads of the pool until the run is over.
    const auto over = std::make_shared<std::latch>(1);
    for (int i = 1; i < executor->concurrency(); ++i) executor->submit([over] { over->wait(); });
    Numbers numbers(500);
    run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(2)});
    over->count_down();
    REQUIRE(numbers.written_is_all());
  }
}

TEST_CASE("many runs share one executor") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::vector<std::unique_ptr<Numbers>> streams;
    for (int run = 0; run < 6; ++run) {
      streams.push_back(std::make_unique<Numbers>(400));
      streams.back()->executor = executor.get();
    }
    {
      std::vector<std::jthread> users;
      for (auto& stream : streams) {
        users.emplace_back([&stream, &shared = *executor] {
          run_pipeline(shared, stream->phases(), {.policy = Policy::fixed(5)});
        });
      }
    }
    for (const auto& stream : streams) {
      REQUIRE(stream->written_is_all());
      REQUIRE(stream->violation().empty());
    }
  }
}

TEST_CASE("a run inside a piece of another loop") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    std::vector<std::unique_ptr<Numbers>> streams;
    for (int run = 0; run < 4; ++run) streams.push_back(std::make_unique<Numbers>(50));
    executor->parallel_for(4, [&](int64_t run) {
      run_pipeline(*executor, streams[static_cast<std::size_t>(run)]->phases(), {.policy = Policy::fixed(3)});
    });
    for (const auto& stream : streams) REQUIRE(stream->written_is_all());
  }
}

TEST_CASE("phases are checked before the run") {
  const auto executor = make_plain_executor(1);
  Numbers numbers(1);
  ChunkPhases phases = numbers.phases();
  phases.write = nullptr;
  REQUIRE_THROWS_AS(run_pipeline(*executor, phases, {}), std::invalid_argument);
  phases = numbers.phases();
  phases.compute = nullptr;
  REQUIRE_THROWS_AS(run_pipeline(*executor, phases, {}), std::invalid_argument);
  REQUIRE_THROWS_AS(run_pipeline(*executor, numbers.phases(), {.max_ring = 0}), std::invalid_argument);
}

TEST_CASE("records are in order and utilisation is a share") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Numbers numbers(100);
    numbers.executor = executor.get();
    Trace trace;
    const PipelineResult result =
        run_pipeline(*executor, numbers.phases(), {.policy = Policy::fixed(10), .trace = &trace});
    REQUIRE(result.summary.utilisation >= 0);
    REQUIRE(result.summary.utilisation <= 1);
    REQUIRE(trace.records().size() == 10);
    for (const ChunkTimes& record : trace.records()) {
      REQUIRE(record.utilisation >= 0);
      REQUIRE(record.utilisation <= 1);
      REQUIRE(record.read.end_ns >= record.read.begin_ns);
      REQUIRE(record.compute.begin_ns >= record.read.end_ns);
      REQUIRE(record.write.begin_ns >= record.compute.end_ns);
      REQUIRE(record.wait_ns >= 0);
      REQUIRE(record.in_flight >= 1);
      REQUIRE(record.in_flight <= 4);
    }
    REQUIRE(result.summary.most_in_flight <= 4);
  }
}

namespace {
// Resident bytes of this process.
int64_t resident() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0;
  int64_t pages = 0;
  file >> total >> pages;
  return pages * 4096;
}
}  // namespace

TEST_CASE("a million chunks run in flat memory") {
  for (const int threads : {1, 2}) {
    const auto executor = make_plain_executor(threads);
    constexpr int64_t chunks = 1'000'000;
    int64_t read = 0;
    int64_t sum = 0;
    int64_t early = 0;
    ChunkPhases phases;
    phases.read = [&](int, const Target&) -> std::optional<ChunkSize> {
      if (read == chunks) return std::nullopt;
      if (++read == chunks / 10) early = resident();
      return ChunkSize{1, 1, 1};
    };
    phases.compute = [](int) { return Computed::whole; };
    phases.write = [&](int) { ++sum; };
    phases.inline_write = true;
    const PipelineResult result = run_pipeline(*executor, phases, {.policy = Policy::fixed(1)});
    REQUIRE(sum == chunks);
    REQUIRE(result.summary.chunks == chunks);
    REQUIRE(result.summary.most == ChunkSize{1, 1, 1});
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    REQUIRE(resident() <= early + (8 << 20));
#endif
  }
}
