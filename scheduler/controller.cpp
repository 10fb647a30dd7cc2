#include "scheduler/controller.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "scheduler/adaptive.h"
#include "scheduler/budget.h"

namespace anabranch::scheduler {
namespace {

// Remembers what failed for lack of memory, for the policies that count items.
class ItemCeiling {
 public:
  void too_big(const ChunkSize& tried) noexcept {
    if (tried.items <= 1) return;  // no chunk has fewer: it waits for its turn, and says nothing about others
    items_ = std::min(items_, std::max<int64_t>(tried.items / 2, 1));
  }
  int64_t apply(int64_t items) const noexcept { return std::min(items, items_); }
  bool binds(int64_t items) const noexcept { return items > items_; }

 private:
  int64_t items_ = no_limit;
};

class FixedController final : public Controller {
 public:
  FixedController(int64_t items, const ControllerConfig& config) : items_(items), config_(config) {}

  Decision next(const ChunkSize&) override {
    return {.target = {.items = ceiling_.apply(items_), .work = no_limit, .bytes = slot_memory(config_)},
            .ring = config_.max_ring,
            .reason = ceiling_.binds(items_) ? Reason::too_big : Reason::fixed};
  }
  void observe(const Observation&) override {}
  void too_big(const ChunkSize& tried) override { ceiling_.too_big(tried); }

 private:
  int64_t items_;
  ControllerConfig config_;
  ItemCeiling ceiling_;
};

// The policy of Streaming Irregular Arrays (2017): follow the time per item, one chunk at a time.
class PaperController final : public Controller {
 public:
  explicit PaperController(const ControllerConfig& config) : config_(config) {}

  Decision next(const ChunkSize&) override {
    return {.target = {.items = ceiling_.apply(items_), .work = no_limit, .bytes = slot_memory(config_)},
            .ring = config_.max_ring,
            .reason = ceiling_.binds(items_) ? Reason::too_big : reason_};
  }

  void observe(const Observation& seen) override {
    // Chunks that were in flight when the size changed say nothing about the new size.
    if (seen.target.items != ceiling_.apply(items_)) return;
    const double ns =
        phase_cost(config_, seen.ns) / static_cast<double>(std::max<int64_t>(seen.size.items, 1));
    const double before = average_;
    average_ = before < 0 ? ns : weight_of_newest * ns + (1 - weight_of_newest) * before;
    if (seen.utilisation < enough_utilisation) {
      grow(Reason::underused);
    } else if (before < 0 || average_ < before * (1 - equal_within)) {
      grow(Reason::cost_falls);
    } else if (average_ > before * (1 + equal_within)) {
      items_ = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(items_) / shrinkage));
      reason_ = Reason::cost_rises;
    } else {
      reason_ = Reason::cost_equal;
    }
  }

  void too_big(const ChunkSize& tried) override {
    ceiling_.too_big(tried);
    items_ = ceiling_.apply(items_);
  }

 private:
  static constexpr double enough_utilisation = 0.8;
  static constexpr double weight_of_newest = 0.5;
  static constexpr double equal_within = 0.03;
  static constexpr double growth = 1.5;
  static constexpr double shrinkage = 1.22;
  static constexpr int64_t most_items = int64_t{1} << 50;

  void grow(Reason reason) {
    const auto grown = static_cast<int64_t>(std::llround(static_cast<double>(items_) * growth));
    items_ = std::min(std::max(grown, items_ + 1), most_items);
    reason_ = reason;
  }

  ControllerConfig config_;
  ItemCeiling ceiling_;
  int64_t items_ = 1;
  double average_ = -1;
  Reason reason_ = Reason::start;
};

}  // namespace

const char* to_string(Reason reason) noexcept {
  switch (reason) {
    case Reason::fixed:
      return "fixed";
    case Reason::live:
      return "live source: what has come";
    case Reason::start:
      return "start";
    case Reason::underused:
      return "machine not filled";
    case Reason::cost_falls:
      return "time per item falls";
    case Reason::cost_rises:
      return "time per item rises";
    case Reason::cost_equal:
      return "time per item unchanged";
    case Reason::explore:
      return "exploring sizes";
    case Reason::one_item:
      return "one item is a chunk";
    case Reason::fixed_cost:
      return "fixed cost at its share";
    case Reason::source_bound:
      return "source is the bottleneck";
    case Reason::sink_bound:
      return "sink is the bottleneck";
    case Reason::measured_worse:
      return "other sizes measured worse";
    case Reason::cache:
      return "stays in the cache";
    case Reason::time_cap:
      return "longest chunk";
    case Reason::memory_cap:
      return "memory limit";
    case Reason::too_big:
      return "former size did not fit";
    case Reason::hold:
      return "change not worth it";
    case Reason::rest:
      return "shares out the rest of the stream";
    case Reason::tail:
      return "end of stream";
  }
  return "";
}

