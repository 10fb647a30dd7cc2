#include "cuda/device.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cache/once_per_key.h"
#include "cuda/image_cache.h"
#include "cuda/nvrtc.h"
#include "cuda/words.h"
#include "ir/device_error.h"
#include "system/environment.h"
#include "system/standard_error.h"

namespace anabranch::cuda {
namespace {

/// "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
std::string text_of(const DriverApi& api, int result) {
  const char *name = nullptr, *text = nullptr;
  if (api.get_error_name(result, &name) != success || !name) return "error " + std::to_string(result);
  if (api.get_error_string(result, &text) != success || !text) return name;
  return std::string(name) + ": " + text;
}

std::string megabytes(std::int64_t bytes) {
  if (bytes < 1 << 20) return std::to_string(bytes) + " bytes";
  return std::to_string(bytes >> 20) + " MiB";
}

/// 13000: "13.0"
std::string version_text(int driver_version) {
  return std::to_string(driver_version / 1000) + "." + std::to_string(driver_version % 1000 / 10);
}

/// Messages of the back end begin with its name: not inside of another one.
std::string without_prefix(const std::string& message) {
  return message.starts_with("cuda: ") ? message.substr(6) : message;
}

/// Whether the driver rejects the image: invalid, not for this GPU, PTX of a newer version, or PTX where it compiles none.
bool is_about_image(Result result) {
  constexpr Result answers[] = {200, 209, 218, 221, 222, 223, 300};
  return std::find(std::begin(answers), std::end(answers), result) != std::end(answers);
}

/// Errors after which nothing works any more in this process, as a rule.
bool may_be_lasting(Result result) {
  constexpr Result errors[] = {3, 4, 201, 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};
  return std::find(std::begin(errors), std::end(errors), result) != std::end(errors);
}

constexpr std::int64_t granule = 512;

std::int64_t round_up(std::int64_t bytes, std::int64_t step) { return (bytes + step - 1) / step * step; }

/// Eight classes per power of two: at most an eighth is wasted, and a stream of chunks of about the same size
/// finds its blocks again.
std::int64_t class_of(std::int64_t bytes) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  return round_up(bytes, std::max(granule, power / 8));
}

/// What open_platform and Device::get share.
struct Opened {
  std::mutex mutex;
  Platform chosen, real;
  std::shared_ptr<Device> device;
  std::atomic<pid_t> process = 0;      ///< that has opened it, or does: the driver does not survive a fork
  std::atomic<bool> in_doubt = false;  ///< since an error that may be lasting
};
/// Never destroyed: at the end of the process the driver may be unloaded first.
Opened& opened() {
  static auto* all = new Opened;
  return *all;
}

Platform open_platform(Opened& all) {
  if (all.chosen.driver) return all.chosen;
  if (!all.real.driver) {
    Platform real;
    real.driver = open_driver();
    int version = 0;
    static_cast<void>(real.driver->driver_get_version(&version));
    real.compiler = open_nvrtc(version);
    real.other_compilers = [first = real.compiler, version] { return other_nvrtcs(*first, version); };
    all.real = std::move(real);
  }
  return all.real;
}

}  // namespace

void check(const DriverApi& api, int result, const char* what) {
  if (result == success) return;
  const std::string message = std::string("cuda: ") + what + ": " + text_of(api, result);
  if (result == out_of_memory) throw DeviceMemoryFull(message);
  if (may_be_lasting(result)) opened().in_doubt = true;
  throw ir::DeviceError(message);
}

void check(const device::Table& primitives, device::Status status, const char* what) {
  if (status == device::done) return;
  const std::string message = std::string("cuda: ") + what + ": " + primitives.text(status);
  if (status == out_of_memory) throw DeviceMemoryFull(message);  // the runtime's numbers are the driver's
  if (may_be_lasting(static_cast<Result>(status))) opened().in_doubt = true;
  throw ir::DeviceError(message);
}

Platform open_platform() {
  Opened& all = opened();
  const std::lock_guard lock(all.mutex);
  return open_platform(all);
}

