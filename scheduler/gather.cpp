#include "scheduler/gather.h"

#include <algorithm>

namespace anabranch::scheduler {

namespace {

constexpr int64_t weight = 8;  // the newest gap counts an eighth
/// Fixed costs of so many chunks may pass: then they are about an eighth of all time.
constexpr int64_t worth = 8;
constexpr int64_t longest_chunk_ns = 100'000'000;

}  // namespace

void Gather::comes(int64_t now_ns) noexcept {
  if (items_++ == 0) first_ns_ = now_ns;
  if (returned_ns_ == 0) return;
  const int64_t gap = now_ns - returned_ns_;
  gap_ns_ = gap_ns_ == no_limit ? gap : gap_ns_ + (gap - gap_ns_) / weight;
}

int64_t Gather::longest_wait() const noexcept {
  return fixed_ns_ == no_limit ? 0 : std::min(longest_ns_, worth * fixed_ns_);
}

bool Gather::is_due(int64_t now_ns) const noexcept {
  if (items_ == 0) return false;
  if (chunk_ > 0) return items_ >= chunk_;
  // Nothing is known of the pace.
  if (gap_ns_ == no_limit) return true;
  return now_ns - first_ns_ + gap_ns_ > longest_wait() || items_ * per_item_ns_ >= longest_chunk_ns;
}

void Gather::was_computed(int64_t items, int64_t ns) noexcept {
  items_ = 0;
  per_item_ns_ = ns / std::max<int64_t>(items, 1);
  fixed_ns_ = std::min(fixed_ns_, ns);
}

}  // namespace anabranch::scheduler