const char* meaning_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::fixed:
      return "The user chose this number of items.";
    case Reason::live:
      return "The next item may not be there yet, so each is computed as soon as it is.";
    case Reason::start:
      return "Nothing is known of the stream yet.";
    case Reason::underused:
      return "Less than 80 % of the threads' time was used, so chunks grow.";
    case Reason::cost_falls:
      return "An item took less time than before, so chunks grow.";
    case Reason::cost_rises:
      return "An item took more time than before, so chunks shrink.";
    case Reason::cost_equal:
      return "An item took as long as before, within 3 %, so chunks stay as they are.";
    case Reason::explore:
      return "The model of what a chunk costs needs measurements of chunks of other sizes.";
    case Reason::one_item:
      return "A chunk is one item, which takes so long that larger chunks are not tried; there are no "
             "smaller ones.";
    case Reason::fixed_cost:
      return "What each chunk costs, however small it is, is down to its share: larger ones would gain "
             "nothing.";
    case Reason::source_bound:
      return "Reading takes longer than computing: larger chunks would gain nothing.";
    case Reason::sink_bound:
      return "Writing takes longer than computing: larger chunks would gain nothing.";
    case Reason::measured_worse:
      return "Other sizes were tried, and an element took longer, as where a chunk no longer fits the "
             "caches.";
    case Reason::cache:
      return "A larger chunk would leave the cache of the core that reads and computes it.";
    case Reason::time_cap:
      return "A larger chunk would take longer than the longest that is allowed, and stopping would have to "
             "wait.";
    case Reason::memory_cap:
      return "A larger chunk would need more than its part of the memory bound.";
    case Reason::too_big:
      return "A larger chunk was tried, and did not fit into the memory bound.";
    case Reason::hold:
      return "A better size is known, but the difference is too small to change for.";
    case Reason::rest:
      return "The end is near: what is left is cut into equal parts, so that no thread waits long at the "
             "end.";
    case Reason::tail:
      return "All that is left of the stream.";
  }
  return "";
}

std::string describe(const Decision& decision) {
  const Target& target = decision.target;
  std::string text;
  const auto add = [&](const std::string& limit) { text += (text.empty() ? "at most " : ", ") + limit; };
  if (target.items != no_limit && target.items != target.work)  // an item counts as an element at least
    add(std::to_string(target.items) + (target.items == 1 ? " item" : " items"));
  if (target.work != no_limit) add(std::to_string(target.work) + " elements");
  if (target.bytes != no_limit) add(format_bytes(target.bytes));
  if (text.empty()) text = "no limit";
  text += "; " + std::to_string(decision.ring) + (decision.ring == 1 ? " chunk" : " chunks") +
          " in flight: " + to_string(decision.reason);
  if (decision.ns_per_work > 0) {
    std::array<char, 96> model;
    std::snprintf(model.data(), model.size(), " (a chunk takes %.1f us + %.4g ns an element)",
                  decision.fixed_ns / 1e3, decision.ns_per_work);
    text += model.data();
  }
  return text;
}

int64_t slot_memory(const ControllerConfig& config) noexcept {
  if (config.memory_limit == no_limit) return no_limit;
  return std::max<int64_t>(config.memory_limit / config.max_ring, 1);
}

double phase_cost(const ControllerConfig& config, const PhaseTimes& ns) noexcept {
  const auto read = static_cast<double>(ns.read);
  const auto write = static_cast<double>(ns.write);
  const double in_line = static_cast<double>(ns.compute) + (config.read_overlaps ? 0 : read) +
                         (config.write_overlaps ? 0 : write);
  return std::max({in_line, config.read_overlaps ? read : 0, config.write_overlaps ? write : 0, 1.0});
}

std::unique_ptr<Controller> make_controller(const Policy& policy, const ControllerConfig& config,
                                            const std::shared_ptr<const Learned>& learned) {
  switch (policy.kind) {
    case Policy::Kind::adaptive:
      return std::make_unique<AdaptiveController>(config, learned);
    case Policy::Kind::paper:
      return std::make_unique<PaperController>(config);
    case Policy::Kind::fixed:
      return std::make_unique<FixedController>(policy.items, config);
  }
  return nullptr;
}

}  // namespace anabranch::scheduler
