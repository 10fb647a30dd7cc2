#include "scheduler/busy.h"

namespace anabranch::scheduler {
namespace {

thread_local BusyMeter* open_meter = nullptr;
thread_local int64_t open_since = 0;
thread_local int64_t aside_ns = 0;

// Ends the stretch of time that counts for the open meter and begins one that counts for `meter`.
void switch_to(BusyMeter* meter) noexcept {
  int64_t now = 0;
  if (open_meter != nullptr) {
    now = open_meter->now_ns();
    open_meter->add(now - open_since);
  }
  if (meter != nullptr && meter != open_meter) now = meter->now_ns();
  open_meter = meter;
  open_since = now;
}

}  // namespace

BusyMeter* current_meter() noexcept { return open_meter; }

BusySpan::BusySpan(BusyMeter* meter) noexcept : outer_(open_meter) { switch_to(meter); }

BusySpan::~BusySpan() { switch_to(outer_); }

void put_aside(int64_t ns) noexcept {
  aside_ns += ns;
  if (open_meter != nullptr) open_meter->add(-ns);
}

int64_t time_aside_ns() noexcept { return aside_ns; }

}  // namespace anabranch::scheduler
