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

Stream::Stream(std::shared_ptr<Device> device)
    : device_(std::move(device)), handles_(device_->take_stream()) {}
Stream::Stream(Stream&& other) noexcept
    : device_(std::move(other.device_)),
      handles_(std::exchange(other.handles_, {})),
      at_work_(std::exchange(other.at_work_, false)) {}
Stream::~Stream() {
  if (!handles_.stream) return;
  drain();
  device_->give_stream(handles_, !at_work_);
}

void Stream::begin_work() {
  device_->make_current();
  at_work_ = true;
}

void Stream::upload(Address to, const void* from, std::int64_t bytes) {
  if (bytes == 0) return;
  begin_work();
  check(device_->api(),
        device_->api().memcpy_htod_async(to, from, static_cast<std::size_t>(bytes), handles_.stream),
        "upload");
}
void Stream::download(void* to, Address from, std::int64_t bytes) {
  if (bytes == 0) return;
  begin_work();
  check(device_->api(),
        device_->api().memcpy_dtoh_async(to, from, static_cast<std::size_t>(bytes), handles_.stream),
        "download");
}
void Stream::fill_zero(Address to, std::int64_t bytes) {
  if (bytes == 0) return;
  begin_work();
  check(device_->api(),
        device_->api().memset_d8_async(to, 0, static_cast<std::size_t>(bytes), handles_.stream),
        "filling with zeros");
}
void Stream::launch(Function function, unsigned grid, unsigned block, std::span<const std::uint64_t> words) {
  begin_work();
  // As one buffer with its size, so that the driver can compare it with what the entry takes.
  std::size_t bytes = words.size_bytes();
  void* extra[] = {marker(launch_buffer), const_cast<std::uint64_t*>(words.data()),
                   marker(launch_buffer_size), &bytes, marker(launch_end)};
  check(device_->api(),
        device_->api().launch_kernel(function, grid, 1, 1, block, 1, 1, 0, handles_.stream, nullptr, extra),
        "launch");
}
void Stream::run(const device::Operation& what, Address workspace, std::int64_t bytes) {
  const device::Table& table = *device_->primitives().table;
  begin_work();
  device::Temporary temporary{marker(workspace), static_cast<std::size_t>(bytes)};
  check(table, device::call(table, what, temporary, handles_.stream), device::name_of(what));
}
void Stream::record(Event event) {
  begin_work();
  check(device_->api(), device_->api().event_record(event, handles_.stream), "recording an event");
}
void Stream::wait(Event event) {
  begin_work();
  check(device_->api(), device_->api().stream_wait_event(handles_.stream, event, 0), "waiting for an event");
}

Result Stream::ask() noexcept {
  const Result result = device_->api().stream_query(handles_.stream);
  if (result == success) at_work_ = false;
  return result;
}
// cuStreamSynchronize spins, unless the primary context says otherwise, whose flags are the user's. What is done soon is polled
// for: to sleep and to be woken takes some 30 us.
Result Stream::ask_for_a_while() noexcept {
  constexpr auto soon = std::chrono::microseconds(30);
  const auto begin = std::chrono::steady_clock::now();
  Result result = ask();
  while (result == not_ready && std::chrono::steady_clock::now() - begin < soon) result = ask();
  return result;
}
void Stream::synchronize() {
  device_->make_current();
  Result result = ask_for_a_while();
  if (result == not_ready) {
    record(handles_.all_done);
    result = device_->api().event_synchronize(handles_.all_done);
  }
  check(device_->api(), result, "running on the GPU");
  at_work_ = false;
}
void Stream::drain() noexcept {
  if (!at_work_) return;
  const DriverApi& api = device_->api();
  static_cast<void>(api.ctx_set_current(device_->context()));
  if (ask_for_a_while() == success) return;
  const bool slept = api.event_record(handles_.all_done, handles_.stream) == success &&
                     api.event_synchronize(handles_.all_done) == success;
  if (!slept) {
    // That may have been another error, such as a context that could not be made current.
    static_cast<void>(api.ctx_set_current(device_->context()));
    if (api.stream_synchronize(handles_.stream) != success) return;
  }
  at_work_ = false;
}
bool Stream::idle() {
  device_->make_current();
  const Result result = ask();
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
