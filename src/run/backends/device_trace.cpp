#include "run/backends/device_trace.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace anabranch::runtime {

namespace {

/// Within this time of its reference an event's time is exact to 60 ns.
constexpr std::int64_t reference_ns_at_most = 1'000'000'000;

constexpr std::array row_names{"uploads", "kernels", "downloads"};

timeline::Row row_of(int stream, DeviceWork::Kind kind) {
  return {RunTrace::gpu_group, stream * static_cast<int>(row_names.size()) + static_cast<int>(kind)};
}

}  // namespace

// ---- DeviceTrace

DeviceTrace::DeviceTrace(RunTrace& run, const std::shared_ptr<cuda::Device>& device)
    : run_(run), reference_(std::make_unique<cuda::DeviceEvent>(device, true)) {
  cuda::Stream stream(device);
  stream.record(*reference_);
  reference_->synchronize();
  reference_ns_ = RunTrace::now_ns();
  run_.writer().name_group(RunTrace::gpu_group, "GPU: " + device->facts().name);
}

std::int64_t DeviceTrace::after_reference_ns(const cuda::DeviceEvent& event) const {
  return std::llround(event.milliseconds_since(*reference_) * 1e6);
}

std::int64_t DeviceTrace::reached_ns(const cuda::DeviceEvent& event) const {
  const std::lock_guard lock(mutex_);
  return reference_ns_ + after_reference_ns(event);
}

void DeviceTrace::renew_reference(Event& event) {
  const std::lock_guard lock(mutex_);
  const std::int64_t after = after_reference_ns(*event);
  if (after < reference_ns_at_most) return;
  reference_ns_ += after;
  std::swap(reference_, event);
}

void DeviceTrace::add(int stream, const ChunkPlace& place, const DeviceWork& work, timeline::Interval when) {
  const bool is_kernel = work.kind == DeviceWork::Kind::kernel;
  {
    const std::lock_guard lock(mutex_);
    if (is_kernel)
      overlap_.add_kernel(when);
    else
      overlap_.add_copy(when);
  }
  if (!RunTrace::is_drawn(place.chunk)) return;
  timeline::Arguments arguments;
  if (place.chunk >= 0) arguments.add("stage", std::int64_t{place.stage}).add("chunk", place.chunk);
  if (is_kernel)
    arguments.add("schedule", work.why);
  else
    arguments.add("bytes", work.bytes);
  const timeline::Row row = row_of(stream, work.kind);
  run_.writer().name_row(
      row, fmt::format("stream {}: {}", stream, row_names[static_cast<std::size_t>(work.kind)]));
  run_.writer().span(row, work.name, when.begin, when.end, arguments);
}

timeline::OverlapTimes DeviceTrace::overlap() const {
  const std::lock_guard lock(mutex_);
  return overlap_.times();
}

// ---- DeviceStream

void DeviceStream::upload(cuda::Address to, const void* from, std::int64_t bytes) {
  if (!trace_ || bytes == 0) return stream_.upload(to, from, bytes);
  timed({DeviceWork::Kind::upload, "upload", bytes}, [&] { stream_.upload(to, from, bytes); });
}

void DeviceStream::download(void* to, cuda::Address from, std::int64_t bytes) {
  if (!trace_ || bytes == 0) return stream_.download(to, from, bytes);
  timed({DeviceWork::Kind::download, "download", bytes}, [&] { stream_.download(to, from, bytes); });
}

void DeviceStream::synchronize() {
  stream_.synchronize();
  draw();
}

void DeviceStream::drain() noexcept {
  stream_.drain();
  in_flight_.clear();
}

DeviceTrace::Event DeviceStream::record() {
  DeviceTrace::Event event;
  if (spare_.empty()) {
    event = std::make_unique<cuda::DeviceEvent>(stream_.device().shared_from_this(), true);
  } else {
    event = std::move(spare_.back());
    spare_.pop_back();
  }
  stream_.record(*event);
  return event;
}

void DeviceStream::draw() {
  if (in_flight_.empty()) return;
  for (const Timed& t : in_flight_) {
    // In the order of the stream, also where the reference and with it the rounding has changed.
    const std::int64_t begin = std::max(trace_->reached_ns(*t.begin), drawn_to_ns_);
    drawn_to_ns_ = std::max(trace_->reached_ns(*t.end), begin);
    trace_->add(number_, t.place, t.work, {begin, drawn_to_ns_});
  }
  // The first one: work in flight on other streams began after it.
  trace_->renew_reference(in_flight_.front().begin);
  for (Timed& t : in_flight_) {
    spare_.push_back(std::move(t.begin));
    spare_.push_back(std::move(t.end));
  }
  in_flight_.clear();
}

}  // namespace anabranch::runtime
