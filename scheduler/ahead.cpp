#include "scheduler/ahead.h"

#include <algorithm>

namespace anabranch::scheduler {

namespace {

constexpr int64_t weight = 8;  // of the pace: the newest item counts an eighth

int64_t plus_one(int64_t n) noexcept { return n == no_limit ? n : n + 1; }

}  // namespace

Ahead::Ahead(const AheadLimits& limits) noexcept : limits_(limits) {}

void Ahead::asks(int64_t now_ns) noexcept {
  const int64_t since = load(since_);
  if (since == 0) return;
  const int64_t pace = load(pace_ns_), interval = now_ns - since;
  pace_ns_.store(load(taken_) == 1 ? interval : pace + (interval - pace) / weight, std::memory_order_relaxed);
  since_.store(0, std::memory_order_relaxed);
}

void Ahead::takes(int64_t now_ns) noexcept {
  taken_.store(load(taken_) + 1);  // before it looks where to resume
  since_.store(now_ns, std::memory_order_relaxed);
}

void Ahead::was_read(int64_t items, int64_t bytes) noexcept {
  unread_ += items;
  bytes_ += bytes;
}

void Ahead::was_computed(const ChunkSize& read, int64_t results, int64_t bytes) noexcept {
  unread_ -= read.items;
  results_ += results;
  bytes_ += bytes - read.bytes;
}

/// At least one item, as nothing may be ahead of who takes an hour for each.
int64_t Ahead::most_by_time(int64_t now_ns) const noexcept {
  if (limits_.ns == no_limit) return no_limit;
  const int64_t since = load(since_);
  const int64_t each = std::max(load(pace_ns_), since == 0 ? 0 : now_ns - since);
  return each <= 0 ? no_limit : std::max<int64_t>(limits_.ns / each, 1);
}

Target Ahead::room(int64_t now_ns, bool wanted) noexcept {
  const bool whole_chunks = limits_.chunk > 0 && !limits_.one_by_one;
  const int64_t by_time = most_by_time(now_ns);
  const int64_t most = whole_chunks ? limits_.items : std::min(limits_.items, by_time);
  const int64_t ahead = unread_ + results_ - load(taken_);
  // With how many ahead, at most, a chunk is begun.
  const int64_t begin_at = whole_chunks ? std::min(limits_.items - limits_.chunk, by_time / 2) : most / 2;
  const bool goes_on = limits_.one_by_one && filling_ && ahead < most;
  const bool too_much = limits_.none() || (ahead > begin_at && !goes_on) || bytes_ > limits_.bytes / 2;
  filling_ = !too_much;
  resume_at_.store(no_limit, std::memory_order_relaxed);
  if (too_much && !wanted) {
    // Bytes become free when a chunk is handed out, which the caller sees.
    if (!limits_.none() && ahead > begin_at && begin_at >= 0) {
      const int64_t resume_at = unread_ + results_ - begin_at;
      resume_at_.store(resume_at);
      if (taken_.load() >= resume_at) return room(now_ns, wanted);  // by who has not seen where to resume
    }
    return {.items = 0};
  }
  const int64_t items = limits_.chunk > 0 && (whole_chunks || limits_.none()) ? limits_.chunk
                        : limits_.none()                                      ? 1
                        : wanted                                              ? plus_one(most)
                                                                              : most - ahead;
  return {.items = items, .bytes = std::max<int64_t>(limits_.bytes - bytes_, 1)};
}

}  // namespace anabranch::scheduler
