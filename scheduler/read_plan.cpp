#include "scheduler/read_plan.h"

#include <algorithm>
#include <utility>

namespace anabranch::scheduler {

ReadPlan::ReadPlan(std::unique_ptr<Controller> controller, const ControllerConfig& config)
    : controller_(std::move(controller)),
      memory_limit_(config.memory_limit),
      slots_(config.max_ring),
      ring_(config.max_ring) {}

bool ReadPlan::has_room(int in_flight) const noexcept {
  switch (lone_) {
    case Lone::no:
      return in_flight < ring_;
    case Lone::wanted:
      return in_flight == 0;
    case Lone::in_flight:
      return false;
  }
  return false;
}

Decision ReadPlan::next(Decision decision) {
  ring_ = std::clamp(decision.ring, 1, slots_);
  Target& target = decision.target;
  if (alone()) {
    target = {.items = 1, .work = no_limit, .bytes = memory_limit_};
  } else if (retry_ != Target{}) {
    // By items and by work: whichever the source counts, this chunk is smaller than the last.
    target.items = std::min(target.items, retry_.items);
    target.work = std::min(target.work, retry_.work);
    decision.reason = Reason::too_big;
  }
  return decision;
}

void ReadPlan::succeeded(const ChunkSize& size) noexcept {
  so_far_.items += size.items;
  so_far_.work += size.work;
  so_far_.bytes += size.bytes;
  retry_ = Target{};
  if (alone()) lone_ = Lone::in_flight;
}

bool ReadPlan::try_smaller(const Target& target, const ChunkSize& tried) {
  if (alone() || tried.items > target.items) return false;
  controller_->too_big(tried);
  if (tried.items <= 1) {
    lone_ = Lone::wanted;
  } else {
    retry_ = {.items = tried.items / 2, .work = std::max<int64_t>(tried.work / 2, 1)};
  }
  return true;
}

void ReadPlan::left() noexcept {
  if (lone_ == Lone::in_flight) lone_ = Lone::no;
}

}  // namespace anabranch::scheduler
