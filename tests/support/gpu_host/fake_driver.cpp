#include "support/gpu_host/fake_driver.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#include "support/gpu_host/executor.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace anabranch::gpu_host {
namespace {

using cuda::Result;

constexpr Result invalid_value = 1, not_initialized = 3, invalid_device = 101, invalid_image = 200,
                 invalid_context = 201, invalid_handle = 400, not_found = 500, illegal_address = 700,
                 launch_failed = 719;

struct ErrorText {
  Result result;
  const char *name, *text;
};
constexpr ErrorText error_texts[] = {
    {cuda::success, "CUDA_SUCCESS", "no error"},
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {cuda::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {cuda::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

/// Memory between guards. Freed memory stays for a while, overwritten; who writes there is found.
class Memory {
 public:
  explicit Memory(std::vector<std::string>& violations) : violations_(violations) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    while (!quarantine_.empty()) release_oldest();
    for (auto& [address, bytes] : blocks_) {
      unpoison(address - guard, whole(bytes));
      std::free(address - guard);
    }
  }

  void* allocate(std::size_t bytes) {
    auto* base = static_cast<char*>(std::aligned_alloc(guard, whole(bytes)));
    if (!base) throw std::bad_alloc();
    std::memset(base, guard_byte, whole(bytes));
    std::memset(base + guard, fresh_byte, bytes);
    poison(base, guard);
    poison(base + guard + bytes, whole(bytes) - guard - bytes);
    blocks_[base + guard] = bytes;
    in_use_ += bytes;
    return base + guard;
  }

  bool free(void* address) {
    const auto at = blocks_.find(static_cast<char*>(address));
    if (at == blocks_.end()) return false;
    const auto [begin, bytes] = *at;
    blocks_.erase(at);
    in_use_ -= bytes;
    unpoison(begin - guard, whole(bytes));
    const auto is_guard = [](char c) { return static_cast<unsigned char>(c) == guard_byte; };
    if (!std::all_of(begin - guard, begin, is_guard))
      violations_.push_back("something wrote before an allocation of " + std::to_string(bytes) + " bytes");
    if (!std::all_of(begin + bytes, begin - guard + whole(bytes), is_guard))
      violations_.push_back("something wrote behind an allocation of " + std::to_string(bytes) + " bytes");
    std::memset(begin, freed_byte, bytes);
    poison(begin - guard, whole(bytes));
    quarantine_.emplace_back(begin, bytes);
    quarantined_ += bytes;
    while (quarantined_ > quarantine_bytes) release_oldest();
    return true;
  }

  bool holds(const void* from, std::size_t bytes) const {
    auto* begin = const_cast<char*>(static_cast<const char*>(from));
    auto at = blocks_.upper_bound(begin);
    if (at == blocks_.begin()) return false;
    --at;
    return begin + bytes <= at->first + at->second;
  }
  /// Did nobody write into freed memory?
  void check_quarantine() {
    while (!quarantine_.empty()) release_oldest();
  }
  std::size_t in_use() const { return in_use_; }
  std::size_t count() const { return blocks_.size(); }

 private:
  static constexpr std::size_t guard = 256, quarantine_bytes = std::size_t{64} << 20;
  static constexpr unsigned char guard_byte = 0xbd, fresh_byte = 0xcb, freed_byte = 0xdb;
  static std::size_t whole(std::size_t bytes) { return (bytes + guard - 1) / guard * guard + 2 * guard; }
  static void poison(const void* at, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(at, bytes);
#endif
    static_cast<void>(at), static_cast<void>(bytes);
  }
  static void unpoison(const void* at, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(at, bytes);
#endif
    static_cast<void>(at), static_cast<void>(bytes);
  }
  void release_oldest() {
    const auto [begin, bytes] = quarantine_.front();
    quarantine_.pop_front();
    quarantined_ -= bytes;
    unpoison(begin - guard, whole(bytes));
    if (!std::all_of(begin, begin + bytes,
                     [](char c) { return static_cast<unsigned char>(c) == freed_byte; }))
      violations_.push_back("something wrote into freed memory of " + std::to_string(bytes) + " bytes");
    std::free(begin - guard);
  }

  std::vector<std::string>& violations_;
  std::map<char*, std::size_t> blocks_;
  std::deque<std::pair<char*, std::size_t>> quarantine_;
  std::size_t in_use_ = 0, quarantined_ = 0;
};

struct FakeStream;

struct FakeEvent {
  std::int64_t recorded = 0, done = 0;  ///< times; waiting is for the latest record
  FakeStream* stream = nullptr;         ///< of the latest record
  std::int64_t time_ns = 0;
};

struct Work {
  std::function<Result()> run;
  std::shared_ptr<FakeEvent> wait;  ///< do nothing before this
  std::int64_t wait_for = 0;
};

struct FakeStream {
  int number = 0;
  std::deque<Work> queue;
  std::int64_t time_ns = 0;  ///< when its last work was done, or when it was asked for something to do
};

struct FakeModule {
  std::unique_ptr<HostModule> code;
};
struct FakeFunction {
  const FakeModule* module = nullptr;
  std::string entry;
};

/// Addresses are numbers to the driver.
void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT

struct State {
  explicit State(const FakeOptions& o) : options(o), random(o.seed) {}

  mutable std::recursive_mutex mutex;
  FakeOptions options;
  std::mt19937_64 random;
  std::vector<std::string> violations;
  Memory memory{violations}, pinned{violations};
  bool initialized = false;
  int contexts = 0;
  Result broken = cuda::success;
  std::string why_broken;
  std::map<std::string, int> calls;
  std::map<std::string, std::map<int, Result>> failures;
  std::vector<LogEntry> log;
  int streams_made = 0, kernels = 0;
  std::map<void*, std::shared_ptr<FakeStream>> streams;
  std::map<void*, std::shared_ptr<FakeEvent>> events;
  std::map<void*, std::shared_ptr<FakeModule>> modules;
  std::map<void*, std::shared_ptr<FakeFunction>> functions;
  std::int64_t host_ns = 0;  ///< on the GPU's clock: what the host has waited for was done by now
  std::map<LogEntry::What, std::int64_t> engine_free_ns;

  /// When work is done: after what its stream and its engine did before.
  void take_time(FakeStream& s, LogEntry& entry) {
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
  void host_waited(const FakeStream& s) { host_ns = std::max(host_ns, s.time_ns); }
  void push(FakeStream& s, Work work) {
    if (s.queue.empty()) s.time_ns = std::max(s.time_ns, host_ns);
    s.queue.push_back(std::move(work));
  }

  bool is_there(cuda::Context context) const {
    return (context == this && contexts > 0) || context == foreign_context();
  }
  void violate(const std::string& what) { violations.push_back(what); }

  bool fails(const std::string& what, Result& result) {
    const int n = ++calls[what];
    const auto at = failures.find(what);
    if (at == failures.end()) return false;
    const auto k = at->second.find(n);
    if (k == at->second.end()) return false;
    result = k->second;
    return true;
  }

  void die(Result result, const std::string& why) {
    if (broken != cuda::success) return;
    broken = result;
    why_broken = why;
  }

  bool blocked(const FakeStream& s) const {
    const Work& w = s.queue.front();
    return w.wait && w.wait->done < w.wait_for;
  }

  void run_one(FakeStream& s) {
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

  void run_some() {
    if (options.seed == 0) return;
    for (auto n = random() % 4; n > 0; --n) {
      std::vector<FakeStream*> ready;
      for (const auto& [handle, s] : streams)
        if (!s->queue.empty() && !blocked(*s)) ready.push_back(s.get());
      if (ready.empty()) return;
      run_one(*ready[random() % ready.size()]);
    }
  }

  Result finish(FakeStream& s) {
    while (!s.queue.empty()) {
      run_some();
      if (!s.queue.empty()) run_one(s);
    }
    host_waited(s);
    return broken;
  }

  /// Both when it is asked for and when it is done.
  Result enqueue(cuda::StreamHandle handle, LogEntry entry, std::function<Result()> run) {
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

  /// A copy's device side, when it is asked for and when it is done.
  Result check_range(const char* what, cuda::DevicePointer at, std::size_t bytes) {
    if (memory.holds(pointer(at), bytes)) return cuda::success;
    violate(std::string(what) + " of " + std::to_string(bytes) + " bytes outside of device memory");
    return illegal_address;
  }
};

std::shared_ptr<State>& state() {
  static auto* now = new std::shared_ptr<State>;
  return *now;
}
thread_local cuda::Context current = nullptr;

enum class Needs : std::uint8_t { nothing, start, context };
enum class Kind : std::uint8_t { ordinary, frees };

/// What all entries do first.
template <class F>
Result enter(const char* name, Needs needs, Kind kind, F&& f) {
  const auto holder = state();
  if (!holder) return not_initialized;
  State& s = *holder;
  const std::lock_guard lock(s.mutex);
  Result injected = cuda::success;
  if (s.fails(name, injected)) {
    if (kind == Kind::frees) static_cast<void>(f(s));
    return injected;
  }
  if (needs != Needs::nothing && !s.initialized)
    return s.violate(std::string(name) + " before init"), not_initialized;
  if (needs == Needs::context && (current != &s || s.contexts == 0))
    return s.violate(std::string(name) + " without a context"), invalid_context;
  if (needs == Needs::context && kind == Kind::ordinary && s.broken != cuda::success) return s.broken;
  const Result result = f(s);
  if (needs == Needs::context && s.broken != cuda::success && result == cuda::success) return s.broken;
  return result;
}

template <class T>
void* keep(std::map<void*, std::shared_ptr<T>>& all, std::shared_ptr<T> one) {
  void* handle = one.get();
  all.emplace(handle, std::move(one));
  return handle;
}

template <class T>
Result drop(State& s, const char* what, std::map<void*, std::shared_ptr<T>>& all, void* handle) {
  if (all.erase(handle) == 1) return cuda::success;
  return s.violate(std::string(what) + " destroyed twice, or never made"), invalid_handle;
}

Result launch(State& s, cuda::Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
              unsigned by, unsigned bz, unsigned shared, cuda::StreamHandle stream, void** parameters,
              void** extra) {
  const auto at = s.functions.find(function);
  if (at == s.functions.end()) return s.violate("launch of a function that is not there"), invalid_handle;
  const std::shared_ptr<FakeFunction> f = at->second;
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024 || shared) return invalid_value;
  const std::size_t expected = f->module->code->parameter_bytes(f->entry);
  const void* from = parameters ? parameters[0] : nullptr;
  for (void** e = extra; e && *e; e += 2) {
    if (*e == pointer(cuda::launch_buffer)) from = e[1];
    if (*e == pointer(cuda::launch_buffer_size) && *static_cast<std::size_t*>(e[1]) != expected)
      return s.violate("entry " + f->entry + " takes " + std::to_string(expected) + " bytes, not " +
                       std::to_string(*static_cast<std::size_t*>(e[1]))),
             invalid_value;
  }
  std::vector<std::uint64_t> words((expected + 7) / 8);
  if (expected > 0) std::memcpy(words.data(), from, expected);
  const std::uint64_t seed = s.options.seed == 0 ? 0 : s.random() | 1;
  auto module_holder = s.modules.at(const_cast<FakeModule*>(f->module));
  LogEntry entry{LogEntry::What::kernel, false, 0, 0, f->entry, gx, bx};
  return s.enqueue(stream, std::move(entry), [&s, f, words, seed, gx, gy, gz, bx, by, bz, module_holder] {
    if (Result injected = cuda::success; s.fails("kernel", injected)) return injected;
    try {
      module_holder->code->launch(f->entry, {gx, gy, gz}, {bx, by, bz}, words, seed, s.options.workers);
      return cuda::success;
    } catch (const HostError& e) {
      s.violate(e.what());
      s.die(launch_failed, e.what());
      return launch_failed;
    }
  });
}

cuda::DriverApi make_table() {
  using enum LogEntry::What;
  cuda::DriverApi t;
  t.init = [](unsigned) {
    return enter("init", Needs::nothing, Kind::ordinary, [](State& s) {
      s.initialized = true;
      return cuda::success;
    });
  };
  t.driver_get_version = [](int* version) {
    return enter("driver_get_version", Needs::nothing, Kind::ordinary,
                 [&](State& s) { return *version = s.options.driver_version, cuda::success; });
  };
  t.get_error_name = [](Result error, const char** name) {
    return enter("get_error_name", Needs::nothing, Kind::ordinary, [&](State&) {
      for (const auto& e : error_texts)
        if (e.result == error) return *name = e.name, cuda::success;
      return *name = nullptr, invalid_value;
    });
  };
  t.get_error_string = [](Result error, const char** text) {
    return enter("get_error_string", Needs::nothing, Kind::ordinary, [&](State& s) {
      if (error == s.broken && error != cuda::success && !s.why_broken.empty())
        return *text = s.why_broken.c_str(), cuda::success;
      for (const auto& e : error_texts)
        if (e.result == error) return *text = e.text, cuda::success;
      return *text = nullptr, invalid_value;
    });
  };
  t.device_get_count = [](int* count) {
    return enter("device_get_count", Needs::start, Kind::ordinary,
                 [&](State& s) { return *count = s.options.gpus, cuda::success; });
  };
  t.device_get = [](cuda::DeviceNumber* device, int ordinal) {
    return enter("device_get", Needs::start, Kind::ordinary, [&](State& s) {
      if (ordinal < 0 || ordinal >= s.options.gpus) return invalid_device;
      return *device = ordinal + 40, cuda::success;
    });
  };
  t.device_get_name = [](char* name, int length, cuda::DeviceNumber device) {
    return enter("device_get_name", Needs::start, Kind::ordinary, [&](State&) {
      if (device < 40 || length < 20) return invalid_value;
      return std::strcpy(name, "Simulated GPU"), cuda::success;
    });
  };
  t.device_get_attribute = [](int* value, int attribute, cuda::DeviceNumber device) {
    return enter("device_get_attribute", Needs::start, Kind::ordinary, [&](State& s) {
      if (device < 40) return invalid_device;
      if (attribute == cuda::attribute_major)
        *value = s.options.major;
      else if (attribute == cuda::attribute_minor)
        *value = s.options.minor;
      else if (attribute == cuda::attribute_multiprocessors)
        *value = s.options.multiprocessors;
      else
        return invalid_value;
      return cuda::success;
    });
  };
  t.device_total_mem = [](std::size_t* bytes, cuda::DeviceNumber) {
    return enter("device_total_mem", Needs::start, Kind::ordinary, [&](State& s) {
      return *bytes = static_cast<std::size_t>(s.options.memory), cuda::success;
    });
  };
  t.primary_ctx_retain = [](cuda::Context* context, cuda::DeviceNumber) {
    return enter("primary_ctx_retain", Needs::start, Kind::ordinary, [&](State& s) {
      ++s.contexts;
      return *context = &s, cuda::success;
    });
  };
  t.primary_ctx_release = [](cuda::DeviceNumber) {
    return enter("primary_ctx_release", Needs::start, Kind::frees, [&](State& s) {
      if (s.contexts == 0) return s.violate("context released twice"), invalid_context;
      --s.contexts;
      return cuda::success;
    });
  };
  t.ctx_get_current = [](cuda::Context* context) {
    return enter("ctx_get_current", Needs::start, Kind::ordinary,
                 [&](State& s) { return *context = s.is_there(current) ? current : nullptr, cuda::success; });
  };
  t.ctx_set_current = [](cuda::Context context) {
    return enter("ctx_set_current", Needs::start, Kind::ordinary, [&](State& s) {
      if (context != nullptr && !s.is_there(context))
        return s.violate("a context that is not there"), invalid_context;
      return current = context, cuda::success;
    });
  };
  t.mem_get_info = [](std::size_t* free, std::size_t* total) {
    return enter("mem_get_info", Needs::context, Kind::ordinary, [&](State& s) {
      *total = static_cast<std::size_t>(s.options.memory);
      return *free = *total - s.memory.in_use(), cuda::success;
    });
  };
  t.mem_alloc = [](cuda::DevicePointer* address, std::size_t bytes) {
    return enter("mem_alloc", Needs::context, Kind::ordinary, [&](State& s) {
      if (bytes == 0) return invalid_value;
      if (bytes > static_cast<std::size_t>(s.options.memory) - s.memory.in_use()) return cuda::out_of_memory;
      return *address = reinterpret_cast<cuda::DevicePointer>(s.memory.allocate(bytes)), cuda::success;
    });
  };
  t.mem_free = [](cuda::DevicePointer address) {
    return enter("mem_free", Needs::context, Kind::frees, [&](State& s) {
      if (s.memory.free(pointer(address))) return cuda::success;
      return s.violate("device memory freed twice, or never allocated"), invalid_value;
    });
  };
  t.mem_host_alloc = [](void** address, std::size_t bytes, unsigned) {
    return enter("mem_host_alloc", Needs::context, Kind::ordinary, [&](State& s) {
      return bytes == 0 ? invalid_value : (*address = s.pinned.allocate(bytes), cuda::success);
    });
  };
  t.mem_free_host = [](void* address) {
    return enter("mem_free_host", Needs::context, Kind::frees, [&](State& s) {
      if (s.pinned.free(address)) return cuda::success;
      return s.violate("page-locked memory freed twice, or never allocated"), invalid_value;
    });
  };
  t.pointer_get_attribute = [](void* value, int attribute, cuda::DevicePointer at) {
    return enter("pointer_get_attribute", Needs::context, Kind::ordinary, [&](State& s) {
      if (attribute != cuda::pointer_memory_type || !s.pinned.holds(pointer(at), 1)) return invalid_value;
      return *static_cast<unsigned*>(value) = cuda::memory_type_host, cuda::success;
    });
  };
  t.memcpy_htod_async = [](cuda::DevicePointer to, const void* from, std::size_t bytes,
                           cuda::StreamHandle stream) {
    return enter("memcpy_htod_async", Needs::context, Kind::ordinary, [&](State& s) {
      if (s.check_range("upload", to, bytes) != cuda::success) return invalid_value;
      return s.enqueue(stream, {upload, false, 0, static_cast<std::int64_t>(bytes)}, [&s, to, from, bytes] {
        const Result r = s.check_range("upload", to, bytes);
        if (r == cuda::success) std::memcpy(pointer(to), from, bytes);
        return r;
      });
    });
  };
  t.memcpy_dtoh_async = [](void* to, cuda::DevicePointer from, std::size_t bytes, cuda::StreamHandle stream) {
    return enter("memcpy_dtoh_async", Needs::context, Kind::ordinary, [&](State& s) {
      if (s.check_range("download", from, bytes) != cuda::success) return invalid_value;
      return s.enqueue(stream, {download, false, 0, static_cast<std::int64_t>(bytes)}, [&s, to, from, bytes] {
        const Result r = s.check_range("download", from, bytes);
        if (r == cuda::success) std::memcpy(to, pointer(from), bytes);
        return r;
      });
    });
  };
  t.memset_d8_async = [](cuda::DevicePointer to, unsigned char value, std::size_t bytes,
                         cuda::StreamHandle stream) {
    return enter("memset_d8_async", Needs::context, Kind::ordinary, [&](State& s) {
      if (s.check_range("fill", to, bytes) != cuda::success) return invalid_value;
      return s.enqueue(stream, {fill, false, 0, static_cast<std::int64_t>(bytes)}, [&s, to, value, bytes] {
        const Result r = s.check_range("fill", to, bytes);
        if (r == cuda::success) std::memset(pointer(to), value, bytes);
        return r;
      });
    });
  };
  t.stream_create = [](cuda::StreamHandle* stream, unsigned) {
    return enter("stream_create", Needs::context, Kind::ordinary, [&](State& s) {
      auto made = std::make_shared<FakeStream>();
      made->number = ++s.streams_made;
      return *stream = keep(s.streams, std::move(made)), cuda::success;
    });
  };
  t.stream_destroy = [](cuda::StreamHandle stream) {
    return enter("stream_destroy", Needs::context, Kind::frees, [&](State& s) {
      const auto at = s.streams.find(stream);
      if (at != s.streams.end()) static_cast<void>(s.finish(*at->second));
      return drop(s, "stream", s.streams, stream);
    });
  };
  t.stream_synchronize = [](cuda::StreamHandle stream) {
    return enter("stream_synchronize", Needs::context, Kind::ordinary, [&](State& s) {
      const auto at = s.streams.find(stream);
      if (at == s.streams.end()) return s.violate("waiting for a stream that is not there"), invalid_handle;
      s.log.push_back({synchronize, false, at->second->number, 0});
      const Result r = s.finish(*at->second);
      s.log.push_back({synchronize, true, at->second->number, 0});
      return r;
    });
  };
  t.stream_query = [](cuda::StreamHandle stream) {
    return enter("stream_query", Needs::context, Kind::ordinary, [&](State& s) {
      const auto at = s.streams.find(stream);
      if (at == s.streams.end()) return s.violate("asking a stream that is not there"), invalid_handle;
      // Who asks again and again gets on.
      if (!at->second->queue.empty()) {
        s.run_one(*at->second);
        return s.broken != cuda::success ? s.broken : cuda::not_ready;
      }
      s.host_waited(*at->second);
      return cuda::success;
    });
  };
  t.stream_wait_event = [](cuda::StreamHandle stream, cuda::Event event, unsigned) {
    return enter("stream_wait_event", Needs::context, Kind::ordinary, [&](State& s) {
      const auto at = s.streams.find(stream);
      const auto e = s.events.find(event);
      if (at == s.streams.end() || e == s.events.end())
        return s.violate("a stream or an event that is not there"), invalid_handle;
      s.push(*at->second, {nullptr, e->second, e->second->recorded});
      s.run_some();
      return cuda::success;
    });
  };
  t.event_create = [](cuda::Event* event, unsigned) {
    return enter("event_create", Needs::context, Kind::ordinary, [&](State& s) {
      return *event = keep(s.events, std::make_shared<FakeEvent>()), cuda::success;
    });
  };
  t.event_destroy = [](cuda::Event event) {
    return enter("event_destroy", Needs::context, Kind::frees,
                 [&](State& s) { return drop(s, "event", s.events, event); });
  };
  t.event_record = [](cuda::Event event, cuda::StreamHandle stream) {
    return enter("event_record", Needs::context, Kind::ordinary, [&](State& s) {
      const auto at = s.streams.find(stream);
      const auto e = s.events.find(event);
      if (at == s.streams.end() || e == s.events.end())
        return s.violate("a stream or an event that is not there"), invalid_handle;
      const auto number = ++e->second->recorded;
      e->second->stream = at->second.get();
      FakeStream& on = *at->second;
      s.push(on, {[record = e->second, number, &on] {
                    record->done = std::max(record->done, number);
                    record->time_ns = on.time_ns;
                    return cuda::success;
                  },
                  nullptr, 0});
      s.run_some();
      return cuda::success;
    });
  };
  t.event_synchronize = [](cuda::Event event) {
    return enter("event_synchronize", Needs::context, Kind::ordinary, [&](State& s) {
      const auto e = s.events.find(event);
      if (e == s.events.end()) return s.violate("an event that is not there"), invalid_handle;
      for (const auto& [handle, stream] : s.streams)
        while (stream.get() == e->second->stream && e->second->done < e->second->recorded &&
               !stream->queue.empty()) {
          s.run_some();
          if (!stream->queue.empty()) s.run_one(*stream);
        }
      s.host_ns = std::max(s.host_ns, e->second->time_ns);
      return s.broken;
    });
  };
  t.event_elapsed_time = [](float* milliseconds, cuda::Event begin, cuda::Event end) {
    return enter("event_elapsed_time", Needs::context, Kind::ordinary, [&](State& s) {
      const auto b = s.events.find(begin), e = s.events.find(end);
      if (b == s.events.end() || e == s.events.end()) return invalid_handle;
      if (!b->second->recorded || !e->second->recorded) return invalid_handle;
      if (b->second->done < b->second->recorded || e->second->done < e->second->recorded)
        return cuda::not_ready;
      *milliseconds = static_cast<float>(static_cast<double>(e->second->time_ns - b->second->time_ns) * 1e-6);
      return cuda::success;
    });
  };
  t.module_load_data = [](cuda::Module* module, const void* image) {
    return enter("module_load_data", Needs::context, Kind::ordinary, [&](State& s) {
      const std::string text = static_cast<const char*>(image);
      const auto line = text.find('\n');
      if (!text.starts_with("entries:") || line == std::string::npos) return invalid_image;
      HostOptions options;
      options.sanitize = s.options.sanitize;
      for (std::size_t at = 8; at < line;) {
        const auto end = std::min(text.find(' ', at + 1), line);
        options.entries.push_back(text.substr(at + 1, end - at - 1));
        at = end;
      }
      std::vector<HeaderText> headers;
      for (const auto& h : cuda::headers()) headers.emplace_back(h.name, h.text);
      auto made = std::make_shared<FakeModule>();
      made->code = std::make_unique<HostModule>(text.substr(line + 1), headers, options);
      return *module = keep(s.modules, std::move(made)), cuda::success;
    });
  };
  t.module_unload = [](cuda::Module module) {
    return enter("module_unload", Needs::context, Kind::frees, [&](State& s) {
      std::erase_if(s.functions, [&](const auto& f) { return f.second->module == module; });
      return drop(s, "module", s.modules, module);
    });
  };
  t.module_get_function = [](cuda::Function* function, cuda::Module module, const char* name) {
    return enter("module_get_function", Needs::context, Kind::ordinary, [&](State& s) {
      const auto at = s.modules.find(module);
      if (at == s.modules.end()) return invalid_handle;
      if (!at->second->code->has(name)) return not_found;
      auto made = std::make_shared<FakeFunction>();
      made->module = at->second.get();
      made->entry = name;
      return *function = keep(s.functions, std::move(made)), cuda::success;
    });
  };
  t.launch_kernel = [](cuda::Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, cuda::StreamHandle stream,
                       void** parameters, void** extra) {
    return enter("launch_kernel", Needs::context, Kind::ordinary, [&](State& s) {
      return launch(s, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    });
  };
  return t;
}

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

State& now() {
  if (!state()) throw std::logic_error("there is no simulated GPU");
  return *state();
}

}  // namespace

void FakeGpu::fail(const std::string& entry, int k, int result) {
  State& s = now();
  const std::lock_guard lock(s.mutex);
  s.failures[entry][s.calls[entry] + k] = result;
}
void FakeGpu::heal() {
  State& s = now();
  const std::lock_guard lock(s.mutex);
  s.failures.clear();
  s.broken = cuda::success;
  s.why_broken.clear();
}
int FakeGpu::calls(const std::string& entry) const {
  State& s = now();
  const std::lock_guard lock(s.mutex);
  return s.calls[entry];
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
          "pointer_get_attribute",
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
          "launch_kernel"};
}
std::vector<LogEntry> FakeGpu::log() const {
  State& s = now();
  const std::lock_guard lock(s.mutex);
  return s.log;
}
void FakeGpu::clear_log() {
  State& s = now();
  const std::lock_guard lock(s.mutex);
  s.log.clear();
}
std::vector<std::string> FakeGpu::violations() const {
  State& s = now();
  const std::lock_guard lock(s.mutex);
  s.memory.check_quarantine();
  s.pinned.check_quarantine();
  return s.violations;
}
std::string FakeGpu::leaks() const {
  State& s = now();
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
  State& s = now();
  const std::lock_guard lock(s.mutex);
  return static_cast<std::int64_t>(s.memory.in_use());
}

cuda::Platform fake_platform(const FakeOptions& options) {
  if (state()) cuda::set_platform({});
  state() = std::make_shared<State>(options);
  static const auto table = std::make_shared<const cuda::DriverApi>(make_table());
  return {table, std::make_shared<HostCompiler>(options.sanitize), options.exact_memory};
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
