#include <chrono>
#include <utility>

#include "cuda/device.h"

/// Events, streams, and the calling thread's context.
namespace anabranch::cuda {
namespace {

void* marker(std::uintptr_t number) { return reinterpret_cast<void*>(number); }  // NOLINT: cuda.h's way

}  // namespace

DeviceEvent::DeviceEvent(std::shared_ptr<Device> device, bool timing) : device_(std::move(device)) {
  device_->make_current();
  const unsigned flags = event_blocking_sync | (timing ? 0 : event_disable_timing);
  check(device_->api(), device_->api().event_create(&handle_, flags), "making an event");
}
DeviceEvent::DeviceEvent(DeviceEvent&& other) noexcept
    : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}
DeviceEvent::~DeviceEvent() {
  if (!handle_) return;
  static_cast<void>(device_->api().ctx_set_current(device_->context()));
  static_cast<void>(device_->api().event_destroy(handle_));
}
void DeviceEvent::synchronize() {
  device_->make_current();
  check(device_->api(), device_->api().event_synchronize(handle_), "waiting for an event");
}
double DeviceEvent::milliseconds_since(const DeviceEvent& begin) const {
  float out = 0;
  device_->make_current();
  check(device_->api(), device_->api().event_elapsed_time(&out, begin.handle_, handle_), "timing");
  return static_cast<double>(out);
}

Stream::Stream(std::shared_ptr<Device> device) : device_(std::move(device)), all_done_(device_) {
  device_->make_current();
  check(device_->api(), device_->api().stream_create(&handle_, stream_non_blocking), "making a stream");
}
Stream::Stream(Stream&& other) noexcept
    : device_(std::move(other.device_)),
      handle_(std::exchange(other.handle_, nullptr)),
      all_done_(std::move(other.all_done_)) {}
Stream::~Stream() {
  if (!handle_) return;
  drain();
  static_cast<void>(device_->api().stream_destroy(handle_));
}

void Stream::upload(Address to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  device_->make_current();
  check(device_->api(), device_->api().memcpy_htod_async(to, from, static_cast<std::size_t>(bytes), handle_),
        "upload");
}
void Stream::download(void* to, Address from, std::int64_t bytes) {
  if (bytes == 0) return;
  device_->make_current();
  check(device_->api(), device_->api().memcpy_dtoh_async(to, from, static_cast<std::size_t>(bytes), handle_),
        "download");
}
void Stream::fill_zero(Address to, std::int64_t bytes) {
  if (bytes == 0) return;
  device_->make_current();
  check(device_->api(), device_->api().memset_d8_async(to, 0, static_cast<std::size_t>(bytes), handle_),
        "filling with zeros");
}
void Stream::launch(Function function, unsigned grid, unsigned block, std::span<const std::uint64_t> words) {
  device_->make_current();
  // As one buffer with its size, so that the driver can compare it with what the entry takes.
  std::size_t bytes = words.size_bytes();
  void* extra[] = {marker(launch_buffer), const_cast<std::uint64_t*>(words.data()),
                   marker(launch_buffer_size), &bytes, marker(launch_end)};
  check(device_->api(),
        device_->api().launch_kernel(function, grid, 1, 1, block, 1, 1, 0, handle_, nullptr, extra),
        "launch");
}
void Stream::run(const device::Operation& what, Address workspace, std::int64_t bytes) {
  const device::Table& table = *device_->primitives().table;
  device_->make_current();
  device::Temporary temporary{marker(workspace), static_cast<std::size_t>(bytes)};
  check(table, device::call(table, what, temporary, handle_), device::name_of(what));
}
void Stream::record(Event event) {
  device_->make_current();
  check(device_->api(), device_->api().event_record(event, handle_), "recording an event");
}
void Stream::wait(Event event) {
  device_->make_current();
  check(device_->api(), device_->api().stream_wait_event(handle_, event, 0), "waiting for an event");
}
// cuStreamSynchronize spins, unless the primary context says otherwise, whose flags are the user's. What is done soon is polled
// for: to sleep and to be woken takes some 30 us.
void Stream::synchronize() {
  constexpr auto soon = std::chrono::microseconds(30);
  const auto begin = std::chrono::steady_clock::now();
  do
    if (idle()) return;
  while (std::chrono::steady_clock::now() - begin < soon);
  record(all_done_);
  check(device_->api(), device_->api().event_synchronize(all_done_), "running on the GPU");
}
void Stream::drain() noexcept {
  const DriverApi& api = device_->api();
  static_cast<void>(api.ctx_set_current(device_->context()));
  if (api.event_record(all_done_, handle_) == success && api.event_synchronize(all_done_) == success) return;
  // That may have been another error, such as a context that could not be made current.
  static_cast<void>(api.ctx_set_current(device_->context()));
  static_cast<void>(api.stream_synchronize(handle_));
}
bool Stream::idle() {
  device_->make_current();
  const int result = device_->api().stream_query(handle_);
  if (result == not_ready) return false;
  check(device_->api(), result, "running on the GPU");
  return true;
}

KeepContext::KeepContext(std::shared_ptr<const DriverApi> api) noexcept
    : api_(std::move(api)), known_(api_ && api_->ctx_get_current(&before_) == success) {}
KeepContext::~KeepContext() {
  if (known_) static_cast<void>(api_->ctx_set_current(before_));
}

}  // namespace anabranch::cuda