void set_platform(Platform platform) {
  Opened& all = opened();
  std::shared_ptr<Device> old;  // may be destroyed: not under the lock
  const std::lock_guard lock(all.mutex);
  old = std::move(all.device);
  all.device.reset();
  all.process = 0;
  all.chosen = std::move(platform);
}

// Blocks ----------------------------------------------------------------------------------------------------

DeviceBlock::DeviceBlock(DeviceBlock&& other) noexcept { *this = std::move(other); }
DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
DeviceBlock::~DeviceBlock() {
  if (device_ && address_) device_->free(address_);
}

PinnedBlock::PinnedBlock(std::shared_ptr<Device> device, std::int64_t bytes)
    : device_(std::move(device)), bytes_(bytes), whole_(bytes) {
  if (bytes > 0) data_ = device_->take_pinned(whole_);
}
PinnedBlock::PinnedBlock(PinnedBlock&& other) noexcept { *this = std::move(other); }
PinnedBlock& PinnedBlock::operator=(PinnedBlock&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(whole_, other.whole_);
  return *this;
}
PinnedBlock::~PinnedBlock() {
  if (data_) device_->give_pinned(data_, whole_);
}

// The device ------------------------------------------------------------------------------------------------

struct Device::Impl {
  explicit Impl(std::size_t units_kept) : units(units_kept) { streams.reserve(streams_at_most); }

  DeviceNumber number = 0;
  Context context = nullptr;

  mutable std::mutex memory;
  std::map<std::int64_t, std::vector<Address>> free;  ///< kept, by size
  std::unordered_map<Address, std::int64_t> sizes;    ///< of what is given out or kept
  std::int64_t in_use = 0, kept = 0;

  /// Page-locked memory that is kept.
  struct Pinned {
    std::byte* memory;
    std::uint64_t given;  ///< grows with every piece that was given back
  };
  std::mutex pinning;
  std::multimap<std::int64_t, Pinned> pinned;  ///< by size
  std::int64_t pinned_bytes = 0;
  std::uint64_t pinned_given = 0;

  /// Gives kept page-locked memory back, what has not been used for longest first, until it is no more than `most` bytes:
  /// what every run uses stays, whether it is small or large.
  void trim_pinned(const DriverApi& api, std::int64_t most) noexcept {
    while (pinned_bytes > most) {
      const auto oldest = std::min_element(pinned.begin(), pinned.end(), [](const auto& a, const auto& b) {
        return a.second.given < b.second.given;
      });
      pinned_bytes -= oldest->first;
      static_cast<void>(api.mem_free_host(oldest->second.memory));
      pinned.erase(oldest);
    }
  }

  static constexpr std::size_t streams_at_most = 32;
  std::mutex streaming;
  std::vector<StreamHandles> streams;  ///< kept ones, which have nothing to do

  using Loaded = std::shared_ptr<const LoadedUnit>;
  cache::OncePerKey<Loaded> units;  ///< by text
  mutable std::mutex loading;       ///< of the statistics
  LoadStatistics statistics;

  std::mutex measuring;
  double link_rate = 0;  ///< 0: not measured yet

  std::mutex opening_primitives;
  std::unique_ptr<const DevicePrimitives> primitives;  ///< null: not asked for yet

  /// Gives the kept blocks back, the largest first, until they are no more than `most` bytes.
  void trim(const DriverApi& api, std::int64_t most) noexcept {
    while (kept > most) {
      const auto last = std::prev(free.end());
      const Address address = last->second.back();
      last->second.pop_back();
      kept -= last->first;
      sizes.erase(address);
      if (last->second.empty()) free.erase(last);
      static_cast<void>(api.mem_free(address));
    }
  }

