#include "scheduler/adaptive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace anabranch::scheduler {
namespace {

constexpr double growth = 8;                   // per step while sizes are explored
constexpr double regrowth = 4;                 // the same, when a model had been known before
constexpr double fixed_share = 0.03;           // of the time, for fixed costs
constexpr double fixed_share_in_line = 0.005;  // where small chunks gain nothing
constexpr double tail_share = 0.12;
constexpr double cached_share = 0.08;  // up to which staying in the cache is worth it
// Our own, per chunk: not in any phase's time. Less of a piece, which no threads have to be told of.
constexpr double overhead_of_chunk_ns = 10'000, overhead_of_piece_ns = 2'000;
constexpr double hysteresis = 1.25;
constexpr double first_importance = 0.25;    // the first chunk pays for cold caches and new pages
constexpr double explore_time_share = 0.25;  // of the longest chunk, while the cost is a guess
constexpr double drift = 0.06;               // of the level, after which the shape is looked at again
constexpr double drift_of_pieces = 0.25;     // the same: what threads take from each other comes and goes
constexpr int surprises_of_pieces = 10;      // in a row, until a jump is believed: likewise
constexpr int rounds_of_surprises = 3;       // the same, of all threads: one moment disturbs a piece of each
constexpr double at_limit_by = 0.05;         // less of a change is none, where memory is the limit
constexpr double seen_twice = 1.5;           // confidence
constexpr double unbounded = 1e18;

}  // namespace

/// A controller at the end of its run.
struct AdaptiveController::Experience : Learned {
  explicit Experience(const AdaptiveController& of) : controller(of) {}
  AdaptiveController controller;
};

AdaptiveController::AdaptiveController(const ControllerConfig& config,
                                       const std::shared_ptr<const Learned>& learned)
    : config_(config),
      overlaps_(config.read_overlaps || config.write_overlaps),
      overhead_ns_(config.cache_bytes > 0 ? overhead_of_piece_ns : overhead_of_chunk_ns),
      work_(static_cast<double>(std::max<int64_t>(config.start_work, 1))),
      ring_(config.max_ring),
      memory_ceiling_(unbounded) {
  if (config_.cache_bytes > 0)
    for (CostModel* model : {&line_, &chunk_})
      model->believe_after(std::max(surprises_of_pieces, rounds_of_surprises * config_.workers));
  if (const auto* earlier = dynamic_cast<const Experience*>(learned.get())) recall(earlier->controller);
}

std::shared_ptr<const Learned> AdaptiveController::learned() const {
  return settled_ ? std::make_shared<Experience>(*this) : nullptr;
}

void AdaptiveController::recall(const AdaptiveController& earlier) {
  const ControllerConfig config = config_;
  if (earlier.config_.read_overlaps != config.read_overlaps ||
      earlier.config_.write_overlaps != config.write_overlaps ||
      earlier.config_.reads_again != config.reads_again || earlier.config_.workers != config.workers ||
      earlier.config_.cache_bytes != config.cache_bytes)
    return;
  *this = earlier;
  config_ = config;
  ring_ = std::min(ring_, config.max_ring);
  memory_ceiling_ = unbounded;
  is_first_ = true;
  const Wish possible = cap({work_, reason_});  // there may be less memory now
  work_ = possible.work;
  reason_ = possible.reason;
}

Decision AdaptiveController::next(const ChunkSize& so_far) {
  double work = work_;
  Reason reason = reason_;
  if (config_.total) {
    const ChunkSize rest{.items = config_.total->items - so_far.items,
                         .work = config_.total->work - so_far.work};
    const double last = tail(static_cast<double>(rest.weight()));
    if (last != work) {
      work = last;
      reason = last < static_cast<double>(rest.weight()) ? Reason::rest : Reason::tail;
    }
  }
  const auto limit = static_cast<int64_t>(std::clamp(std::floor(work), 1.0, unbounded));
  // Every item counts as work of 1 at least, so a run of empty items ends somewhere too.
  return {.target = {.items = limit, .work = limit, .bytes = slot_memory(config_)},
          .ring = ring_,
          .reason = reason,
          .fixed_ns = model_.fixed_ns,
          .ns_per_work = model_.ns_per_work};
}

