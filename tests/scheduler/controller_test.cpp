// Controllers against simulated devices: no clock, no thread, the best chunk is known.
#include "scheduler/controller.h"

#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulated_device.h"
#include "support/catch.h"

using namespace anabranch::scheduler;
using namespace anabranch::scheduler::test;

namespace {

constexpr int learning = 20;     // steps in which a controller may be wrong
constexpr double regret = 1.15;  // and how wrong it may be after

// How often the direction of change turned, from step `begin` on.
int reversals(const std::vector<Step>& history, int begin) {
  int turns = 0;
  int direction = 0;
  for (std::size_t i = static_cast<std::size_t>(begin) + 1; i < history.size(); ++i) {
    const int64_t change = history[i].decision.target.work - history[i - 1].decision.target.work;
    if (change == 0) continue;
    const int now = change > 0 ? 1 : -1;
    if (direction * now < 0) ++turns;
    direction = now;
  }
  return turns;
}

// The ways a pipeline can be set up: phases beside each other with their delay, or all in line.
std::vector<Simulation> set_ups() {
  Simulation in_line;
  in_line.config.read_overlaps = in_line.config.write_overlaps = false;
  in_line.config.max_ring = 1;
  Simulation reads_again = in_line;
  reads_again.config.reads_again = true;
  Simulation overlapped;
  Simulation delayed;
  delayed.lag = 2;
  return {in_line, reads_again, overlapped, delayed};
}

void check_each_step(const Simulation& simulation, int steps, int from = learning) {
  const auto history = simulation.run(steps);
  for (int step = from; step < static_cast<int>(history.size()); ++step) {
    const Step& taken = history[static_cast<std::size_t>(step)];
    INFO("step " << step << " work " << taken.size.work << ": " << describe(taken.decision));
    REQUIRE(simulation.regret(taken, step) <= regret);
  }
}

}  // namespace

TEST_CASE("adaptive finds the size on affine devices and stays") {
  for (Simulation simulation : set_ups()) {
    for (const double fixed : {2e3, 20e3, 200e3, 2e6}) {
      for (const double per_work : {0.05, 1.0, 20.0}) {
        INFO("fixed " << fixed << " per work " << per_work << " lag " << simulation.lag);
        simulation.device.compute = affine(fixed, per_work);
        check_each_step(simulation, 150);
        REQUIRE(reversals(simulation.run(150), learning) <= 1);
      }
    }
  }
}