  /// A kept block, or one from the driver; 0: `result` says why there is none.
  Address find(const DriverApi& api, std::int64_t bytes, Result& result) {
    result = success;
    Address address = 0;
    if (const auto at = free.find(bytes); at != free.end()) {
      address = at->second.back();
      at->second.pop_back();
      if (at->second.empty()) free.erase(at);
      kept -= bytes;
    } else {
      result = api.mem_alloc(&address, static_cast<std::size_t>(bytes));
      if (result == out_of_memory && kept > 0) {
        trim(api, 0);
        result = api.mem_alloc(&address, static_cast<std::size_t>(bytes));
      }
      if (result != success) return 0;
      try {
        sizes.emplace(address, bytes);
      } catch (...) {
        static_cast<void>(api.mem_free(address));
        throw;
      }
    }
    in_use += bytes;
    return address;
  }
};

std::shared_ptr<Device> Device::get() {
  Opened& all = opened();
  // Before the lock, which another thread may have held when the process was forked.
  if (const pid_t process = all.process; process != 0 && process != ::getpid())
    throw BackendUnavailable(
        "cuda: no GPU can be used: this process was forked from one that has used the GPU; start another "
        "program instead");
  const std::lock_guard lock(all.mutex);
  if (!all.device) {
    all.process = ::getpid();
    try {
      all.device = std::shared_ptr<Device>(new Device(open_platform(all)));
    } catch (...) {
      all.process = 0;
      throw;
    }
    all.in_doubt = false;
  }
  if (all.in_doubt) {
    all.device->check_alive();
    all.in_doubt = false;
  }
  return all.device;
}

/// After an error that may be lasting.
void Device::check_alive() const {
  const KeepContext keep(platform_.driver);
  std::size_t free = 0, total = 0;
  Result result = api().ctx_set_current(impl_->context);
  if (result == success) result = api().mem_get_info(&free, &total);
  if (result != success && result != out_of_memory)
    throw BackendUnavailable("cuda: no GPU can be used: it was lost to an error: " + text_of(api(), result));
}

Device::Device(Platform platform)
    : platform_(std::move(platform)), impl_(std::make_unique<Impl>(platform_.units_kept)) {
  const DriverApi& driver = api();
  const auto need = [&](Result result, const char* what) {
    if (result != success)
      throw BackendUnavailable(std::string("cuda: no GPU can be used: ") + what + ": " +
                               text_of(driver, result));
  };
  need(driver.init(0), "starting the driver");
  need(driver.driver_get_version(&facts_.driver_version), "the driver's version");
  int count = 0;
  need(driver.device_get_count(&count), "counting GPUs");
  if (count == 0) throw BackendUnavailable("cuda: no GPU can be used: the driver finds none");
  need(driver.device_get(&impl_->number, 0), "the first GPU");
  char name[256] = {};
  need(driver.device_get_name(name, sizeof name - 1, impl_->number), "the GPU's name");
  facts_.name = name;
  const auto attribute = [&](int which) {
    int value = 0;
    need(driver.device_get_attribute(&value, which, impl_->number), "the GPU's attributes");
    return value;
  };
  facts_.major = attribute(attribute_major);
  facts_.minor = attribute(attribute_minor);
  if (facts_.major < 7)
    throw BackendUnavailable("cuda: no GPU can be used: " + facts_.name + " has the compute capability " +
                             std::to_string(facts_.major) + "." + std::to_string(facts_.minor) +
                             ", 7.0 is the least");
  facts_.multiprocessors = std::max(attribute(attribute_multiprocessors), 1);
  facts_.shared_memory = attribute(attribute_shared_memory);
  std::size_t total = 0, free = 0;
  need(driver.device_total_mem(&total, impl_->number), "the GPU's memory");
  facts_.memory = static_cast<std::int64_t>(total);
  const KeepContext keep(platform_.driver);
  need(driver.primary_ctx_retain(&impl_->context, impl_->number), "opening the GPU");
  try {
    need(driver.ctx_set_current(impl_->context), "opening the GPU");
    need(driver.mem_get_info(&free, &total), "the GPU's free memory");
    choose_compiler();
  } catch (...) {
    static_cast<void>(driver.primary_ctx_release(impl_->number));
    throw;
  }
  facts_.memory_free = static_cast<std::int64_t>(free);
}

