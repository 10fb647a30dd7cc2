#include "scheduler/run_meter.h"

#include <algorithm>

namespace anabranch::scheduler {

RunMeter::RunMeter(const Clock& clock, int concurrency)
    : clock_(clock), concurrency_(concurrency), compute_(clock) {
  threads_.reserve(static_cast<std::size_t>(concurrency) + 1);
  threads_.push_back(std::this_thread::get_id());
}

Span RunMeter::begin(Phase phase) {
  const Span span = stamp();
  since_[static_cast<std::size_t>(phase)] = span.begin_ns;
  return span;
}

void RunMeter::end(Phase phase, Span& span) {
  span.end_ns = now_ns();
  since_[static_cast<std::size_t>(phase)] = not_open;
  if (phase != Phase::compute) io_ns_ += span.length();
}

RunMeter::Mark RunMeter::mark() const noexcept {
  const int64_t now = now_ns();
  int64_t busy = compute_.busy_ns() + io_ns_;
  for (const Phase phase : {Phase::read, Phase::write}) {
    if (is_open(phase)) busy += now - since_[static_cast<std::size_t>(phase)];
  }
  return {now, busy};
}

double RunMeter::utilisation(const Mark& from, const Mark& to) const noexcept {
  const double all = static_cast<double>(to.at_ns - from.at_ns) * concurrency_;
  return all > 0 ? std::clamp(static_cast<double>(to.busy_ns - from.busy_ns) / all, 0.0, 1.0) : 1;
}

int RunMeter::thread_number() {
  const auto id = std::this_thread::get_id();
  const auto found = std::find(threads_.begin(), threads_.end(), id);
  const auto number = static_cast<int>(found - threads_.begin());
  // Pools may replace their threads; the last number then stands for all that are new.
  if (found == threads_.end() && threads_.size() < threads_.capacity()) threads_.push_back(id);
  return number;
}

}  // namespace anabranch::scheduler
