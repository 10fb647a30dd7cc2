#include "timeline/overlap.h"

#include <algorithm>

namespace anabranch::timeline {

namespace {

using Intervals = std::vector<Interval>;

/// The same points in time, each in one interval, in order.
Intervals united(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Intervals out;
  for (const Interval& i : intervals) {
    if (!out.empty() && i.begin <= out.back().end)
      out.back().end = std::max(out.back().end, i.end);
    else
      out.push_back(i);
  }
  return out;
}

/// Cuts united intervals: returns what lies before `time`, leaves the rest.
Intervals take_before(Intervals& intervals, std::int64_t time) {
  Intervals before, rest;
  for (const Interval& i : intervals) {
    if (i.begin < time) before.push_back({i.begin, std::min(i.end, time)});
    if (i.end > time) rest.push_back({std::max(i.begin, time), i.end});
  }
  intervals = std::move(rest);
  return before;
}

std::int64_t length(const Intervals& united) {
  std::int64_t sum = 0;
  for (const Interval& i : united) sum += i.end - i.begin;
  return sum;
}

std::int64_t length_of_both(const Intervals& a, const Intervals& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    sum += std::max<std::int64_t>(0, std::min(a[i].end, b[k].end) - std::max(a[i].begin, b[k].begin));
    if (a[i].end < b[k].end)
      ++i;
    else
      ++k;
  }
  return sum;
}

}  // namespace

double OverlapTimes::share() const {
  const std::int64_t shorter = std::min(copy_ns, kernel_ns);
  return shorter > 0 ? static_cast<double>(both_ns) / static_cast<double>(shorter) : 0;
}

void Overlap::add(std::size_t kind, Interval interval) {
  interval.begin = std::max(interval.begin, horizon_);
  if (interval.begin >= interval.end) return;
  kept_[kind].push_back(interval);
  if (kept_[copies].size() + kept_[kernels].size() < kept_at_most) return;
  Intervals all = kept_[copies];
  all.insert(all.end(), kept_[kernels].begin(), kept_[kernels].end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [](const Interval& a, const Interval& b) { return a.end < b.end; });
  settle(middle->end);
}

void Overlap::settle(std::int64_t horizon) {
  std::array<Intervals, 2> past;
  for (const std::size_t kind : {copies, kernels}) {
    kept_[kind] = united(std::move(kept_[kind]));
    past[kind] = take_before(kept_[kind], horizon);
  }
  settled_.copy_ns += length(past[copies]);
  settled_.kernel_ns += length(past[kernels]);
  settled_.both_ns += length_of_both(past[copies], past[kernels]);
  horizon_ = horizon;
}

OverlapTimes Overlap::times() const {
  Overlap all = *this;
  all.settle(INT64_MAX);
  return all.settled_;
}

}  // namespace anabranch::timeline
