// Twelve machines and streams on which controllers are compared: docs/scheduler.md has the table that
// ANABRANCH_TEST_TABLE=1 test_scheduler "adaptive is near the best fixed size on twelve devices" prints.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "scheduler/controller.h"
#include "simulated_device.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

namespace {

constexpr int learning = 20;  // steps
constexpr int steps = 200;

struct Scenario {
  const char* name;
  std::function<void(Simulation&)> arrange;
  int begin = learning;  ///< where what was learned holds
  bool pieces = false;   ///< several threads read and compute pieces of their own
};

/// Independent numbers from 0 to 1.
double uniform(std::int64_t item) {
  return static_cast<double>(static_cast<std::uint64_t>(item) * 0x9e3779b97f4a7c15 >> 11) /
         9007199254740992.0;
}

std::vector<Scenario> scenarios() {
  return {
      {"2 us a chunk, 1 ns a unit", [](Simulation& s) { s.device.compute = affine(2e3, 1); }},
      {"2 ms a chunk, 1 ns a unit", [](Simulation& s) { s.device.compute = affine(2e6, 1); }},
      {"20 us a chunk, 20 ns a unit", [](Simulation& s) { s.device.compute = affine(20e3, 20); }},
      {"reading takes three times as long as computing",
       [](Simulation& s) {
         s.device.compute = affine(20e3, 1);
         s.device.read = affine(5e3, 3);
       }},
      {"writing takes twice as long, with 2 ms a chunk",
       [](Simulation& s) {
         s.device.compute = affine(20e3, 1);
         s.device.write = affine(2e6, 2);
       }},
      {"times differ by 20 %, one of 20 is ten times too long",
       [](Simulation& s) {
         s.device.compute = affine(20e3, 1);
         s.device.noise = 0.2;
         s.device.outliers = 0.05;
       }},
      {"four times as slow from step 60 on",
       [](Simulation& s) {
         s.device.compute = [](double work, int step) { return (20e3 + work) * (step < 60 ? 1 : 4); };
       },
       60 + learning},
      {"the cost of a chunk grows to the tenfold",
       [](Simulation& s) {
         s.device.compute = [](double work, int step) { return 20e3 * (1 + 9.0 * step / steps) + work; };
       }},
      {"beyond a size a unit costs 2.5 times as much",
       [](Simulation& s) {
         s.device.compute = [](double work, int) {
           return work < 2e6 ? 100e3 + work : 100e3 + 2e6 + 2.5 * (work - 2e6);
         };
       }},
      {"four threads, a unit costs twice as much out of the cache",
       [](Simulation& s) {
         s.device.compute = [](double work, int) {
           return 8e3 + 2 * work * (12 * work <= (1 << 20) ? 1 : 2);
         };
       },
       learning, true},
      {"items of 1 to 10,000 units, a few of a million",
       [](Simulation& s) {
         s.device.compute = affine(20e3, 1);
         s.item_work = [](std::int64_t item) {
           return item % 5000 == 4999 ? 1'000'000
                                      : static_cast<std::int64_t>(std::pow(10.0, 4 * uniform(item)));
         };
       }},
      {"a memory limit below the best size",
       [](Simulation& s) {
         s.device.compute = affine(200e3, 1);
         s.device.bytes_per_work = 8;
         s.config.memory_limit = 8 << 20;
       }},
  };
}

/// Phases beside each other, with and without results that come late; in line; pieces with caches.
std::vector<Simulation> set_ups(bool pieces) {
  if (pieces) return {pieces_with_caches()};
  Simulation overlapped, delayed, in_line;
  delayed.lag = 2;
  in_line.config.read_overlaps = in_line.config.write_overlaps = false;
  in_line.config.max_ring = 1;
  return {overlapped, delayed, in_line};
}

/// In the worst set-up: time beside that of the best fixed size at every moment, and chunks in flight beside the limit.
struct Outcome {
  double regret = 0;
  double memory = 0;
};
Outcome outcome_of(const Scenario& scenario, const Policy& policy) {
  Outcome worst;
  for (Simulation simulation : set_ups(scenario.pieces)) {
    scenario.arrange(simulation);
    simulation.policy = policy;
    const auto history = simulation.run(steps);
    worst.regret = std::max(worst.regret, simulation.regret(history, scenario.begin));
    if (simulation.config.memory_limit == no_limit) continue;
    for (const Step& step : history)
      worst.memory =
          std::max(worst.memory, static_cast<double>(step.size.bytes) * simulation.config.max_ring /
                                     static_cast<double>(simulation.config.memory_limit));
  }
  return worst;
}

}  // namespace

TEST_CASE("adaptive is near the best fixed size on twelve devices") {
  const bool prints = std::getenv("ANABRANCH_TEST_TABLE") != nullptr;
  REQUIRE(scenarios().size() == 12);
  for (const Scenario& scenario : scenarios()) {
    INFO(scenario.name);
    const Outcome adaptive = outcome_of(scenario, Policy::adaptive());
    CHECK(adaptive.regret <= 1.15);
    CHECK(adaptive.memory <= 1.0);
    if (!prints) continue;
    const Outcome paper = outcome_of(scenario, Policy::paper());
    std::printf("| %s | %.2f | %.2f |\n", scenario.name, adaptive.regret, paper.regret);
  }
}