/// Why the driver loads no kernel of this compiler; nothing where it does.
std::optional<std::string> Device::refusal_of(Compiler& compiler) const {
  Unit nothing;
  nothing.source = "extern \"C\" __global__ void nothing() {}\n";
  nothing.entries = {"nothing"};
  LoadedUnit trial;
  Result result = success;
  try {
    result = load_image(nothing, "an empty kernel", compiler, trial);
  } catch (const BackendUnavailable& e) {
    return without_prefix(e.what());
  } catch (const InternalError& e) {
    return without_prefix(e.what());
  }
  if (trial.module) static_cast<void>(api().module_unload(trial.module));
  if (result == success) return std::nullopt;
  const std::string text = text_of(api(), result);
  if (!is_about_image(result))
    throw BackendUnavailable("cuda: no GPU can be used: loading an empty kernel: " + text);
  return "the driver, for CUDA " + version_text(facts_.driver_version) + ", refuses what NVRTC " +
         compiler.version() + " makes: " + text;
}

/// The first one of which the driver loads a kernel: one that is newer than the driver may make images that it refuses,
/// and one that is too new or too old for the GPU makes none.
void Device::choose_compiler() {
  std::optional<std::string> refusal = refusal_of(*platform_.compiler);
  if (refusal) {
    std::string refusals = *refusal;
    const auto others =
        platform_.other_compilers ? platform_.other_compilers() : std::vector<std::shared_ptr<Compiler>>();
    for (const std::shared_ptr<Compiler>& other : others) {
      refusal = refusal_of(*other);
      if (!refusal) {
        platform_.compiler = other;
        facts_.why_compiler = refusals;
        break;
      }
      refusals += "; " + *refusal;
    }
    if (refusal) throw BackendUnavailable("cuda: no GPU can be used: " + refusals);
  }
  facts_.compiler = platform_.compiler->version();
}

Device::~Device() {
  const DriverApi& driver = api();
  static_cast<void>(driver.ctx_set_current(impl_->context));
  impl_->units.clear();
  impl_->trim(driver, 0);
  impl_->trim_pinned(driver, 0);
  for (const StreamHandles& stream : impl_->streams) destroy(stream);
  static_cast<void>(driver.primary_ctx_release(impl_->number));
}

std::string Device::architecture() const {
  return "sm_" + std::to_string(facts_.major) + std::to_string(facts_.minor);
}

Context Device::context() const { return impl_->context; }

void Device::make_current() const { check(api(), api().ctx_set_current(impl_->context), "choosing the GPU"); }

std::int64_t Device::least(std::int64_t bytes) const {
  const std::int64_t some = std::max<std::int64_t>(bytes, 1);
  return platform_.exact_memory ? some : round_up(some, granule);
}
std::int64_t Device::usual(std::int64_t bytes) const {
  return platform_.exact_memory ? least(bytes) : class_of(least(bytes));
}

DeviceBlock Device::allocate(std::int64_t bytes, std::int64_t most) {
  if (bytes < 0) throw InternalError("cuda: " + std::to_string(bytes) + " bytes of device memory");
  make_current();
  const std::int64_t exact = least(bytes), rounded = usual(bytes);
  const std::lock_guard lock(impl_->memory);
  Result result = success;
  Address address = 0;
  if (!platform_.exact_memory && rounded <= most) address = impl_->find(api(), rounded, result);
  if (!address && (result == success || result == out_of_memory)) address = impl_->find(api(), exact, result);
  if (address) return DeviceBlock(shared_from_this(), address, impl_->sizes.at(address));
  if (result != out_of_memory) check(api(), result, "device memory");
  throw DeviceMemoryFull("cuda: device memory: " + megabytes(bytes) + " do not fit into the GPU's " +
                         megabytes(facts_.memory) + ", of which " + megabytes(impl_->in_use) + " are in use");
}

