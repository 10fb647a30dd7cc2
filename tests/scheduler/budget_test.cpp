#include "scheduler/budget.h"

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/catch.h"

using namespace anabranch::scheduler;

TEST_CASE("reservations count against the limit and come back") {
  Budget budget(100);
  {
    Reservation a = budget.reserve("a", 60);
    REQUIRE(budget.used() == 60);
    REQUIRE(budget.available() == 40);
    REQUIRE(!budget.try_reserve("b", 41));
    const auto b = budget.try_reserve("b", 40);
    REQUIRE(b);
    REQUIRE(b->bytes() == 40);
    REQUIRE(budget.available() == 0);
    a.release();
    REQUIRE(budget.used() == 40);
    a.release();
    REQUIRE(budget.used() == 40);
  }
  REQUIRE(budget.used() == 0);
  REQUIRE(budget.peak() == 100);
}

TEST_CASE("what does not fit is named, with its size, the limit and who holds the rest") {
  Budget budget(256 << 20);
  const Reservation x = budget.reserve("vector x", 200 << 20);
  const Reservation small = budget.reserve("index", 1 << 20);
  try {
    budget.reserve("result y", 64 << 20);
    FAIL("no exception");
  } catch (const BudgetExceeded& e) {
    REQUIRE(e.name() == "result y");
    REQUIRE(e.requested() == 64 << 20);
    REQUIRE(e.used() == 201 << 20);
    REQUIRE(e.limit() == 256 << 20);
    REQUIRE(std::string(e.what()) ==
            "memory limit exceeded: 'result y' needs 64.0 MiB, but of the limit of 256.0 MiB only 55.0 MiB "
            "is left "
            "(held: 'vector x' 200.0 MiB, 'index' 1.0 MiB)");
  }
  REQUIRE(budget.used() == 201 << 20);
}

TEST_CASE("a part of a reservation can become one of its own") {
  Budget budget(100);
  Reservation all = budget.reserve("all", 70);
  {
    const Reservation part = all.split(30);
    CHECK(part.bytes() == 30);
    CHECK(all.bytes() == 40);
    CHECK(budget.used() == 70);
    all.release();
    CHECK(budget.holders() == std::vector<std::pair<std::string, int64_t>>{{"all", 30}});
    CHECK_THROWS_AS(budget.reserve("more", 71), BudgetExceeded);
  }
  CHECK(budget.used() == 0);
  CHECK(budget.peak() == 70);
  Reservation some = budget.reserve("some", 5);
  CHECK_THROWS_AS(some.split(6), std::invalid_argument);
  CHECK_THROWS_AS(some.split(-1), std::invalid_argument);
}

TEST_CASE("a reservation can be resized, moved and can outlive its budget") {
  Reservation kept;
  REQUIRE(kept.bytes() == 0);
  REQUIRE_THROWS_AS(kept.resize(1), std::logic_error);
  {
    Budget budget(100);
    Reservation r = budget.reserve("r", 10);
    r.resize(100);
    REQUIRE_THROWS_AS(r.resize(101), BudgetExceeded);
    REQUIRE(r.bytes() == 100);
    r.resize(20);
    REQUIRE(budget.used() == 20);
    REQUIRE_THROWS_AS(r.resize(-1), std::invalid_argument);
    Reservation moved = std::move(r);
    REQUIRE(r.bytes() == 0);
    REQUIRE(budget.used() == 20);
    Reservation other = budget.reserve("other", 30);
    other = std::move(moved);
    REQUIRE(budget.used() == 20);
    REQUIRE(budget.peak() == 100);
    kept = std::move(other);
  }
  REQUIRE(kept.bytes() == 20);
}

TEST_CASE("holders are added up by name, largest first") {
  Budget budget;
  REQUIRE(budget.unlimited());
  REQUIRE(budget.available() == Budget::no_limit);
  {
    const auto a = budget.reserve("slot", 5);
    const auto b = budget.reserve("x", 7);
    const auto c = budget.reserve("slot", 6);
    const auto none = budget.reserve("empty", 0);
    const std::vector<std::pair<std::string, int64_t>> expected = {{"slot", 11}, {"x", 7}};
    REQUIRE(budget.holders() == expected);
  }
  REQUIRE(budget.holders().empty());
  const auto again = budget.reserve("y", 1);
  REQUIRE(budget.holders().front().first == "y");
  REQUIRE(budget.peak() == 18);
}

TEST_CASE("sizes that overflow are refused, not wrapped") {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  Budget budget(100);
  const auto a = budget.reserve("a", 50);
  REQUIRE(!budget.try_reserve("b", most));
  REQUIRE_THROWS_AS(budget.reserve("b", -1), std::invalid_argument);
  REQUIRE_THROWS_AS(Budget(-1), std::invalid_argument);
  Budget unlimited;
  auto all = unlimited.reserve("all", most);
  REQUIRE(!unlimited.try_reserve("more", 1));
}

TEST_CASE("the limit holds for many threads at once") {
  Budget budget(1000);
  std::atomic<int> granted = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          if (const auto r = budget.try_reserve("slot", 400)) ++granted;
        }
      });
    }
  }
  REQUIRE(granted > 0);
  REQUIRE(budget.used() == 0);
  REQUIRE(budget.peak() <= 1000);
}

TEST_CASE("bytes are printed for people") {
  REQUIRE(format_bytes(0) == "0 B");
  REQUIRE(format_bytes(1023) == "1023 B");
  REQUIRE(format_bytes(1024) == "1.0 KiB");
  REQUIRE(format_bytes((1 << 20) - 1) == "1.0 MiB");
  REQUIRE(format_bytes(int64_t{3} << 29) == "1.5 GiB");
  REQUIRE(format_bytes(std::numeric_limits<int64_t>::max()) == "8.0 EiB");
}
