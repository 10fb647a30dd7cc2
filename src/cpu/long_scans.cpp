#include "cpu/long_scans.h"

#include <algorithm>
#include <utility>

namespace anabranch::cpu {
namespace {

/// Waits some microseconds, less than a share takes, until blocks up to this one have carries or `turn` is `failed`.
void wait_a_little(const std::atomic<std::int64_t>& turn, std::int64_t block, std::int64_t failed) {
  constexpr int looks = 300;
  for (int i = 0; i < looks; ++i) {
    const std::int64_t now = turn.load();
    if (now > block || now == failed) return;
    __builtin_ia32_pause();
  }
}

}  // namespace

LongScans::LongScans(const Cut& plan, Call call)
    : plan_(plan), call_(std::move(call)), rows_(plan.long_rows.size()) {
  for (const LongRow& row : plan.long_rows) untaken_ += (row.blocks - 1) / plan.blocks_of_a_task + 1;
  unfinished_ = untaken_;
}

bool LongScans::call(Lock& lock, int entry, const Share& share, bool in_order) {
  lock.unlock();
  const bool succeeded = call_(entry, share.row, share.begin, share.end, in_order);
  lock.lock();
  return succeeded;
}

LongScans::Share LongScans::take() {
  Share out;
  if (!alone_.empty()) {
    out.row = alone_.back();
    alone_.pop_back();
  } else if (begun_ < rows_.size()) {
    out.row = begun_++;
  } else {
    while (blocks_left(first_) == 0) ++first_;
    out.row = first_;
  }
  Row& row = rows_[out.row];
  out.begin = row.taken;
  out.end = out.begin + std::min(blocks_left(out.row), plan_.blocks_of_a_task);
  row.taken = out.end;
  ++row.threads;
  --untaken_;
  return out;
}

void LongScans::leave(const Share& share) {
  if (--rows_[share.row].threads == 0 && blocks_left(share.row) > 0) alone_.push_back(share.row);
}

void LongScans::work() {
  Lock lock(mutex_);
  try {
    work(lock);
  } catch (...) {  // there is no memory, and nobody may wait for what this thread was at
    is_broken_ = true;
    changed_.notify_all();
    throw;
  }
}

void LongScans::work(Lock& lock) {
  const Share share = take();
  const Row& row = rows_[share.row];
  if (row.turn == failed)
    --unfinished_;
  else if (row.threads == 1 && row.turn == share.begin)
    in_one_pass(lock, share);
  else
    in_two_passes(lock, share);
  leave(share);
  scan_what_was_left(lock);
  // There is nothing else to do for this thread then.
  while (untaken_ == 0 && unfinished_ > 0 && !is_broken_) {
    changed_.wait(lock);
    scan_what_was_left(lock);
  }
  if (unfinished_ == 0) changed_.notify_all();
}

void LongScans::in_one_pass(Lock& lock, const Share& share) {
  Row& row = rows_[share.row];
  if (!call(lock, 1, share, true)) {
    fail(row);
  } else if (row.turn != failed) {
    row.turn = share.end;
    hand_on(lock, row);
  }
  --unfinished_;
}

void LongScans::in_two_passes(Lock& lock, const Share& share) {
  Row& row = rows_[share.row];
  if (call(lock, 2, share)) {
    row.waiting[share.begin] = {share};
    hand_on(lock, row);
    if (row.turn <= share.begin && row.turn != failed) {
      lock.unlock();
      wait_a_little(row.turn, share.begin, failed);
      lock.lock();
    }
    if (row.turn <= share.begin && row.turn != failed) {
      row.waiting.at(share.begin).is_left = true;
      return;
    }
    if (row.turn != failed && !call(lock, 1, share)) fail(row);
  } else {
    fail(row);
  }
  --unfinished_;
}

/// Gives carries to the shares whose turn it is.
void LongScans::hand_on(Lock& lock, Row& row) {
  if (row.hands_on) return;
  row.hands_on = true;
  while (!row.waiting.empty() && row.waiting.begin()->first == row.turn) {
    const Share share = row.waiting.begin()->second.share;
    if (!call(lock, 3, share)) {
      fail(row);
      break;
    }
    if (row.turn == failed) break;
    if (row.waiting.begin()->second.is_left) {
      left_.push_back(share);
      changed_.notify_one();
    }
    row.waiting.erase(row.waiting.begin());
    row.turn = share.end;
  }
  row.hands_on = false;
}

void LongScans::fail(Row& row) {
  row.turn = failed;
  for (const auto& [begin, waiting] : row.waiting)
    if (waiting.is_left) --unfinished_;
  row.waiting.clear();
}

void LongScans::scan_what_was_left(Lock& lock) {
  while (!left_.empty()) {
    const Share share = left_.back();
    left_.pop_back();
    if (!call(lock, 1, share)) fail(rows_[share.row]);
    --unfinished_;
  }
}

}  // namespace anabranch::cpu
