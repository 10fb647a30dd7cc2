#include "support/gpu_host/fake_driver.h"

#include <chrono>
#include <stdexcept>

#include "support/gpu_host/fake_state.h"
#include "support/gpu_host/fake_table.h"

namespace anabranch::gpu_host {
namespace {

class HostCompiler final : public cuda::Compiler {
 public:
  explicit HostCompiler(bool sanitize) : sanitize_(sanitize) {}
  Result compile(const cuda::Unit& unit, const std::string& name, const std::string&) override {
    const auto start = std::chrono::steady_clock::now();
    HostOptions options;
    options.sanitize = sanitize_;
    options.entries = unit.entries;
    std::vector<HeaderText> headers;
    for (const auto& h : cuda::headers()) headers.emplace_back(h.name, h.text);
    try {
      const HostModule compiled(unit.source, headers, options);
    } catch (const HostError& e) {
      throw InternalError("cuda: " + name + ": " + e.what());
    }
    Result out;
    out.image = "entries:";
    for (const auto& e : unit.entries) out.image += " " + e;
    out.image += "\n" + unit.source;
    out.log = "compiled for the host";
    out.registers.assign(unit.entries.size(), 32);
    out.spill_bytes.assign(unit.entries.size(), 0);
    out.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return out;
  }
  std::string version() const override { return "of the host"; }
  std::string settings(const std::string& architecture) const override {
    return version() + " " + architecture;
  }

 private:
  bool sanitize_;
};

FakeState& now() {
  if (!fake_state()) throw std::logic_error("there is no simulated GPU");
  return *fake_state();
}

}  // namespace

void FakeGpu::fail(const std::string& entry, int k, int result) {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  s.failures[entry][s.calls[entry] + k] = result;
}
void FakeGpu::heal() {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  s.failures.clear();
  s.broken = cuda::success;
  s.why_broken.clear();
}
int FakeGpu::calls(const std::string& entry) const {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  return s.calls[entry];
}
std::vector<int> FakeGpu::carveouts() const {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  std::vector<int> out;
  for (const auto& [entry, percent] : s.carveouts) out.push_back(percent);
  return out;
}
std::vector<std::string> FakeGpu::entries() {
  return {"init",
          "driver_get_version",
          "get_error_name",
          "get_error_string",
          "device_get_count",
          "device_get",
          "device_get_name",
          "device_get_attribute",
          "device_total_mem",
          "primary_ctx_retain",
          "primary_ctx_release",
          "ctx_get_current",
          "ctx_set_current",
          "mem_get_info",
          "mem_alloc",
          "mem_free",
          "mem_host_alloc",
          "mem_free_host",
          "pointer_get_attributes",
          "memcpy_htod_async",
          "memcpy_dtoh_async",
          "memset_d8_async",
          "stream_create",
          "stream_destroy",
          "stream_synchronize",
          "stream_query",
          "stream_wait_event",
          "event_create",
          "event_destroy",
          "event_record",
          "event_synchronize",
          "event_elapsed_time",
          "module_load_data",
          "module_unload",
          "module_get_function",
          "func_get_attribute",
          "func_set_attribute",
          "occupancy_max_active_blocks",
          "launch_kernel"};
}
void FakeGpu::page_lock(const void* memory, std::size_t bytes) {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  s.page_locked_by_user[static_cast<const char*>(memory)] = bytes;
}
std::vector<LogEntry> FakeGpu::log() const {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  return s.log;
}
void FakeGpu::clear_log() {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  s.log.clear();
}
std::vector<std::string> FakeGpu::violations() const {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  s.memory.check_quarantine();
  s.pinned.check_quarantine();
  return s.violations;
}
std::string FakeGpu::leaks() const {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  std::string out;
  const auto count = [&](std::size_t n, const char* what) {
    if (n > 0) out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + what + (n > 1 ? "s" : "");
  };
  count(s.memory.count(), "allocation");
  count(s.pinned.count(), "page-locked block");
  count(s.streams.size(), "stream");
  count(s.events.size(), "event");
  count(s.modules.size(), "module");
  count(static_cast<std::size_t>(s.contexts), "context");
  return out;
}
std::int64_t FakeGpu::memory_in_use() const {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  return static_cast<std::int64_t>(s.memory.in_use());
}
std::int64_t FakeGpu::page_locked_in_use() const {
  FakeState& s = now();
  const std::lock_guard lock(s.mutex);
  return static_cast<std::int64_t>(s.pinned.in_use());
}

cuda::Platform fake_platform(const FakeOptions& options) {
  if (fake_state()) cuda::set_platform({});
  fake_state() = std::make_shared<FakeState>(options);
  static const auto table = std::make_shared<const cuda::DriverApi>(fake_table());
  cuda::Platform out;
  out.driver = table;
  out.compiler = std::make_shared<HostCompiler>(options.sanitize);
  out.exact_memory = options.exact_memory;
  out.few_items = options.few_items;
  out.open_primitives = [there = options.primitives] {
    static const device::Table primitives = fake_primitives();
    if (!there) throw BackendUnavailable("cuda: the simulated GPU has no device primitives");
    return device::Primitives(primitives);
  };
  return out;
}

cuda::Context foreign_context() {
  static char context;
  return &context;
}

FakeGpu& fake_gpu() {
  static FakeGpu gpu;
  return gpu;
}

}  // namespace anabranch::gpu_host