std::byte* Device::take_pinned(std::int64_t& bytes) {
  make_current();
  {
    const std::lock_guard lock(impl_->pinning);
    const auto at = impl_->pinned.lower_bound(bytes);
    if (at != impl_->pinned.end() && at->first <= bytes + bytes / 4) {
      bytes = at->first;
      std::byte* out = at->second.memory;
      impl_->pinned_bytes -= bytes;
      impl_->pinned.erase(at);
      return out;
    }
  }
  void* address = nullptr;
  const auto ask = [&] {
    return api().mem_host_alloc(&address, static_cast<std::size_t>(bytes), host_alloc_portable);
  };
  Result result = ask();
  if (result == out_of_memory) {
    const std::lock_guard lock(impl_->pinning);
    if (impl_->pinned_bytes > 0) {
      impl_->trim_pinned(api(), 0);
      result = ask();
    }
  }
  check(api(), result, "page-locked memory");
  return static_cast<std::byte*>(address);
}

void Device::give_pinned(std::byte* memory, std::int64_t bytes) noexcept {
  static_cast<void>(api().ctx_set_current(impl_->context));
  if (!platform_.exact_memory && bytes <= platform_.page_locked_kept) {
    const std::lock_guard lock(impl_->pinning);
    try {
      impl_->pinned.insert({bytes, {memory, ++impl_->pinned_given}});
      impl_->pinned_bytes += bytes;
      impl_->trim_pinned(api(), platform_.page_locked_kept);
      return;
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the list of kept blocks
    }
  }
  static_cast<void>(api().mem_free_host(memory));
}

StreamHandles Device::take_stream() {
  make_current();
  {
    const std::lock_guard lock(impl_->streaming);
    if (!impl_->streams.empty()) {
      const StreamHandles kept = impl_->streams.back();
      impl_->streams.pop_back();
      return kept;
    }
  }
  StreamHandles made;
  check(api(), api().stream_create(&made.stream, stream_non_blocking), "making a stream");
  const Result result = api().event_create(&made.all_done, event_blocking_sync | event_disable_timing);
  if (result != success) static_cast<void>(api().stream_destroy(made.stream));
  check(api(), result, "making an event");
  return made;
}

void Device::give_stream(const StreamHandles& stream, bool done) noexcept {
  if (done && !platform_.exact_memory) {
    const std::lock_guard lock(impl_->streaming);
    if (impl_->streams.size() < Impl::streams_at_most) return impl_->streams.push_back(stream);
  }
  static_cast<void>(api().ctx_set_current(impl_->context));
  destroy(stream);
}

void Device::destroy(const StreamHandles& stream) noexcept {
  static_cast<void>(api().stream_destroy(stream.stream));
  static_cast<void>(api().event_destroy(stream.all_done));
}

void Device::free(Address address) noexcept {
  static_cast<void>(api().ctx_set_current(impl_->context));
  const std::lock_guard lock(impl_->memory);
  const auto at = impl_->sizes.find(address);
  if (at == impl_->sizes.end()) return;
  const std::int64_t bytes = at->second;
  impl_->in_use -= bytes;
  bool keep = !platform_.exact_memory;
  if (keep) {
    try {
      impl_->free[bytes].push_back(address);
      impl_->kept += bytes;
    } catch (...) {
      if (impl_->free.contains(bytes) && impl_->free[bytes].empty()) impl_->free.erase(bytes);
      keep = false;
    }
  }
  if (keep) return;
  impl_->sizes.erase(at);
  static_cast<void>(api().mem_free(address));
}

std::int64_t Device::in_use() const {
  const std::lock_guard lock(impl_->memory);
  return impl_->in_use;
}
std::int64_t Device::kept() const {
  const std::lock_guard lock(impl_->memory);
  return impl_->kept;
}
void Device::trim(std::int64_t most) noexcept {
  static_cast<void>(api().ctx_set_current(impl_->context));
  const std::lock_guard lock(impl_->memory);
  impl_->trim(api(), std::max<std::int64_t>(most, 0));
}

std::int64_t Device::available() const {
  make_current();
  std::size_t free = 0, total = 0;
  check(api(), api().mem_get_info(&free, &total), "the GPU's free memory");
  return static_cast<std::int64_t>(free) + kept();
}

