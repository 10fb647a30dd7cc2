#include "scheduler/dealer.h"

#include <algorithm>

namespace anabranch::scheduler {

namespace {
/// Of a chunk, while one of the two has not been timed yet.
constexpr double share_to_learn_from = 1.0 / 16;
}  // namespace

void Dealer::queued(int slot, double work, std::int64_t now_ns) { queue_.push_back({slot, work, now_ns}); }

void Dealer::done(int slot, std::int64_t now_ns) {
  const auto at =
      std::find_if(queue_.begin(), queue_.end(), [&](const Queued& queued) { return queued.slot == slot; });
  if (at == queue_.end()) return;
  const std::int64_t begin_ns = std::max(free_ns_, at->since_ns);
  if (at->work > 0 && now_ns > begin_ns) device_.add(at->work, static_cast<double>(now_ns - begin_ns));
  free_ns_ = now_ns;
  queue_.erase(at);
}

void Dealer::host_took(double work, double ns) {
  if (work > 0 && ns > 0) host_.add(work, ns);
}

double Dealer::rest_ns(std::int64_t now_ns) const {
  double rest = 0;
  for (const Queued& queued : queue_) rest += expected_ns(queued.work);
  if (queue_.empty()) return rest;
  // What takes longer than expected may end at any time: what is behind it counts.
  const Queued& first = queue_.front();
  const auto under_way = static_cast<double>(now_ns - std::max(free_ns_, first.since_ns));
  return rest - std::clamp(under_way, 0.0, expected_ns(first.work));
}

double Dealer::host_piece(double whole, double left, std::int64_t now_ns) const {
  if (queue_.empty()) return left;  // the device is not there yet
  const double cost = host_.cost_near(whole);
  if (cost <= 0 || device_.empty()) return std::min(left, whole * share_to_learn_from);
  // The next chunk should be there before the last one is done, so that its copy overlaps with that.
  const double time = rest_ns(now_ns) - expected_ns(queue_.back().work) / 2;
  const double first_guess = std::max(0.0, time / cost);
  return std::min(left, std::max(0.0, time / host_.cost_near(first_guess)));
}

}  // namespace anabranch::scheduler