// When the next chunks would leave less than themselves, the rest is cut so that the stream neither ends with a
// sliver that costs a whole chunk's overhead, nor, where phases overlap or several threads have a chunk each, with a
// long chunk beside which nothing else runs.
double AdaptiveController::tail(double remaining) const {
  const double parts = 2.0 * config_.workers;
  if (remaining >= parts * work_) return work_;
  const bool firm =
      reason_ == Reason::time_cap || reason_ == Reason::memory_cap || reason_ == Reason::too_big;
  if ((overlaps_ || config_.workers > 1) && settled_) {
    const double least = std::min(affordable(tail_share).work, work_);
    const double part = std::max(remaining / parts, least);
    return std::min(work_, remaining - part < least / 2 ? remaining : part);
  }
  const double chunks = std::ceil(remaining / work_ - (firm ? 0 : 0.25));
  return remaining / std::max(chunks, 1.0);
}

void AdaptiveController::observe(const Observation& observation) {
  learn(observation);
  decide();
  update_ring();
}

void AdaptiveController::learn(const Observation& seen) {
  const auto work = static_cast<double>(seen.size.weight());
  seen_once_ = std::exchange(is_first_, false);
  const double importance = seen_once_ ? first_importance : 1;
  const auto read = static_cast<double>(seen.ns.read);
  const auto write = static_cast<double>(seen.ns.write);
  const double in_line = static_cast<double>(seen.ns.compute) + (config_.read_overlaps ? 0 : read) +
                         (config_.write_overlaps ? 0 : write) + overhead_ns_;
  line_.add(work, in_line, importance);
  if (config_.read_overlaps) read_.add(work, read, importance);
  if (config_.write_overlaps) write_.add(work, write, importance);
  const bool jumped = chunk_.add(work, phase_cost(config_, seen.ns) + overhead_ns_, importance);
  if (jumped) settled_ = false;

  device_ = seen.device;
  one_item_ = seen.size.items == 1 ? work : 0;
  largest_seen_ = std::max(work, largest_seen_ * 0.99);
  const double bytes = static_cast<double>(seen.size.bytes) / work;
  bytes_per_work_ = std::max(bytes, bytes_per_work_ * 0.95 + bytes * 0.05);
  const double arrays = static_cast<double>(seen.array_bytes) / work;
  arrays_per_work_ = std::max(arrays, arrays_per_work_ * 0.95 + arrays * 0.05);
  memory_ceiling_ = std::min(memory_ceiling_ * 1.01, unbounded);
}

void AdaptiveController::decide() {
  const Wish wish = cap(this->wish());
  // (Known sizes are logarithms, rounded.)
  const bool cannot_be_tried = wish.reason == Reason::explore && wish.work < 0.99 * one_item_;
  adopt(cannot_be_tried ? Wish{wish.work, Reason::one_item} : wish);
}

AdaptiveController::Wish AdaptiveController::wish() {
  if (settled_ && std::abs(chunk_.level() - level_when_settled_) >
                      std::max(config_.cache_bytes > 0 ? drift_of_pieces : drift, 2.5 * chunk_.noise())) {
    // The machine is not the one that was learned: what other sizes cost has to be measured again.
    for (CostModel* model : {&line_, &read_, &write_, &chunk_}) model->forget_others();
    settled_ = false;
  }
  if (!chunk_.determined()) {
    settled_ = false;
    return explore();
  }
  if (!settled_) {
    settled_ = learned_once_ = true;
    level_when_settled_ = chunk_.level();
    smoothed_wish_ = 0;
  }
  Wish wish = affordable(overlaps_ || config_.reads_again ? fixed_share : fixed_share_in_line);
  // Each request costs the device something, whatever it is for; and how long one takes tells of those before it.
  if (const double most = cached(); device_ && most < unbounded && wish.work < most)
    wish = {most, Reason::cache};
  if (wish.work > growth * chunk_.largest()) wish = {growth * chunk_.largest(), Reason::explore};
  return device_ ? wish : correct_by_measurement(wish);
}

// A size apart from those that are known: a larger one, unless that is forbidden.
AdaptiveController::Wish AdaptiveController::explore() const {
  const double known = std::max(chunk_.largest(), 1.0);
  // What it really costs: its first chunk has paid for new memory, and would speak against all sizes as small as this.
  if (seen_once_ && !learned_once_) return {known, Reason::explore};
  const Wish larger = cap({(learned_once_ ? regrowth : growth) * known, Reason::explore});
  if (larger.work >= regrowth * known || known <= regrowth) return {larger.work, Reason::explore};
  // Larger ones that failed for lack of memory may be tried again soon: until then an old measurement is worth more than
  // a trial of a size that is too small.
  const bool soon = learned_once_ && memory_ceiling_ < regrowth * known;
  return {soon ? std::min(larger.work, work_) : known / regrowth, Reason::explore};
}