bool Device::is_page_locked(const void* memory, std::int64_t bytes) const {
  make_current();
  if (bytes <= 0) return false;
  const auto first = reinterpret_cast<DevicePointer>(memory);
  unsigned type = 0;
  DevicePointer begin = 0;
  std::size_t size = 0;
  // All questions at once: of memory that is not the driver's this is no error, which tools that watch for errors would report.
  int attributes[] = {pointer_memory_type, pointer_range_start, pointer_range_size};
  void* values[] = {&type, &begin, &size};
  if (api().pointer_get_attributes(3, attributes, values, first) != success || type != memory_type_host)
    return false;
  if (begin == 0 || begin > first) return false;  // the driver does not tell
  const std::size_t before = first - begin;
  return before < size && static_cast<std::size_t>(bytes) <= size - before;
}

namespace {

/// Whether the library was compiled for this GPU shows only when it is used: here, by asking for the size of
/// a workspace.
DevicePrimitives open_primitives(const Platform& platform) {
  DevicePrimitives out;
  try {
    const device::Primitives primitives = platform.open_primitives();
    device::ItemOffsets one_item{};
    one_item.count = 1;
    device::Temporary temporary{};
    primitives.run(one_item, temporary);
    out.table = &primitives.table();
  } catch (const Error& e) {
    out.why_not = e.what();
  }
  return out;
}

}  // namespace

const DevicePrimitives& Device::primitives() {
  const std::lock_guard lock(impl_->opening_primitives);
  if (!impl_->primitives) {
    const KeepContext keep(platform_.driver);
    make_current();
    impl_->primitives = std::make_unique<const DevicePrimitives>(open_primitives(platform_));
  }
  return *impl_->primitives;
}

double Device::link_rate() {
  const std::lock_guard lock(impl_->measuring);
  if (impl_->link_rate > 0) return impl_->link_rate;
  const KeepContext keep(platform_.driver);
  try {
    impl_->link_rate = measured_link_rate();
  } catch (const Error&) {
    impl_->link_rate = some_link_rate;
  }
  return impl_->link_rate;
}

/// The best of a few uploads: the first one may have to wake the link.
double Device::measured_link_rate() {
  constexpr std::int64_t bytes = std::int64_t{8} << 20;
  constexpr int uploads = 3;
  const auto self = shared_from_this();
  const PinnedBlock from(self, bytes);
  std::memset(from.data(), 0, static_cast<std::size_t>(bytes));
  const DeviceBlock to = allocate(bytes);
  DeviceEvent begin(self, true), end(self, true);
  Stream stream(self);
  double best = 0;
  for (int k = 0; k < uploads; ++k) {
    stream.record(begin);
    stream.upload(to.address(), from.data(), bytes);
    stream.record(end);
    stream.synchronize();
    const double milliseconds = end.milliseconds_since(begin);
    if (milliseconds > 0) best = std::max(best, static_cast<double>(bytes) / (milliseconds * 1e-3));
  }
  return best > 0 ? best : some_link_rate;
}

std::int64_t Device::workspace_of(const device::Operation& what) {
  const device::Table& table = *primitives().table;
  make_current();
  device::Temporary temporary{};
  check(table, device::call(table, what, temporary, nullptr), device::name_of(what));
  return static_cast<std::int64_t>(temporary.bytes);
}

LoadStatistics Device::load_statistics() const {
  const std::lock_guard lock(impl_->loading);
  return impl_->statistics;
}

std::shared_ptr<const LoadedUnit> Device::load(const Unit& unit, const std::string& name) {
  std::string key;
  for (const auto& entry : unit.entries) key += entry + "\n";
  key += "\n" + unit.source;
  const auto [loaded, known] = impl_->units.find_or_make(key, [&] { return load_anew(unit, name); });
  {
    const std::lock_guard lock(impl_->loading);
    LoadStatistics& sum = impl_->statistics;
    ++(known ? sum.found : loaded->compiled.from_disk ? sum.from_disk : sum.compiled);
    if (!known) sum.milliseconds += loaded->compiled.milliseconds;
  }
  // A loaded unit keeps its device alive; the device, which owns the unit, must not keep itself alive.
  struct Both {
    std::shared_ptr<const Device> device;
    Impl::Loaded unit;
  };
  const auto both = std::make_shared<const Both>(Both{shared_from_this(), loaded});
  return {both, both->unit.get()};
}

