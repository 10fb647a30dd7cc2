// A machine made of formulas, to try controllers on:
// its best chunk is known, and it is never busy with anything else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "scheduler/controller.h"

namespace anabranch::scheduler::test {

// Phase times in ns of a chunk of `work`, at step `step` of the run.
struct Device {
  std::function<double(double work, int step)> compute;
  std::function<double(double work, int step)> read = [](double, int) { return 0.0; };
  std::function<double(double work, int step)> write = [](double, int) { return 0.0; };
  std::function<double(double work)> utilisation = [](double) { return 1.0; };
  double bytes_per_work = 1;
  double arrays_per_work = 0;  // bytes of arrays between items and results
  bool waited_for = false;     // threads beside read and commit
  double noise = 0;            // standard deviation of the logarithm
  double outliers = 0;         // probability of a time that is 10 times too long

  double cost(const ControllerConfig& config, double work, int step) const {
    return phase_cost(config, {.read = static_cast<int64_t>(read(work, step)),
                               .compute = static_cast<int64_t>(compute(work, step)),
                               .write = static_cast<int64_t>(write(work, step))});
  }
};

inline std::function<double(double, int)> affine(double fixed_ns, double ns_per_work) {
  return [=](double work, int) { return fixed_ns + ns_per_work * work; };
}

struct Step {
  Decision decision;
  ChunkSize size;
};

struct Simulation {
  Device device;
  ControllerConfig config;
  Policy policy = Policy::adaptive();
  // Work of the items: all alike, or by their number.
  int64_t uniform_work = 16;
  std::function<int64_t(int64_t item)> item_work;
  int64_t lag = 0;  // chunks that are read before the first is finished
  uint64_t seed = 1;
  std::shared_ptr<const Learned> earlier{};          // by a run before
  mutable std::shared_ptr<const Learned> learned{};  // by the last one

  std::vector<Step> run(int steps) const {
    const auto controller = make_controller(policy, config, earlier);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<Step> history;
    std::deque<Observation> in_flight;
    ChunkSize so_far;
    for (int step = 0; step < steps; ++step) {
      if (config.total && so_far.items >= config.total->items) break;
      const Decision decision = controller->next(so_far);
      const ChunkSize size = take(decision.target, so_far.items);
      so_far.items += size.items;
      so_far.work += size.work;
      so_far.bytes += size.bytes;
      history.push_back({decision, size});
      const auto time = [&](const auto& phase) {
        double ns = phase(static_cast<double>(size.work), step) * std::exp(device.noise * normal(random));
        if (uniform(random) < device.outliers) ns *= 10;
        return static_cast<int64_t>(ns);
      };
      in_flight.push_back(
          {.size = size,
           .target = decision.target,
           .ns = {.read = time(device.read), .compute = time(device.compute), .write = time(device.write)},
           .utilisation = device.utilisation(static_cast<double>(size.work)),
           .array_bytes = static_cast<int64_t>(static_cast<double>(size.work) * device.arrays_per_work),
           .device = device.waited_for});
      if (static_cast<int64_t>(in_flight.size()) > lag) {
        controller->observe(in_flight.front());
        in_flight.pop_front();
      }
    }
    learned = controller->learned();
    return history;
  }

  // As a source cuts: stops before the first limit is exceeded, but takes at least one item.
  ChunkSize take(const Target& target, int64_t first) const {
    if (!item_work) return take_uniform(target, first);
    ChunkSize size;
    for (int64_t item = first; !config.total || item < config.total->items; ++item) {
      const int64_t work = item_work(item);
      const auto bytes = static_cast<int64_t>(std::ceil(static_cast<double>(work) * device.bytes_per_work));
      if (size.items > 0 && (size.items + 1 > target.items || size.work + work > target.work ||
                             size.bytes + bytes > target.bytes)) {
        break;
      }
      size.items += 1;
      size.work += work;
      size.bytes += bytes;
    }
    return size;
  }

  ChunkSize take_uniform(const Target& target, int64_t first) const {
    const auto bytes =
        static_cast<int64_t>(std::ceil(static_cast<double>(uniform_work) * device.bytes_per_work));
    int64_t items = std::min({target.items, target.work / uniform_work, target.bytes / bytes});
    if (config.total) items = std::min(items, config.total->items - first);
    items = std::max<int64_t>(items, 1);
    return {items, items * uniform_work, items * bytes};
  }

  // Time per unit of work with the best fixed chunk that the limits allow.
  double best_cost(int step) const {
    double best = std::numeric_limits<double>::infinity();
    for (double work = 1; work < 1e12; work *= 1.02) {
      if (work * device.bytes_per_work > static_cast<double>(slot_memory(config))) break;
      const double ns = device.cost(config, work, step);
      if (ns > static_cast<double>(config.max_chunk_ns)) break;
      best = std::min(best, ns / work);
    }
    return best;
  }

  // How much more a chunk of this size costs than the best one, as a factor.
  double regret(const Step& taken, int step) const {
    const auto work = static_cast<double>(taken.size.work);
    return device.cost(config, work, step) / work / best_cost(step);
  }

  // The same for all steps from `begin` on together: what a user would notice.
  double regret(const std::vector<Step>& history, int begin) const {
    double cost = 0;
    double best = 0;
    for (int step = begin; step < static_cast<int>(history.size()); ++step) {
      const auto work = static_cast<double>(history[static_cast<std::size_t>(step)].size.work);
      cost += device.cost(config, work, step);
      best += best_cost(step) * work;
    }
    return cost / best;
  }
};

// Four threads that read and compute pieces of their own, of 12 bytes a unit of work, with caches of 1 MiB.
inline Simulation pieces_with_caches() {
  Simulation simulation;
  simulation.config.read_overlaps = simulation.config.write_overlaps = false;
  simulation.config.reads_again = true;
  simulation.config.workers = 4;
  simulation.config.max_ring = 5;
  simulation.config.cache_bytes = 1 << 20;
  simulation.device.bytes_per_work = 12;
  simulation.lag = 4;
  return simulation;
}

}  // namespace anabranch::scheduler::test