AdaptiveController::Wish AdaptiveController::affordable(double share) const {
  const auto best = chunk_.best();
  const double falling = best ? best->work : chunk_.largest();
  CostModel::Line line = line_.fit(falling);
  line.fixed_ns = std::max(line.fixed_ns, overhead_ns_);
  const CostModel::Line read = config_.read_overlaps ? read_.fit(falling) : CostModel::Line{};
  const CostModel::Line write = config_.write_overlaps ? write_.fit(falling) : CostModel::Line{};
  // max(a_i / w + b_i) is to be at most the limit for large w, max(b_i), plus the share.
  const double bottleneck = std::max({line.ns_per_work, read.ns_per_work, write.ns_per_work});
  double work = 1;
  for (const CostModel::Line& phase : {line, read, write}) {
    if (phase.fixed_ns <= 0) continue;
    const double room = bottleneck / (1 - share) - phase.ns_per_work;
    work = std::max(work, room > 0 ? std::min(phase.fixed_ns / room, unbounded) : unbounded);
  }
  if (bottleneck == line.ns_per_work) return {work, Reason::fixed_cost};
  return {work, bottleneck == read.ns_per_work ? Reason::source_bound : Reason::sink_bound};
}

// The model is a straight line; caches, pages and uneven pieces are not. Where measurements of the sizes
// themselves speak clearly against it, they win.
AdaptiveController::Wish AdaptiveController::correct_by_measurement(Wish wish) const {
  const auto best = chunk_.best();
  if (!best) return wish;
  const auto below = chunk_.below(*best);
  const bool gap_below = below && best->work > 4.1 * below->work;
  const auto worse = chunk_.worse_above(*best);
  if (worse && worse->confidence < seen_twice && wish.work >= worse->work && worse->work > 1.5 * work_) {
    return {worse->work, Reason::explore};  // one bad chunk may be bad luck
  }
  if (worse && wish.work > best->work) {
    // The cost has a minimum between known sizes, not far from the best of them:
    // halve the gaps to what is known on both sides.
    double most = best->work;
    if (worse->work > 2.1 * best->work) {
      most = std::sqrt(best->work * worse->work);
    } else if (gap_below) {
      most = std::sqrt(best->work * below->work);
    }
    if (wish.work > most) return {most, Reason::measured_worse};
  }
  if (gap_below) {
    // The best size costs more than the smaller ones predict: then costs have begun to rise before it.
    const CostModel::Line line = chunk_.fit(below->work);
    const CostModel::Size expected{.work = best->work,
                                   .cost = line.fixed_ns / best->work + line.ns_per_work,
                                   .confidence = below->confidence};
    if (line.fixed_ns > 0 && line.ns_per_work > 0 && chunk_.worse(expected, *best)) {
      return {std::sqrt(best->work * below->work), Reason::measured_worse};
    }
  }
  if (wish.work < best->work) {
    const auto there = chunk_.at(wish.work);
    if (there && chunk_.worse(*best, *there)) wish = {best->work, Reason::measured_worse};
  }
  return wish;
}

double AdaptiveController::cached() const {
  const double held_per_work = bytes_per_work_ + arrays_per_work_;
  return config_.cache_bytes > 0 && held_per_work > 0
             ? static_cast<double>(config_.cache_bytes) / held_per_work
             : unbounded;
}

AdaptiveController::Wish AdaptiveController::cap(Wish wish) const {
  // While costs are learned anew larger pieces are tried, too: nothing else tells what one costs whatever its size is.
  const bool learns_anew = learned_once_ && !settled_;
  if (const double most = cached(); !learns_anew) {
    const double fixed = model_.fixed_ns;
    if (wish.work > most && fixed <= cached_share * (fixed + model_.ns_per_work * most))
      wish = {most, Reason::cache};
  }
  const double cost = chunk_.cost_near(wish.work);
  const double longest = static_cast<double>(config_.max_chunk_ns) * (settled_ ? 1 : explore_time_share);
  if (cost > 0) {
    // Where the fixed cost alone is longer than that, small chunks would only make it worse: half of the time
    // at least goes into work.
    const double variable = std::max(longest - model_.fixed_ns, model_.fixed_ns);
    const double most = settled_ && model_.ns_per_work > 0 ? variable / model_.ns_per_work : longest / cost;
    if (wish.work > most) wish = {most, settled_ ? Reason::time_cap : Reason::explore};
  }
  if (config_.memory_limit != no_limit && bytes_per_work_ > 0) {
    const double most = static_cast<double>(slot_memory(config_)) / bytes_per_work_;
    if (wish.work > most) wish = {most, Reason::memory_cap};
  }
  if (wish.work > memory_ceiling_) wish = {memory_ceiling_, Reason::too_big};
  wish.work = std::max(wish.work, 1.0);
  return wish;
}