/// The driver's answer to the compiled image and to each of its kernels; its module and functions where that is success. A
/// driver that loads lazily, as all do by default since CUDA 12.2, looks at a kernel only when it is asked for.
Result Device::load_compiled(const Unit& unit, LoadedUnit& into) const {
  const Result loaded = api().module_load_data(&into.module, into.compiled.image.c_str());
  if (loaded != success) return loaded;
  for (const auto& entry : unit.entries) {
    Function function = nullptr;
    const Result found = api().module_get_function(&function, into.module, entry.c_str());
    if (found != success) {
      static_cast<void>(api().module_unload(std::exchange(into.module, nullptr)));
      into.entries.clear();
      return found;
    }
    into.entries.push_back(function);
  }
  return success;
}

/// The driver's answer to the unit, in the calling thread's context, as that of `load_compiled`.
Result Device::load_image(const Unit& unit, const std::string& name, Compiler& compiler,
                          LoadedUnit& into) const {
  into.compiled = find_or_compile(compiler, unit, name, architecture());
  const Result loaded = load_compiled(unit, into);
  if (into.compiled.from_disk && is_about_image(loaded)) {  // made under another driver
    into.compiled = compiler.compile(unit, name, architecture());
    return load_compiled(unit, into);
  }
  return loaded;
}

std::shared_ptr<const LoadedUnit> Device::load_anew(const Unit& unit, const std::string& name) {
  const std::shared_ptr<LoadedUnit> out(
      new LoadedUnit, [driver = platform_.driver, context = impl_->context](LoadedUnit* unloaded) {
        const KeepContext keep(driver);  // a user's program may be the last owner
        static_cast<void>(driver->ctx_set_current(context));
        if (unloaded->module) static_cast<void>(driver->module_unload(unloaded->module));
        delete unloaded;
      });
  make_current();
  const Result loaded = load_image(unit, name, *platform_.compiler, *out);
  if (system::listed("ANABRANCH_DUMP", "cuda")) {
    const std::string text =
        "---- cuda of " + name + " ----\n" + unit.source + "\n" + out->compiled.log + "\n";
    system::write_to_standard_error(text);
  }
  check(api(), loaded,
        ("loading " + name + " (" + architecture() + ", NVRTC " + facts_.compiler + ", driver " +
         version_text(facts_.driver_version) + ")")
            .c_str());
  out->compiled.image.clear();
  out->compiled.image.shrink_to_fit();
  for (Function function : out->entries) out->blocks_at_a_time.push_back(fit_shared_memory(function));
  return out;
}

/// Shared memory and the L1 cache share what a multiprocessor has. A kernel is to get as much as all blocks take that its
/// registers and threads let run at a time, and the cache the rest. A hint: where the driver refuses, it chooses. Returns how many
/// blocks of threads that are; 0: the driver does not say.
int Device::fit_shared_memory(Function function) const {
  constexpr std::int64_t reserved = 1024, all = 100;  // bytes of each block for the system; percent
  int bytes = 0, blocks = 0;
  const bool shares = api().func_get_attribute(&bytes, function_shared_bytes, function) == success &&
                      bytes > 0 && facts_.shared_memory > 0 &&
                      api().func_set_attribute(function, function_carveout, static_cast<int>(all)) == success;
  if (api().occupancy_max_active_blocks(&blocks, function, static_cast<int>(block_threads), 0) != success ||
      blocks <= 0)
    return 0;
  if (!shares) return blocks;
  const std::int64_t needed = blocks * (bytes + reserved);
  const std::int64_t percent = (needed * all + facts_.shared_memory - 1) / facts_.shared_memory;
  static_cast<void>(
      api().func_set_attribute(function, function_carveout, static_cast<int>(std::min(percent, all))));
  return blocks;
}

}  // namespace anabranch::cuda
