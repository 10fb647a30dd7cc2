// Streams that are worked at in pieces, and what goes wrong there: which error comes out, and what is not begun any more.
#include "scheduler/piecewise.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "executors.h"
#include "numbers_in_pieces.h"
#include "scheduler/budget.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

TEST_CASE("pieces: an exception of any phase comes out after what a serial run would have committed") {
  for (const auto& [name, executor] : all_executors())
    for (const std::string phase : {"take", "read", "compute", "commit"})
      for (const int64_t piece : {int64_t{0}, all_items / 2, all_items - 1}) {
        INFO(name << " " << phase << " " << piece);
        NumbersInPieces numbers(all_items);
        check_fails_at(numbers, *executor, {.policy = Policy::fixed(1)}, phase, piece);
        // The executor is as good as before.
        NumbersInPieces next(all_items);
        next.run(*executor, {.policy = Policy::fixed(3)});
        REQUIRE(next.committed_is_all());
      }
}

TEST_CASE("pieces: an exception at the end of the stream") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    NumbersInPieces numbers(all_items);
    fail_at(numbers.on_take, "take", all_items);
    REQUIRE_THROWS_AS(numbers.run(*executor, {.policy = Policy::fixed(1)}), PieceFailure);
    REQUIRE(numbers.committed_is_all());
  }
}

TEST_CASE("pieces: of several exceptions the one of the lowest piece comes out") {
  for (const auto& [name, executor] : all_executors()) {
    if (executor->concurrency() < 2) continue;
    INFO(name);
    // The read of piece 5 fails first in time; piece 4 waits for it, and then fails itself.
    std::latch read_failed(1);
    NumbersInPieces numbers(all_items);
    numbers.on_read = [&](int64_t piece) {
      if (piece != 5) return;
      read_failed.count_down();
      throw PieceFailure{"read", piece};
    };
    numbers.on_compute = [&](int64_t piece) {
      if (piece != 4) return;
      read_failed.wait();
      throw PieceFailure{"compute", piece};
    };
    std::string phase;
    try {
      numbers.run(*executor, {.policy = Policy::fixed(1)});
    } catch (const PieceFailure& failure) {
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
    std::chrono::steady_clock::time_point failed_at;
    std::atomic<bool> large_begun = false;
    const auto wait_a_while = [&] {
      for (int i = 0; i < 150 && !large_begun; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
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
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      } else if (piece == 1) {
        reading_the_last.wait();
        failed_at = std::chrono::steady_clock::now();
        failed.count_down();
        throw PieceFailure{"compute", piece};
      } else if (piece == 2 && failed.try_wait()) {
        // The calling thread may have taken it itself, before it could know.
        large_begun = std::chrono::steady_clock::now() - failed_at > std::chrono::milliseconds(50);
      }
      return Computed::whole;
    };
    phases.commit = [](int) {};
    try {
      run_piecewise(*executor, phases, {.policy = Policy::fixed(1), .max_ring = 64, .memory_limit = 8000});
      FAIL("nothing was thrown");
    } catch (const PieceFailure& failure) {
      CHECK(failure.piece == 1);
    }
    CHECK(small_target);
    CHECK_FALSE(large_begun);
  }
}

TEST_CASE("pieces: a source that gives no items is an error, not an endless loop") {
  const auto executor = make_plain_executor(1);
  NumbersInPieces numbers(1);
  PiecePhases phases = numbers.phases();
  phases.take = [](int, const Target&) { return ChunkSize{0, 0, 0}; };
  REQUIRE_THROWS_AS(run_piecewise(*executor, phases, {}), std::logic_error);
}

TEST_CASE("pieces: a trace callback that throws stops the run") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    NumbersInPieces numbers(all_items);
    Trace trace;
    trace.on_chunk([](const ChunkTimes& record) {
      if (record.chunk == 3) throw PieceFailure{"trace", record.chunk};
    });
    REQUIRE_THROWS_AS(numbers.run(*executor, {.policy = Policy::fixed(1), .trace = &trace}), PieceFailure);
    REQUIRE(numbers.committed().size() == 4);
  }
}

TEST_CASE("pieces: a reservation that fails reaches the caller by name") {
  for (const auto& [name, executor] : all_executors()) {
    INFO(name);
    Budget budget(100);
    NumbersInPieces numbers(all_items);
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