void AdaptiveController::adopt(Wish wish) {
  const auto best = chunk_.best();
  model_ = chunk_.fit(best ? best->work : std::numeric_limits<double>::infinity());
  const bool firm = wish.reason == Reason::memory_cap || wish.reason == Reason::too_big;
  if (!settled_ || firm) {
    // While learning, act at once; and a limit is obeyed at once, but for what the next chunk changes again: its bytes
    // are bounded in any case.
    const bool at_limit = settled_ && wish.reason == reason_ && wish.work > work_ * (1 - at_limit_by) &&
                          wish.work < work_ * (1 + at_limit_by);
    if (!at_limit && (firm || wish.work > work_ || wish.work < work_ / hysteresis)) work_ = wish.work;
    reason_ = wish.reason;
    return;
  }
  // Trials are made at once, or not at all; and so is the way back from a size that was measured to be bad.
  const auto here = chunk_.at(work_);
  const bool bad_here = wish.reason == Reason::measured_worse && best && here && chunk_.worse(*best, *here);
  const bool trial =
      wish.reason == Reason::explore || (wish.reason == Reason::measured_worse && !chunk_.at(wish.work));
  smoothed_wish_ = smoothed_wish_ <= 0 || trial || bad_here
                       ? wish.work
                       : std::exp(0.7 * std::log(smoothed_wish_) + 0.3 * std::log(wish.work));
  // Growing is asked for by the cost. Shrinking only saves latency and memory, so it takes a stronger reason,
  // unless larger chunks are slow or long. Noise makes the wish itself uncertain.
  const bool strong = wish.reason == Reason::measured_worse || wish.reason == Reason::time_cap;
  const double grow = hysteresis + 2 * chunk_.noise();
  const double shrink = strong ? grow : 2 * grow;
  if (bad_here || smoothed_wish_ > work_ * grow || smoothed_wish_ < work_ / shrink) {
    work_ = smoothed_wish_;
    reason_ = wish.reason;
  } else if (reason_ == Reason::start || reason_ == Reason::explore || reason_ == Reason::one_item) {
    // The size that was tried is the one to stay with; as long as it stays, so does the reason for it.
    const double apart = wish.work / work_;
    reason_ = apart > 1.05 || apart < 1 / 1.05 ? Reason::hold : wish.reason;
  }
}

// Little's law: as many chunks are in flight as phases take time, in units of the slowest; half a chunk more
// against waits when times vary.
void AdaptiveController::update_ring() {
  if (config_.workers > 1) {
    ring_ = config_.max_ring;
    return;
  }
  if (!overlaps_) {
    ring_ = 1;
    return;
  }
  const double line = line_.cost_near(work_);
  const double read = read_.empty() ? 0 : read_.cost_near(work_);
  const double write = write_.empty() ? 0 : write_.cost_near(work_);
  const double slowest = std::max({line, read, write});
  if (slowest <= 0) return;
  const double needed = (line + read + write) / slowest + 0.5;
  int ring = static_cast<int>(std::ceil(needed));
  if (ring < ring_ && needed > ring_ - 1.2) ring = ring_;
  ring_ = std::clamp(ring, std::min(2, config_.max_ring), config_.max_ring);
}

void AdaptiveController::too_big(const ChunkSize& tried) {
  if (tried.weight() <= 1)
    return;  // nothing is smaller: it waits for its turn, and says nothing about others
  memory_ceiling_ = std::min(memory_ceiling_, std::max(static_cast<double>(tried.weight()) / 2, 1.0));
  if (work_ > memory_ceiling_) {
    work_ = memory_ceiling_;
    reason_ = Reason::too_big;
  }
}

}  // namespace anabranch::scheduler
