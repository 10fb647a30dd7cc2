#include "support/gpu_host/fake_table.h"

#include <cstring>
#include <utility>

#include "device/primitives.h"
#include "support/gpu_host/fake_state.h"

namespace anabranch::gpu_host {
namespace {

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

thread_local cuda::Context current = nullptr;

enum class Needs : std::uint8_t { nothing, start, context };
enum class Kind : std::uint8_t { ordinary, frees };

/// What all entries do first.
template <class F>
Result enter(const char* name, Needs needs, Kind kind, F&& f) {
  const auto holder = fake_state();
  if (!holder) return not_initialized;
  FakeState& s = *holder;
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
Result drop(FakeState& s, const char* what, std::map<void*, std::shared_ptr<T>>& all, void* handle) {
  if (all.erase(handle) == 1) return cuda::success;
  return s.violate(std::string(what) + " destroyed twice, or never made"), invalid_handle;
}

Result launch(FakeState& s, cuda::Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
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

/// What a primitive touches, when it is asked for and when it runs.
class Touched {
 public:
  Touched(FakeState& state, const char* name) : state_(state), name_(name) {}

  void range(const void* at, std::int64_t bytes) {
    all_there_ = all_there_ && (at == nullptr || bytes == 0 ||
                                state_.check_range(name_, reinterpret_cast<cuda::DevicePointer>(at),
                                                   static_cast<std::size_t>(bytes)) == cuda::success);
  }
  void needed(const void* at, std::int64_t bytes) {
    all_there_ = all_there_ && at != nullptr;
    range(at, bytes);
  }
  void parts(const device::Parts& parts) {
    range(parts.offsets, (parts.count + 1) * 8);
    if (!parts.offsets && parts.count * parts.size != parts.elements)
      state_.violate(std::string(name_) + ": elements of parts"), all_there_ = false;
  }
  void columns(const device::Column* columns, std::int32_t count, std::int64_t from, std::int64_t to) {
    for (std::int32_t c = 0; c < count; ++c) {
      range(columns[c].from, from * columns[c].element.bytes);
      range(columns[c].to, to * columns[c].element.bytes);
    }
  }
  void places(const device::Places& places) {
    parts(places.elements);
    parts(places.to);
    range(places.data, places.elements.elements * places.element.bytes);
  }
  bool all_there() const { return all_there_; }

 private:
  FakeState& state_;
  const char* name_;
  bool all_there_ = true;
};

void touch(Touched& t, const device::Sort& what) {
  t.parts(what.parts);
  t.columns(what.columns, what.count, what.parts.elements, what.parts.elements);
  t.range(what.positions, what.parts.elements * 8);
}
void touch(Touched& t, const device::Select& what) {
  t.parts(what.parts);
  t.parts(what.to);
  t.columns(what.columns, what.count, what.parts.elements, what.to.elements);
  t.range(what.mask, what.parts.elements);
  t.needed(what.failure, sizeof *what.failure);
}
void touch(Touched& t, const device::Group& what) {
  t.places(what.places);
  t.range(what.counts, what.places.to.elements * 8);
  t.range(what.order, what.places.elements.elements * 8);
  t.needed(what.failure, sizeof *what.failure);
}
void touch(Touched& t, const device::LastAt& what) {
  t.places(what.places);
  t.needed(what.last, what.places.to.elements * 8);
  t.needed(what.failure, sizeof *what.failure);
}
void touch(Touched& t, const device::Accumulate& what) {
  t.places(what.places);
  t.range(what.elements, what.places.elements.elements * what.element.bytes);
  t.range(what.joined, what.places.to.elements * what.element.bytes);
  t.needed(what.failure, sizeof *what.failure);
}
void touch(Touched& t, const device::Repeat& what) {
  t.parts(what.parts);
  t.parts(what.to);
  t.range(what.counts, what.parts.elements * what.element.bytes);
  t.needed(what.numbers, what.to.elements * 8);
  t.needed(what.failure, sizeof *what.failure);
}
void touch(Touched& t, const device::ItemOffsets& what) {
  t.needed(what.offsets, (what.count + 1) * 8);
  t.needed(what.totals, sizeof *what.totals);
  for (std::int32_t k = 0; k < what.rank; ++k) t.range(what.extents[k].of_item, what.count * 8);
}

/// A call as work of a stream: the caller's host memory is not looked at any more.
template <class What>
struct Kept {
  What what;
  std::vector<device::Column> columns;

  explicit Kept(const What& call) : what(call) {
    if constexpr (requires { call.columns; }) columns.assign(call.columns, call.columns + call.count);
  }
  const What* call() {
    if constexpr (requires { what.columns; }) what.columns = columns.data();
    return &what;
  }
};

constexpr const char* name_of(const device::Sort&) { return "sort"; }
constexpr const char* name_of(const device::Select&) { return "select"; }
constexpr const char* name_of(const device::Group&) { return "group"; }
constexpr const char* name_of(const device::LastAt&) { return "last_at"; }
constexpr const char* name_of(const device::Accumulate&) { return "accumulate"; }
constexpr const char* name_of(const device::Repeat&) { return "repeat"; }
constexpr const char* name_of(const device::ItemOffsets&) { return "item_offsets"; }

template <auto Member, class What>
device::Status primitive(const What* what, device::Temporary* temporary, device::Stream stream) {
  const char* const name = name_of(*what);
  return enter(name, Needs::context, Kind::ordinary, [&](FakeState& s) -> Result {
    const auto compute = device::host_table().*Member;
    if (!temporary->at) return compute(what, temporary, nullptr);
    const auto is_there = [&s, name](const What& call, const device::Temporary& storage) {
      Touched touched(s, name);
      touch(touched, call);
      touched.needed(storage.at, static_cast<std::int64_t>(storage.bytes));
      return touched.all_there();
    };
    if (!is_there(*what, *temporary)) return invalid_value;
    LogEntry entry{LogEntry::What::kernel, false, 0, 0, name, 1, 256};
    return s.enqueue(stream, std::move(entry),
                     [&s, is_there, compute, kept = Kept<What>(*what), temporary = *temporary]() mutable {
                       if (Result injected = cuda::success; s.fails("kernel", injected)) return injected;
                       if (!is_there(*kept.call(), temporary)) return illegal_address;
                       return compute(kept.call(), &temporary, nullptr);
                     });
  });
}

}  // namespace

device::Table fake_primitives() {
  device::Table t{};
  t.text = device::host_table().text;
  t.sort = primitive<&device::Table::sort, device::Sort>;
  t.select = primitive<&device::Table::select, device::Select>;
  t.group = primitive<&device::Table::group, device::Group>;
  t.last_at = primitive<&device::Table::last_at, device::LastAt>;
  t.accumulate = primitive<&device::Table::accumulate, device::Accumulate>;
  t.repeat = primitive<&device::Table::repeat, device::Repeat>;
  t.item_offsets = primitive<&device::Table::item_offsets, device::ItemOffsets>;
  return t;
}

cuda::DriverApi fake_table() {
  using enum LogEntry::What;
  cuda::DriverApi t;
  t.init = [](unsigned) {
    return enter("init", Needs::nothing, Kind::ordinary, [](FakeState& s) {
      s.initialized = true;
      return cuda::success;
    });
  };
  t.driver_get_version = [](int* version) {
    return enter("driver_get_version", Needs::nothing, Kind::ordinary,
                 [&](FakeState& s) { return *version = s.options.driver_version, cuda::success; });
  };
  t.get_error_name = [](Result error, const char** name) {
    return enter("get_error_name", Needs::nothing, Kind::ordinary, [&](FakeState&) {
      for (const auto& e : error_texts)
        if (e.result == error) return *name = e.name, cuda::success;
      return *name = nullptr, invalid_value;
    });
  };
  t.get_error_string = [](Result error, const char** text) {
    return enter("get_error_string", Needs::nothing, Kind::ordinary, [&](FakeState& s) {
      if (error == s.broken && error != cuda::success && !s.why_broken.empty())
        return *text = s.why_broken.c_str(), cuda::success;
      for (const auto& e : error_texts)
        if (e.result == error) return *text = e.text, cuda::success;
      return *text = nullptr, invalid_value;
    });
  };
  t.device_get_count = [](int* count) {
    return enter("device_get_count", Needs::start, Kind::ordinary,
                 [&](FakeState& s) { return *count = s.options.gpus, cuda::success; });
  };
  t.device_get = [](cuda::DeviceNumber* device, int ordinal) {
    return enter("device_get", Needs::start, Kind::ordinary, [&](FakeState& s) {
      if (ordinal < 0 || ordinal >= s.options.gpus) return invalid_device;
      return *device = ordinal + 40, cuda::success;
    });
  };
  t.device_get_name = [](char* name, int length, cuda::DeviceNumber device) {
    return enter("device_get_name", Needs::start, Kind::ordinary, [&](FakeState&) {
      if (device < 40 || length < 20) return invalid_value;
      return std::strcpy(name, "Simulated GPU"), cuda::success;
    });
  };
  t.device_get_attribute = [](int* value, int attribute, cuda::DeviceNumber device) {
    return enter("device_get_attribute", Needs::start, Kind::ordinary, [&](FakeState& s) {
      if (device < 40) return invalid_device;
      if (attribute == cuda::attribute_major)
        *value = s.options.major;
      else if (attribute == cuda::attribute_minor)
        *value = s.options.minor;
      else if (attribute == cuda::attribute_multiprocessors)
        *value = s.options.multiprocessors;
      else if (attribute == cuda::attribute_shared_memory)
        *value = s.options.shared_memory;
      else
        return invalid_value;
      return cuda::success;
    });
  };
  t.device_total_mem = [](std::size_t* bytes, cuda::DeviceNumber) {
    return enter("device_total_mem", Needs::start, Kind::ordinary, [&](FakeState& s) {
      return *bytes = static_cast<std::size_t>(s.options.memory), cuda::success;
    });
  };
  t.primary_ctx_retain = [](cuda::Context* context, cuda::DeviceNumber) {
    return enter("primary_ctx_retain", Needs::start, Kind::ordinary, [&](FakeState& s) {
      ++s.contexts;
      return *context = &s, cuda::success;
    });
  };
  t.primary_ctx_release = [](cuda::DeviceNumber) {
    return enter("primary_ctx_release", Needs::start, Kind::frees, [&](FakeState& s) {
      if (s.contexts == 0) return s.violate("context released twice"), invalid_context;
      --s.contexts;
      return cuda::success;
    });
  };
  t.ctx_get_current = [](cuda::Context* context) {
    return enter("ctx_get_current", Needs::start, Kind::ordinary, [&](FakeState& s) {
      return *context = s.is_there(current) ? current : nullptr, cuda::success;
    });
  };
  t.ctx_set_current = [](cuda::Context context) {
    return enter("ctx_set_current", Needs::start, Kind::ordinary, [&](FakeState& s) {
      if (context != nullptr && !s.is_there(context))
        return s.violate("a context that is not there"), invalid_context;
      return current = context, cuda::success;
    });
  };
  t.mem_get_info = [](std::size_t* free, std::size_t* total) {
    return enter("mem_get_info", Needs::context, Kind::ordinary, [&](FakeState& s) {
      *total = static_cast<std::size_t>(s.options.memory);
      return *free = *total - s.memory.in_use(), cuda::success;
    });
  };
  t.mem_alloc = [](cuda::DevicePointer* address, std::size_t bytes) {
    return enter("mem_alloc", Needs::context, Kind::ordinary, [&](FakeState& s) {
      if (bytes == 0) return invalid_value;
      if (bytes > static_cast<std::size_t>(s.options.memory) - s.memory.in_use()) return cuda::out_of_memory;
      return *address = reinterpret_cast<cuda::DevicePointer>(s.memory.allocate(bytes)), cuda::success;
    });
  };
  t.mem_free = [](cuda::DevicePointer address) {
    return enter("mem_free", Needs::context, Kind::frees, [&](FakeState& s) {
      if (s.memory.free(pointer(address))) return cuda::success;
      return s.violate("device memory freed twice, or never allocated"), invalid_value;
    });
  };
  t.mem_host_alloc = [](void** address, std::size_t bytes, unsigned) {
    return enter("mem_host_alloc", Needs::context, Kind::ordinary, [&](FakeState& s) {
      return bytes == 0 ? invalid_value : (*address = s.pinned.allocate(bytes), cuda::success);
    });
  };
  t.mem_free_host = [](void* address) {
    return enter("mem_free_host", Needs::context, Kind::frees, [&](FakeState& s) {
      if (s.pinned.free(address)) return cuda::success;
      return s.violate("page-locked memory freed twice, or never allocated"), invalid_value;
    });
  };
  // Of memory that is none of the driver's it says nothing: all values are 0.
  t.pointer_get_attributes = [](unsigned count, int* attributes, void** values, cuda::DevicePointer at) {
    return enter("pointer_get_attributes", Needs::context, Kind::ordinary, [&](FakeState& s) {
      const auto [begin, size] = s.page_locked_range(pointer(at));
      const bool tells = size != 0 && s.options.tells_ranges;
      for (unsigned i = 0; i < count; ++i) {
        if (attributes[i] == cuda::pointer_memory_type)
          *static_cast<unsigned*>(values[i]) = size != 0 ? cuda::memory_type_host : 0;
        else if (attributes[i] == cuda::pointer_range_start)
          *static_cast<cuda::DevicePointer*>(values[i]) =
              tells ? reinterpret_cast<cuda::DevicePointer>(begin) : 0;
        else if (attributes[i] == cuda::pointer_range_size)
          *static_cast<std::size_t*>(values[i]) = tells ? size : 0;
        else
          return invalid_value;
      }
      return cuda::success;
    });
  };
  t.memcpy_htod_async = [](cuda::DevicePointer to, const void* from, std::size_t bytes,
                           cuda::StreamHandle stream) {
    return enter("memcpy_htod_async", Needs::context, Kind::ordinary, [&](FakeState& s) {
      if (s.check_range("upload", to, bytes) != cuda::success) return invalid_value;
      if (s.check_host_range(from, bytes) != cuda::success) return invalid_value;
      return s.enqueue(stream, {upload, false, 0, static_cast<std::int64_t>(bytes)}, [&s, to, from, bytes] {
        const Result r = s.check_range("upload", to, bytes);
        if (r == cuda::success) std::memcpy(pointer(to), from, bytes);
        return r;
      });
    });
  };
  t.memcpy_dtoh_async = [](void* to, cuda::DevicePointer from, std::size_t bytes, cuda::StreamHandle stream) {
    return enter("memcpy_dtoh_async", Needs::context, Kind::ordinary, [&](FakeState& s) {
      if (s.check_range("download", from, bytes) != cuda::success) return invalid_value;
      if (s.check_host_range(to, bytes) != cuda::success) return invalid_value;
      return s.enqueue(stream, {download, false, 0, static_cast<std::int64_t>(bytes)}, [&s, to, from, bytes] {
        const Result r = s.check_range("download", from, bytes);
        if (r == cuda::success) std::memcpy(to, pointer(from), bytes);
        return r;
      });
    });
  };
  t.memset_d8_async = [](cuda::DevicePointer to, unsigned char value, std::size_t bytes,
                         cuda::StreamHandle stream) {
    return enter("memset_d8_async", Needs::context, Kind::ordinary, [&](FakeState& s) {
      if (s.check_range("fill", to, bytes) != cuda::success) return invalid_value;
      return s.enqueue(stream, {fill, false, 0, static_cast<std::int64_t>(bytes)}, [&s, to, value, bytes] {
        const Result r = s.check_range("fill", to, bytes);
        if (r == cuda::success) std::memset(pointer(to), value, bytes);
        return r;
      });
    });
  };
  t.stream_create = [](cuda::StreamHandle* stream, unsigned) {
    return enter("stream_create", Needs::context, Kind::ordinary, [&](FakeState& s) {
      auto made = std::make_shared<FakeStream>();
      made->number = ++s.streams_made;
      return *stream = keep(s.streams, std::move(made)), cuda::success;
    });
  };
  t.stream_destroy = [](cuda::StreamHandle stream) {
    return enter("stream_destroy", Needs::context, Kind::frees, [&](FakeState& s) {
      const auto at = s.streams.find(stream);
      if (at != s.streams.end()) static_cast<void>(s.finish(*at->second));
      return drop(s, "stream", s.streams, stream);
    });
  };
  t.stream_synchronize = [](cuda::StreamHandle stream) {
    return enter("stream_synchronize", Needs::context, Kind::ordinary, [&](FakeState& s) {
      const auto at = s.streams.find(stream);
      if (at == s.streams.end()) return s.violate("waiting for a stream that is not there"), invalid_handle;
      s.log.push_back({synchronize, false, at->second->number, 0});
      const Result r = s.finish(*at->second);
      s.log.push_back({synchronize, true, at->second->number, 0});
      return r;
    });
  };
  t.stream_query = [](cuda::StreamHandle stream) {
    return enter("stream_query", Needs::context, Kind::ordinary, [&](FakeState& s) {
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
    return enter("stream_wait_event", Needs::context, Kind::ordinary, [&](FakeState& s) {
      const auto at = s.streams.find(stream);
      const auto e = s.events.find(event);
      if (at == s.streams.end() || e == s.events.end())
        return s.violate("a stream or an event that is not there"), invalid_handle;
      s.push(*at->second, {nullptr, e->second, e->second->recorded});
      s.run_some();
      return cuda::success;
    });
  };
  t.event_create = [](cuda::Event* event, unsigned flags) {
    return enter("event_create", Needs::context, Kind::ordinary, [&](FakeState& s) {
      auto made = std::make_shared<FakeEvent>();
      made->blocking = (flags & cuda::event_blocking_sync) != 0;
      return *event = keep(s.events, std::move(made)), cuda::success;
    });
  };
  t.event_destroy = [](cuda::Event event) {
    return enter("event_destroy", Needs::context, Kind::frees,
                 [&](FakeState& s) { return drop(s, "event", s.events, event); });
  };
  t.event_record = [](cuda::Event event, cuda::StreamHandle stream) {
    return enter("event_record", Needs::context, Kind::ordinary, [&](FakeState& s) {
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
    return enter("event_synchronize", Needs::context, Kind::ordinary, [&](FakeState& s) {
      const auto e = s.events.find(event);
      if (e == s.events.end()) return s.violate("an event that is not there"), invalid_handle;
      if (!e->second->blocking) s.violate("a wait that spins");
      for (const auto& [handle, stream] : s.streams) {
        if (stream.get() != e->second->stream) continue;
        s.log.push_back({synchronize, false, stream->number, 0});
        while (e->second->done < e->second->recorded && !stream->queue.empty()) {
          s.run_some();
          if (!stream->queue.empty()) s.run_one(*stream);
        }
        s.log.push_back({synchronize, true, stream->number, 0});
      }
      s.host_ns = std::max(s.host_ns, e->second->time_ns);
      return s.broken;
    });
  };
  t.event_elapsed_time = [](float* milliseconds, cuda::Event begin, cuda::Event end) {
    return enter("event_elapsed_time", Needs::context, Kind::ordinary, [&](FakeState& s) {
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
    return enter("module_load_data", Needs::context, Kind::ordinary, [&](FakeState& s) {
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
    return enter("module_unload", Needs::context, Kind::frees, [&](FakeState& s) {
      std::erase_if(s.functions, [&](const auto& f) { return f.second->module == module; });
      return drop(s, "module", s.modules, module);
    });
  };
  t.module_get_function = [](cuda::Function* function, cuda::Module module, const char* name) {
    return enter("module_get_function", Needs::context, Kind::ordinary, [&](FakeState& s) {
      const auto at = s.modules.find(module);
      if (at == s.modules.end()) return invalid_handle;
      if (!at->second->code->has(name)) return not_found;
      auto made = std::make_shared<FakeFunction>();
      made->module = at->second.get();
      made->entry = name;
      return *function = keep(s.functions, std::move(made)), cuda::success;
    });
  };
  t.func_get_attribute = [](int* value, int attribute, cuda::Function function) {
    return enter("func_get_attribute", Needs::context, Kind::ordinary, [&](FakeState& s) {
      if (!s.functions.contains(function)) return invalid_handle;
      if (attribute != cuda::function_shared_bytes) return invalid_value;
      return *value = s.options.shared_of_kernels, cuda::success;
    });
  };
  t.func_set_attribute = [](cuda::Function function, int attribute, int value) {
    return enter("func_set_attribute", Needs::context, Kind::ordinary, [&](FakeState& s) {
      const auto at = s.functions.find(function);
      if (at == s.functions.end()) return invalid_handle;
      if (attribute != cuda::function_carveout || value < 0 || value > 100) return invalid_value;
      return s.carveouts[at->second->entry] = value, cuda::success;
    });
  };
  t.occupancy_max_active_blocks = [](int* blocks, cuda::Function function, int block_size, std::size_t) {
    return enter("occupancy_max_active_blocks", Needs::context, Kind::ordinary, [&](FakeState& s) {
      const auto at = s.functions.find(function);
      if (at == s.functions.end()) return invalid_handle;
      // What the kernel may have counts, all if it has not asked, and 2048 threads.
      const auto asked = s.carveouts.find(at->second->entry);
      const std::int64_t percent = asked == s.carveouts.end() ? 100 : asked->second;
      const std::int64_t shared = s.options.shared_memory * percent / 100;
      *blocks = static_cast<int>(
          std::min<std::int64_t>(2048 / block_size, shared / (s.options.shared_of_kernels + 1024)));
      return cuda::success;
    });
  };
  t.launch_kernel = [](cuda::Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, cuda::StreamHandle stream,
                       void** parameters, void** extra) {
    return enter("launch_kernel", Needs::context, Kind::ordinary, [&](FakeState& s) {
      return launch(s, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    });
  };
  return t;
}

}  // namespace anabranch::gpu_host
