#include "support/gpu_host/fake_state.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace anabranch::gpu_host {

void FakeState::take_time(FakeStream& s, LogEntry& entry) {
  using enum LogEntry::What;
  const bool copy = entry.what == upload || entry.what == download;
  const FakeTimes& times = options.times;
  std::int64_t& engine = engine_free_ns[copy ? entry.what : kernel];
  entry.ready_ns = s.time_ns;
  entry.begin_ns = std::max(entry.ready_ns, engine);
  entry.end_ns =
      entry.begin_ns + (copy ? times.copy_ns + static_cast<std::int64_t>(times.copy_ns_per_byte *
                                                                         static_cast<double>(entry.bytes))
                             : times.kernel_ns);
  s.time_ns = engine = entry.end_ns;
}

bool FakeState::fails(const std::string& what, Result& result) {
  const int n = ++calls[what];
  const auto at = failures.find(what);
  if (at == failures.end()) return false;
  const auto k = at->second.find(n);
  if (k == at->second.end()) return false;
  result = k->second;
  return true;
}

void FakeState::die(Result result, const std::string& why) {
  if (broken != cuda::success) return;
  broken = result;
  why_broken = why;
}

void FakeState::run_one(FakeStream& s) {
  while (blocked(s)) {
    FakeStream* other = nullptr;
    for (const auto& [handle, t] : streams)
      if (t.get() == s.queue.front().wait->stream) other = t.get();
    if (!other || other->queue.empty()) {  // its stream is gone: what it had was done
      s.queue.front().wait->done = s.queue.front().wait_for;
      break;
    }
    run_one(*other);
  }
  Work work = std::move(s.queue.front());
  s.queue.pop_front();
  if (work.wait) s.time_ns = std::max(s.time_ns, work.wait->time_ns);
  if (!work.run || broken != cuda::success) return;
  const Result r = work.run();
  if (r != cuda::success) die(r, "");
}

void FakeState::run_some() {
  if (options.seed == 0) return;
  for (auto n = random() % 4; n > 0; --n) {
    std::vector<FakeStream*> ready;
    for (const auto& [handle, s] : streams)
      if (!s->queue.empty() && !blocked(*s)) ready.push_back(s.get());
    if (ready.empty()) return;
    run_one(*ready[random() % ready.size()]);
  }
}

Result FakeState::finish(FakeStream& s) {
  while (!s.queue.empty()) {
    run_some();
    if (!s.queue.empty()) run_one(s);
  }
  host_waited(s);
  return broken;
}

Result FakeState::enqueue(cuda::StreamHandle handle, LogEntry entry, std::function<Result()> run) {
  const auto at = streams.find(handle);
  if (at == streams.end()) return violate("work on a stream that is not there"), invalid_handle;
  entry.stream = at->second->number;
  log.push_back(entry);
  entry.done = true;
  FakeStream& s = *at->second;
  push(s, {[this, &s, entry, run = std::move(run)]() mutable {
             const Result r = run();
             take_time(s, entry);
             log.push_back(entry);
             return r;
           },
           nullptr, 0});
  run_some();
  return cuda::success;
}

std::pair<const void*, std::size_t> FakeState::page_locked_range(const void* at) const {
  if (pinned.holds(at, 1)) return pinned.block_of(at);
  const auto* const address = static_cast<const char*>(at);
  const auto after = page_locked_by_user.upper_bound(address);
  if (after == page_locked_by_user.begin()) return {nullptr, 0};
  const auto& [begin, size] = *std::prev(after);
  return address < begin + size ? std::pair<const void*, std::size_t>(begin, size)
                                : std::pair<const void*, std::size_t>(nullptr, 0);
}

Result FakeState::check_host_range(const void* at, std::size_t bytes) const {
  const auto* const first = static_cast<const char*>(at);
  const char* const end = first + bytes;
  if (const auto [begin, size] = page_locked_range(at); size != 0)
    return end <= static_cast<const char*>(begin) + size ? cuda::success : invalid_value;
  const auto next = page_locked_by_user.upper_bound(first);
  return next == page_locked_by_user.end() || next->first >= end ? cuda::success : invalid_value;
}

Result FakeState::check_range(const char* what, cuda::DevicePointer at, std::size_t bytes) {
  if (memory.holds(pointer(at), bytes)) return cuda::success;
  violate(std::string(what) + " of " + std::to_string(bytes) + " bytes outside of device memory");
  return illegal_address;
}

std::shared_ptr<FakeState>& fake_state() {
  static auto* now = new std::shared_ptr<FakeState>;
  return *now;
}

}  // namespace anabranch::gpu_host