TEST_CASE("adaptive does not look for sizes below that of an item") {
  for (Simulation simulation : set_ups()) {
    INFO("lag " << simulation.lag);
    simulation.uniform_work = 65'536;
    simulation.device.compute =
        affine(20e3, 600);  // 40 ms an item: two of them are not tried before one is known
    const auto history = simulation.run(40);
    for (std::size_t step = 3; step < history.size(); ++step) {
      CHECK(history[step].decision.reason == Reason::one_item);
      CHECK(history[step].size.items == 1);
    }
    // Items that are smaller come together again, and tell what there is to know.
    simulation.item_work = [](int64_t item) { return item < 20 ? 65'536 : 64; };
    const auto changed = simulation.run(80);
    CHECK(changed.back().size.items >= 10);
    CHECK(changed.back().decision.reason != Reason::one_item);
    CHECK(changed.back().decision.reason != Reason::explore);
  }
}

TEST_CASE("adaptive begins where an earlier run ended") {
  for (Simulation simulation : set_ups()) {
    INFO("lag " << simulation.lag);
    simulation.device.compute = affine(200e3, 1.0);
    const int64_t settled = simulation.run(60).back().decision.target.work;
    REQUIRE(simulation.learned);
    simulation.earlier = simulation.learned;
    for (const Step& step : simulation.run(30)) {
      CHECK(step.decision.reason != Reason::explore);
      CHECK(step.decision.target.work == Approx(settled).epsilon(0.3));
    }
    // It learns again where that is no longer so.
    simulation.device.compute = affine(800e3, 2.0);
    check_each_step(simulation, 60);
  }
}

TEST_CASE("what an earlier run has learned is not used where it does not hold") {
  Simulation simulation;
  simulation.device.compute = affine(200e3, 1.0);
  const int64_t settled = simulation.run(60).back().decision.target.work;
  simulation.earlier = simulation.learned;
  Simulation less_memory = simulation;
  less_memory.config.memory_limit = settled / 2 * less_memory.config.max_ring;
  for (const Step& step : less_memory.run(30)) CHECK(step.size.work <= settled / 2);
  Simulation in_line = simulation;
  in_line.config.read_overlaps = in_line.config.write_overlaps = false;
  CHECK(in_line.run(1).back().decision.target.work == in_line.config.start_work);
  // Nothing is learned by a run that has not settled, nor by one of the paper's controller.
  simulation.earlier = nullptr;
  simulation.run(1);
  CHECK(!simulation.learned);
  simulation.policy = Policy::paper();
  simulation.run(60);
  CHECK(!simulation.learned);
}

TEST_CASE("chunks that are read again are as small as those of overlapping phases") {
  const auto settled = [](bool overlap, bool again) {
    Simulation simulation;
    simulation.config.read_overlaps = simulation.config.write_overlaps = overlap;
    if (!overlap) simulation.config.max_ring = 1;
    simulation.config.reads_again = again;
    simulation.device.compute = affine(20e3, 1);
    return static_cast<double>(simulation.run(150).back().decision.target.work);
  };
  CHECK(settled(false, true) == Approx(settled(true, false)).epsilon(0.3));
  CHECK(settled(false, false) > 4 * settled(false, true));
}

TEST_CASE("adaptive follows a ramp of the fixed cost and of the rate") {
  for (Simulation simulation : set_ups()) {
    INFO("lag " << simulation.lag);
    const auto ramp = [](int step) { return 1 + 9 * std::min(step, 300) / 300.0; };
    simulation.device.compute = [=](double work, int step) { return 20e3 * ramp(step) + work; };
    check_each_step(simulation, 400);
    simulation.device.compute = [=](double work, int step) { return 20e3 + ramp(step) * work; };
    check_each_step(simulation, 400);
  }
}

TEST_CASE("adaptive recovers from a step within 20 chunks") {
  constexpr int at = 60;
  const auto step_of = [](double before, double after) {
    return [=](int step) { return step < at ? before : after; };
  };
  for (Simulation simulation : set_ups()) {
    INFO("lag " << simulation.lag);
    const auto slower = step_of(1, 4);
    const auto quicker = step_of(4, 1);
    const auto dearer = step_of(1, 10);
    for (const auto& compute : std::vector<std::function<double(double, int)>>{
             [=](double work, int step) { return (20e3 + work) * slower(step); },
             [=](double work, int step) { return (20e3 + work) * quicker(step); },
             [=](double work, int step) { return 20e3 + work * slower(step); },
             [=](double work, int step) { return 20e3 * dearer(step) + work; }}) {
      simulation.device.compute = compute;
      check_each_step(simulation, 200, at + learning);
      REQUIRE(reversals(simulation.run(200), learning) <= 4);
    }
  }
}

TEST_CASE("adaptive is not shaken by noise and outliers") {
  for (Simulation simulation : set_ups()) {
    simulation.device.compute = affine(20e3, 1);
    for (const double noise : {0.05, 0.1, 0.2}) {
      simulation.device.noise = noise;
      simulation.device.outliers = noise > 0.1 ? 0.05 : 0;
      constexpr int seeds = 50;
      constexpr int steps = 200;
      int turns = 0;
      for (simulation.seed = 1; simulation.seed <= seeds; ++simulation.seed) {
        INFO("lag " << simulation.lag << " noise " << noise << " seed " << simulation.seed);
        const auto history = simulation.run(learning + steps);
        REQUIRE(simulation.regret(history, learning) <= regret);
        turns += reversals(history, learning);
      }
      REQUIRE(turns <= seeds * steps / 50);
    }
  }
}

TEST_CASE("adaptive survives one giant item") {
  for (Simulation simulation : set_ups()) {
    INFO("lag " << simulation.lag);
    simulation.device.compute = affine(20e3, 1);
    simulation.item_work = [](int64_t item) { return item == 1'000'000 ? 50'000'000 : 16; };
    const auto history = simulation.run(150);
    REQUIRE(simulation.regret(history, learning) <= regret);
    // Alone in its chunk, or with those of its chunk before it that fit: never split, never dropped.
    int64_t items = 0;
    for (const Step& step : history) items += step.size.items;
    REQUIRE(items > 1'000'000);
    REQUIRE(simulation.regret(history, static_cast<int>(history.size()) - 20) <= regret);
  }
}

TEST_CASE("adaptive finds the bottom where cost falls, then rises") {
  const auto kink = [](double work, int) {
    return work < 2e6 ? 100e3 + work : 100e3 + 2e6 + 2.5 * (work - 2e6);
  };
  const auto cliff = [](double work, int) { return 200e3 + work * (work < 1e6 ? 1 : 2); };
  const auto bowl = [](double work, int) { return 500e3 + work * (1 + work / 5e6); };
  for (Simulation simulation : set_ups()) {
    for (const auto& compute : std::vector<std::function<double(double, int)>>{kink, cliff, bowl}) {
      INFO("lag " << simulation.lag);
      simulation.device.compute = compute;
      const auto history = simulation.run(200);
      REQUIRE(simulation.regret(history, learning) <= regret);
      REQUIRE(simulation.regret(history, 100) <= regret);
      REQUIRE(reversals(history, learning) <= 4);
    }
  }
}

TEST_CASE("what the first chunk pays for does not speak against chunks as small as it") {
  // A unit of work costs half as much where a chunk stays in the cache. New memory costs as much again, and the first chunk
  // finds all else cold, too.
  constexpr double in_cache = 1.4, beyond = 2.8, new_memory = 1, cold = 640'000;
  const auto controller = make_controller(Policy::adaptive(), {});
  std::int64_t most = 0, items = 0;
  ChunkSize so_far;
  for (int chunk = 0; chunk < 100; ++chunk) {
    const Target target = controller->next(so_far).target;
    items = std::min<std::int64_t>(target.items, target.work / 2048);
    const ChunkSize size{.items = items, .work = items * 2048, .bytes = 0};
    const auto work = static_cast<double>(size.work);
    const double fresh = static_cast<double>(std::max<std::int64_t>(size.work - most, 0));
    most = std::max(most, size.work);
    const double ns =
        5000 + work * (items <= 128 ? in_cache : beyond) + fresh * new_memory + (chunk == 0 ? cold : 0);
    controller->observe(
        {.size = size, .target = target, .ns = {.compute = static_cast<std::int64_t>(ns)}, .utilisation = 1});
    so_far.items += size.items;
    so_far.work += size.work;
  }
  CHECK(items <= 128);
  CHECK(items >= 8);
}

TEST_CASE("pieces stay in the cache as long as fixed costs are small there") {
  Simulation simulation = pieces_with_caches();
  for (const double beyond : {1.0, 1.1, 1.3, 2.0}) {  // what a unit costs out of the cache
    INFO("out of the cache a unit costs " << beyond);
    simulation.device.compute = [=](double work, int) {
      return 8e3 + 2 * work * (12 * work <= (1 << 20) ? 1.0 : beyond);
    };
    check_each_step(simulation, 150);
    for (const Step& step : simulation.run(150)) CHECK(step.size.bytes <= 1 << 20);
  }
}

TEST_CASE("pieces leave the cache where fixed costs are large") {
  Simulation simulation = pieces_with_caches();
  simulation.device.compute = [](double work, int) {
    return 100e3 + work * (12 * work <= (1 << 20) ? 1.0 : 1.2);
  };
  check_each_step(simulation, 150);
  CHECK(simulation.run(150).back().size.bytes > 2 << 20);
}

TEST_CASE("pieces stay in the cache with the arrays that computing them makes") {
  Simulation simulation = pieces_with_caches();
  simulation.device.compute = affine(2e3, 2);
  const auto alone = simulation.run(150).back();
  CHECK(alone.size.work * 36 > 1 << 20);
  simulation.device.arrays_per_work = 24;
  const auto with_arrays = simulation.run(150).back();
  CHECK(with_arrays.size.work * 36 <= 1 << 20);
  CHECK(with_arrays.decision.reason == Reason::cache);
}

TEST_CASE("pieces fill the cache where a device is waited for, and need not else") {
  Simulation simulation = pieces_with_caches();
  simulation.device.compute = affine(1e3, 4);
  CHECK(simulation.run(150).back().size.bytes < 1 << 19);
  simulation.device.waited_for = true;
  const auto last = simulation.run(150).back();
  CHECK(last.size.bytes > 1 << 19);
  CHECK(last.size.bytes <= 1 << 20);
  CHECK(last.decision.reason == Reason::cache);
}

TEST_CASE("costs of pieces in the cache are learned anew when the machine has changed") {
  for (const double slower : {1.5, 2.0, 4.0}) {
    INFO("slower by " << slower);
    Simulation simulation = pieces_with_caches();
    simulation.device.compute = [=](double work, int step) {
      return (step < 150 ? 1 : slower) * (8e3 + 2 * work);
    };
    const auto history = simulation.run(500);
    CHECK(history[149].decision.reason == Reason::cache);
    CHECK(history.back().decision.reason == Reason::cache);
  }
}

TEST_CASE("the end of a stream is shared out among all that work at pieces") {
  Simulation simulation = pieces_with_caches();
  simulation.device.compute = affine(8e3, 1);
  simulation.config.total = ChunkSize{200'000, 200'000 * simulation.uniform_work, 0};
  const auto history = simulation.run(1000);
  int64_t items = 0;
  for (const Step& step : history) items += step.size.items;
  REQUIRE(items == 200'000);
  // The last ones are smaller, and none is a sliver that costs more than it does.
  CHECK(history.back().size.work * 1.5 < history[history.size() / 2].size.work);
  CHECK(history.back().size.work > 8'000);
}

TEST_CASE("chunks in flight never exceed the memory limit") {
  for (Simulation simulation : set_ups()) {
    simulation.device.compute = affine(200e3, 1);
    simulation.device.bytes_per_work = 8;
    simulation.config.memory_limit = 8 << 20;
    for (const Policy& policy : {Policy::adaptive(), Policy::paper(), Policy::fixed(1'000'000)}) {
      simulation.policy = policy;
      INFO(to_string(policy) << " lag " << simulation.lag);
      for (const Step& step : simulation.run(200)) {
        REQUIRE(step.size.bytes * simulation.config.max_ring <= simulation.config.memory_limit);
        REQUIRE(step.decision.ring <= simulation.config.max_ring);
      }
    }
    simulation.policy = Policy::adaptive();
    check_each_step(simulation, 200);
    REQUIRE(simulation.run(200).back().decision.reason == Reason::memory_cap);
  }
}

TEST_CASE("chunks of items of any size never exceed the memory limit, but for an item that does") {
  for (Simulation simulation : set_ups()) {
    simulation.device.compute = affine(200e3, 1);
    simulation.device.bytes_per_work = 8;
    simulation.config.memory_limit = 8 << 20;
    const int64_t slot = slot_memory(simulation.config);
    for (const int64_t giant : {slot / 8 - 1, slot / 8, slot / 4}) {
      // Most are small; one of a hundred takes up to a slot, or two.
      simulation.item_work = [=](int64_t item) {
        const auto random = static_cast<int64_t>(static_cast<uint64_t>(item) * 0x9e3779b97f4a7c15 >> 40);
        return random % 100 == 0 ? giant : 1 + random % 2000;
      };
      for (const Policy& policy : {Policy::adaptive(), Policy::paper(), Policy::fixed(1'000)}) {
        simulation.policy = policy;
        INFO(to_string(policy) << " lag " << simulation.lag << " giant " << giant);
        int64_t alone = 0;
        for (const Step& step : simulation.run(300)) {
          if (step.size.items == 1) ++alone;
          REQUIRE((step.size.bytes <= slot || step.size.items == 1));
        }
        if (8 * giant > slot) REQUIRE(alone > 0);
      }
    }
  }
}

TEST_CASE("adaptive chunks stay below the longest allowed time") {
  for (Simulation simulation : set_ups()) {
    INFO("lag " << simulation.lag);
    // Fixed costs so high that their share alone would ask for chunks of seconds.
    simulation.device.compute = affine(20e6, 1);
    const auto history = simulation.run(100);
    for (std::size_t step = 0; step < history.size(); ++step) {
      const auto ns = simulation.device.compute(static_cast<double>(history[step].size.work), 0);
      REQUIRE(ns <= 1.1 * static_cast<double>(simulation.config.max_chunk_ns));
    }
    const auto last = simulation.device.compute(static_cast<double>(history.back().size.work), 0);
    REQUIRE(last >= 0.5 * static_cast<double>(simulation.config.max_chunk_ns));
  }
}

TEST_CASE("adaptive does not grow when the source is the bottleneck") {
  Simulation simulation;
  simulation.device.compute = affine(200e3, 1);
  Simulation slow_source = simulation;
  slow_source.device.read = affine(5e3, 3);
  const Step free = simulation.run(100).back();
  const Step bound = slow_source.run(100).back();
  REQUIRE(bound.size.work < free.size.work / 4);
  REQUIRE(slow_source.regret(bound, 99) <= regret);
}

TEST_CASE("adaptive takes the fixed costs of whichever phase is the bottleneck") {
  Simulation simulation;
  simulation.device.compute = affine(20e3, 1);
  simulation.device.write = affine(2e6, 2);
  check_each_step(simulation, 100);
  simulation.device.write = affine(1e3, 0.1);
  simulation.device.read = affine(3e6, 2);
  check_each_step(simulation, 100);
}

TEST_CASE("the ring is as deep as phases take time") {
  Simulation simulation;
  simulation.device.compute = affine(20e3, 1);
  REQUIRE(simulation.run(100).back().decision.ring == 2);
  simulation.device.read = simulation.device.write = affine(20e3, 0.9);
  REQUIRE(simulation.run(100).back().decision.ring == 4);
}

TEST_CASE("adaptive begins modestly and needs few chunks for many small items") {
  Simulation simulation;
  simulation.device.compute = affine(10e3, 0.5);
  simulation.uniform_work = 3;
  simulation.config.total = ChunkSize{.items = 10'000'000, .work = 30'000'000, .bytes = 0};
  for (const bool overlaps : {false, true}) {
    simulation.config.read_overlaps = simulation.config.write_overlaps = overlaps;
    const auto history = simulation.run(100'000);
    REQUIRE(history.front().size.work <= 64 * 1024);
    double ns = 0;
    for (const Step& step : history) ns += simulation.device.compute(static_cast<double>(step.size.work), 0);
    REQUIRE(ns <= 1.05 * 0.5 * 30e6);
  }
}

TEST_CASE("the end of a known stream is cut without slivers") {
  for (Simulation simulation : set_ups()) {
    INFO("lag " << simulation.lag);
    simulation.device.compute = affine(20e3, 1);
    simulation.uniform_work = 1;
    const int64_t steady = simulation.run(100).back().size.work;
    for (const int64_t extra : {int64_t{1}, steady / 3, steady - 1}) {
      const int64_t total = 40 * steady + extra;
      simulation.config.total = ChunkSize{.items = total, .work = total, .bytes = 0};
      const auto history = simulation.run(1000);
      int64_t items = 0;
      for (const Step& step : history) items += step.size.items;
      REQUIRE(items == total);
      for (const Step& step : history)
        REQUIRE((step.decision.reason != Reason::tail || &step == &history.back()));
      REQUIRE(history.back().size.work >= steady / 10);
      REQUIRE(history.back().size.work <= steady * 5 / 4);
      REQUIRE(simulation.regret(history, learning) <= regret);
    }
    simulation.config.total.reset();
  }
}

TEST_CASE("items without work end a chunk too") {
  Simulation simulation;
  simulation.device.compute = affine(20e3, 1);
  simulation.item_work = [](int64_t) { return 0; };
  const auto history = simulation.run(3);
  REQUIRE(history.front().size.items <= 64 * 1024);
  for (const Step& step : history) REQUIRE(step.size.items <= step.decision.target.items);
}

TEST_CASE("a chunk that was too big is remembered") {
  for (const Policy& policy : {Policy::adaptive(), Policy::paper(), Policy::fixed(1000)}) {
    INFO(to_string(policy));
    const auto controller = make_controller(policy, {});
    controller->too_big({.items = 100, .work = 1000, .bytes = 0});
    const Decision decision = controller->next({});
    REQUIRE((decision.target.items <= 50 || decision.target.work <= 500));
    controller->too_big({.items = 1, .work = 1, .bytes = 0});
    REQUIRE(controller->next({}).target.items >= 1);
  }
}

TEST_CASE("a chunk that waits for memory by itself says nothing about those behind it") {
  for (const Policy& policy : {Policy::adaptive(), Policy::paper(), Policy::fixed(1000)}) {
    INFO(to_string(policy));
    const auto controller = make_controller(policy, {});
    const Target before = controller->next({}).target;
    controller->too_big({.items = 1, .work = 0, .bytes = 1 << 20});
    const Decision decision = controller->next({});
    REQUIRE(decision.target.items == before.items);
    REQUIRE(decision.target.work == before.work);
    REQUIRE(decision.reason != Reason::too_big);
  }
}

TEST_CASE("fixed takes what it was told") {
  Simulation simulation;
  simulation.policy = Policy::fixed(7);
  simulation.device.compute = affine(1, 1);
  for (const Step& step : simulation.run(50)) {
    REQUIRE(step.size.items == 7);
    REQUIRE(step.decision.reason == Reason::fixed);
  }
}

namespace {
// Feeds the paper's policy one chunk of the size it asked for.
Decision feed(Controller& controller, double ns_per_item, double utilisation) {
  const Target target = controller.next({}).target;
  const ChunkSize size{.items = target.items, .work = target.items, .bytes = 0};
  controller.observe(
      {.size = size,
       .target = target,
       .ns = {.compute = static_cast<int64_t>(ns_per_item * static_cast<double>(target.items))},
       .utilisation = utilisation});
  return controller.next({});
}
}  // namespace

TEST_CASE("the paper's policy, step by step") {
  const auto controller = make_controller(Policy::paper(), {});
  REQUIRE(controller->next({}).target.items == 1);
  REQUIRE(controller->next({}).reason == Reason::start);
  // Not filled: grow by half, whatever the time.
  REQUIRE(feed(*controller, 1000, 0.5).target.items == 2);
  REQUIRE(feed(*controller, 1000, 0.5).target.items == 3);
  REQUIRE(feed(*controller, 1000, 0.79).reason == Reason::underused);
  REQUIRE(controller->next({}).target.items == 5);
  // Filled, the average 1000 -> 900: falls.
  REQUIRE(feed(*controller, 800, 0.9).reason == Reason::cost_falls);
  REQUIRE(controller->next({}).target.items == 8);
  // 900 -> 910: within 3 %.
  REQUIRE(feed(*controller, 920, 0.9).reason == Reason::cost_equal);
  REQUIRE(controller->next({}).target.items == 8);
  // 910 -> 1455: rises; shrinking takes twice as many steps as growing.
  REQUIRE(feed(*controller, 2000, 0.9).reason == Reason::cost_rises);
  REQUIRE(controller->next({}).target.items == 6);
  REQUIRE(feed(*controller, 20000, 0.9).target.items == 4);
  for (int i = 0; i < 20; ++i) feed(*controller, 1e5 * (i + 1), 0.9);
  REQUIRE(controller->next({}).target.items >= 1);
}

TEST_CASE("the paper's policy ignores chunks of former sizes") {
  const auto controller = make_controller(Policy::paper(), {});
  const Target first = controller->next({}).target;
  const Observation late{.size = {1, 1, 0}, .target = first, .ns = {.compute = 1000}, .utilisation = 0.1};
  controller->observe(late);
  REQUIRE(controller->next({}).target.items == 2);
  controller->observe(late);
  REQUIRE(controller->next({}).target.items == 2);
}

TEST_CASE("policies are read and printed") {
  for (const char* text : {"adaptive", "paper", "fixed:1", "fixed:1000000"}) {
    REQUIRE(to_string(parse_policy(text)) == text);
  }
  REQUIRE(parse_policy("fixed:12") == Policy::fixed(12));
  for (const char* text : {"", "fixed", "fixed:", "fixed:0", "fixed:-1", "fixed:1x", "fixed: 1", "Adaptive",
                           "fixed:99999999999999999999", "paper:3"}) {
    INFO(text);
    REQUIRE_THROWS_AS(parse_policy(text), std::invalid_argument);
  }
  REQUIRE_THROWS_WITH(parse_policy("guided"),
                      "unknown scheduler 'guided': expected adaptive, paper or fixed:N (N items per chunk)");
  REQUIRE_THROWS_WITH(
      parse_policy("fixed:0"),
      "scheduler 'fixed:0': fixed:N takes a whole number N of items, 1 or more, for example fixed:1000");
}

TEST_CASE("whatever a controller sees, the next chunk has at least one item and fits its slot") {
  ControllerConfig config;
  config.memory_limit = 1 << 20;
  std::mt19937_64 random(7);
  const auto one_of = [&](const std::vector<int64_t>& values) { return values[random() % values.size()]; };
  const std::vector<int64_t> sizes{0, 1, 2, 1000, int64_t{1} << 40, no_limit};
  for (const Policy& policy : {Policy::adaptive(), Policy::paper(), Policy::fixed(1'000'000)})
    for (const bool known : {false, true}) {
      config.total.reset();
      if (known) config.total = ChunkSize{100, 1000, 0};
      const auto controller = make_controller(policy, config);
      ChunkSize so_far;
      for (int step = 0; step < 3000; ++step) {
        // At first always the same, which asks for more and more, or for less and less; then anything.
        const bool grow = step < 300, shrink = !grow && step < 600;
        const auto time = [&] { return grow ? 0 : shrink ? int64_t{step} << 30 : one_of(sizes) / 2; };
        const Decision decision = controller->next(so_far);
        INFO(to_string(policy) << " step " << step << ": " << describe(decision));
        REQUIRE(decision.target.items >= 1);
        REQUIRE(decision.target.work >= 1);
        REQUIRE(decision.target.bytes >= 1);
        REQUIRE(decision.target.bytes <= config.memory_limit / config.max_ring);
        REQUIRE(decision.ring >= 1);
        REQUIRE(decision.ring <= config.max_ring);
        if (!grow && !shrink && step % 7 == 0) {
          controller->too_big({one_of({1, 2, 1000}), one_of(sizes), one_of(sizes)});
        } else {
          const ChunkSize size{std::min<int64_t>(decision.target.items, 1000),
                               grow || shrink ? 1000 : one_of(sizes), grow || shrink ? 1000 : one_of(sizes)};
          controller->observe({.size = size,
                               .target = decision.target,
                               .ns = {time(), time(), time(), time()},
                               .utilisation = grow     ? 0.0
                                              : shrink ? 1.0
                                                       : static_cast<double>(random() % 2)});
          so_far.items += size.items;
        }
      }
    }
}

TEST_CASE("every decision can be read") {
  Simulation simulation;
  simulation.device.compute = affine(20e3, 1);
  for (const Step& step : simulation.run(30)) REQUIRE(!describe(step.decision).empty());
  const std::string last = describe(simulation.run(30).back().decision);
  REQUIRE(last.find("a chunk takes 30.") != std::string::npos);
  REQUIRE(last.find("fixed cost at its share") != std::string::npos);
  REQUIRE(describe({.target = {.items = 1, .bytes = 3 << 20}, .ring = 3, .reason = Reason::fixed}) ==
          "at most 1 item, 3.0 MiB; 3 chunks in flight: fixed");
  REQUIRE(describe({.reason = Reason::tail}) == "no limit; 1 chunk in flight: end of stream");
  std::set<std::string> sentences;
  for (std::size_t reason = 0; reason < reasons; ++reason)
    sentences.insert(meaning_of(static_cast<Reason>(reason)));
  REQUIRE(sentences.size() == reasons);
  REQUIRE(!sentences.contains(""));
}
