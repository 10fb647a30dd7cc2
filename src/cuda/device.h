#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <anabranch/error.h>

#include "cuda/driver_api.h"
#include "cuda/unit.h"
#include "device/primitives.h"

/// A GPU as the runtime sees it: memory, streams, loaded code. Everything goes through the table of
/// driver_api.h, so that tests put a simulated device, or one that fails, in its place.
namespace anabranch::cuda {

/// Device memory is full, or its bound reached: the chunk is cut and tried again.
class DeviceMemoryFull : public Error {
 public:
  using Error::Error;
};

/// Makes images from texts. Thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;
  struct Result {
    std::string image;  ///< what DriverApi::module_load_data takes
    std::string log;    ///< of the compiler and of ptxas: registers, spills
    double milliseconds = 0;
    bool from_disk = false;  ///< compiled by an earlier process: image_cache.h
    /// Per entry of the unit, of one thread; -1 where the log does not say.
    std::vector<int> registers, spill_bytes;
  };
  /// `architecture`: "sm_90". Throws InternalError with the log where the text does not compile,
  /// BackendUnavailable where the compiler is too old or too new for the architecture.
  virtual Result compile(const Unit& unit, const std::string& name, const std::string& architecture) = 0;
  virtual std::string version() const = 0;
  /// All that determines an image besides the unit and `headers()`: the compiler's version, target, options.
  /// Throws as `compile` does where there is no target for the architecture.
  virtual std::string settings(const std::string& architecture) const = 0;
};

/// Driver and compiler: the real ones, or a test's.
struct Platform {
  std::shared_ptr<const DriverApi> driver;
  std::shared_ptr<Compiler> compiler;
  /// Tried in turn where the driver refuses what `compiler` makes, or that makes nothing for the GPU. Empty: there are
  /// none.
  std::function<std::vector<std::shared_ptr<Compiler>>()> other_compilers;
  /// Device memory is allocated in exactly the requested size, and freed at once, as streams are: for tests that look
  /// for accesses out of bounds or after a free, or of host memory that holds no elements yet.
  bool exact_memory = false;
  std::size_t units_kept = 256;  ///< loaded ones, for later programs; those in use stay alive anyway
  std::int64_t page_locked_kept = std::int64_t{1} << 30;  ///< bytes that are not in use, for later runs
  /// Throws BackendUnavailable where there are none.
  std::function<device::Primitives()> open_primitives = device::Primitives::open;
  /// With fewer items the host is as quick as a primitive, and chunk_geometry.h computes their offsets.
  std::int64_t few_items = 4096;
};
/// Opens libcuda and NVRTC. Throws BackendUnavailable saying what is missing and where it was looked for.
Platform open_platform();
/// Makes open_platform return this one; an empty one restores the real one (tests).
void set_platform(Platform platform);

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 1;
  std::int64_t shared_memory = 0;  ///< bytes of a multiprocessor
  std::int64_t memory = 0;         ///< bytes
  std::int64_t memory_free = 0;    ///< when it was opened
  int driver_version = 0;          ///< 13000: 13.0
  std::string compiler;            ///< NVRTC's version
  std::string why_compiler;        ///< where it is not the one that is tried first: why not that one
};

/// Primitives that were compiled ahead of time, if they are installed and have code for this GPU.
struct DevicePrimitives {
  const device::Table* table = nullptr;  ///< null: there are none
  std::string why_not;                   ///< then
};

class Device;

/// A point in a stream's work. With `timing`, two of them measure the time between. Who waits for one sleeps.
class DeviceEvent {
 public:
  explicit DeviceEvent(std::shared_ptr<Device> device, bool timing = false);
  ~DeviceEvent();
  DeviceEvent(DeviceEvent&&) noexcept;
  DeviceEvent(const DeviceEvent&) = delete;
  operator Event() const { return handle_; }  // NOLINT: is given to streams
  /// Waits until the work recorded before it is done.
  void synchronize();
  double milliseconds_since(const DeviceEvent& begin) const;

 private:
  std::shared_ptr<Device> device_;
  Event handle_ = nullptr;
};

/// A stream of the driver's, and the event that is recorded and waited for by whoever waits for the stream.
struct StreamHandles {
  StreamHandle stream = nullptr;
  Event all_done = nullptr;
};

/// Work in order; several streams overlap. Not thread-safe. Destruction waits for the work.
class Stream {
 public:
  explicit Stream(std::shared_ptr<Device> device);
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream(const Stream&) = delete;

  void upload(Address to, const void* from, std::int64_t bytes);  ///< `from` stays as it is until synchronize
  void download(void* to, Address from, std::int64_t bytes);
  void fill_zero(Address to, std::int64_t bytes);
  /// `words`: the entry's parameter; as many bytes as the entry takes.
  void launch(Function function, unsigned grid, unsigned block, std::span<const std::uint64_t> words);
  /// Uses the device primitives, which must be there. `workspace`: of Device::workspace_of(what) bytes.
  void run(const device::Operation& what, Address workspace, std::int64_t bytes);
  void record(Event event);
  void wait(Event event);
  /// Waits until all is done. Throws RunError with the driver's message where a kernel crashed.
  void synchronize();
  bool idle();  ///< throws as synchronize does
  /// Waits until all is done, or the GPU is lost: before memory is freed that the stream may still use. Costs nothing where
  /// it is known that all is done.
  void drain() noexcept;
  Device& device() { return *device_; }

 private:
  void begin_work();
  Result ask() noexcept;
  Result ask_for_a_while() noexcept;

  std::shared_ptr<Device> device_;
  StreamHandles handles_;
  bool at_work_ = false;  ///< something was put on it since it was last seen done
};

/// Restores the calling thread's context, which may be the user's, at the end of scope. Null: does nothing.
class KeepContext {
 public:
  explicit KeepContext(std::shared_ptr<const DriverApi> api) noexcept;
  ~KeepContext();
  KeepContext(const KeepContext&) = delete;
  KeepContext& operator=(const KeepContext&) = delete;

 private:
  std::shared_ptr<const DriverApi> api_;
  Context before_ = nullptr;
  bool known_ = false;
};

/// Device memory of one owner. Destroyed only after the work that uses it: another stream may get it.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(std::shared_ptr<Device> device, Address address, std::int64_t bytes)
      : device_(std::move(device)), address_(address), bytes_(bytes) {}
  DeviceBlock(DeviceBlock&& other) noexcept;
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;
  ~DeviceBlock();
  Address address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }  ///< no less than what was asked for

 private:
  std::shared_ptr<Device> device_;
  Address address_ = 0;
  std::int64_t bytes_ = 0;
};

/// Page-locked host memory, for copies that overlap with computing. The device keeps some for later.
class PinnedBlock {
 public:
  PinnedBlock() = default;
  PinnedBlock(std::shared_ptr<Device> device, std::int64_t bytes);
  PinnedBlock(PinnedBlock&& other) noexcept;
  PinnedBlock& operator=(PinnedBlock&& other) noexcept;
  ~PinnedBlock();
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0, whole_ = 0;  ///< requested; allocated
};

/// Code of one unit on one device.
struct LoadedUnit {
  Module module = nullptr;
  std::vector<Function> entries;
  /// Per entry: blocks of 256 threads that a multiprocessor runs at a time; 0: the driver does not say.
  std::vector<int> blocks_at_a_time;
  Compiler::Result compiled;  ///< without the image
};

/// Of all units of a device.
struct LoadStatistics {
  int compiled = 0;
  int from_disk = 0;        ///< compiled by an earlier process
  int found = 0;            ///< loaded already
  double milliseconds = 0;  ///< in the compiler, or to find on disk what it made
};

/// One GPU, opened. Thread-safe; blocks, streams and loaded units keep it alive.
class Device : public std::enable_shared_from_this<Device> {
 public:
  /// The first GPU of the platform, opened once per process (and platform). Throws BackendUnavailable, also after an error that
  /// has cost the process its GPU, and in a process that was forked from the one that had opened it.
  static std::shared_ptr<Device> get();
  ~Device();

  const DeviceFacts& facts() const { return facts_; }
  std::string architecture() const;  ///< "sm_90"

  /// Allocates at most `most` bytes, which is at least `least(bytes)`. Freed blocks are kept and given out
  /// again, as a whole (sizes are rounded up to a few size classes), and returned to the driver before this
  /// refuses, with DeviceMemoryFull that names the request and what is in use. Runs account for their own
  /// limits.
  DeviceBlock allocate(std::int64_t bytes, std::int64_t most = INT64_MAX);
  /// What a block of so many bytes takes: rounded up, and the least it could be rounded to.
  std::int64_t usual(std::int64_t bytes) const;
  std::int64_t least(std::int64_t bytes) const;
  std::int64_t in_use() const;  ///< bytes given out, rounded up as they are
  std::int64_t kept() const;    ///< bytes of freed blocks that were not given back
  /// Returns kept blocks to the driver, but for `most` bytes.
  void trim(std::int64_t most = 0) noexcept;
  /// Bytes that could be given out now: what the driver says is free, and what is kept.
  std::int64_t available() const;

  /// Whether copies from and to there need no staging: all of it is in one page-locked range. (The driver refuses to copy
  /// from two that lie side by side at once.)
  bool is_page_locked(const void* memory, std::int64_t bytes) const;

  /// Bytes a second between page-locked memory and the GPU, measured when first asked for (a few milliseconds).
  double link_rate();
  static constexpr double some_link_rate = 20e9;  ///< where it cannot be measured

  /// Found on disk or compiled, and loaded, once per process; keyed by the text. Thread-safe: several threads
  /// wait for one. ANABRANCH_DUMP=cuda prints the texts, and the compiler's log, on standard error.
  std::shared_ptr<const LoadedUnit> load(const Unit& unit, const std::string& name);
  LoadStatistics load_statistics() const;

  /// Opened and tried when first asked for, once. Thread-safe.
  const DevicePrimitives& primitives();
  /// For tests: host memory whose elements are on the device only is overwritten, so that who reads it is found.
  bool spoils_stale_copies() const { return platform_.exact_memory; }
  std::int64_t few_items() const { return platform_.few_items; }
  /// Bytes of workspace that Stream::run needs for it.
  std::int64_t workspace_of(const device::Operation& what);

  const DriverApi& api() const { return *platform_.driver; }
  const std::shared_ptr<const DriverApi>& shared_api() const { return platform_.driver; }
  /// Makes the device's context the calling thread's. Functions that a user calls hold a KeepContext.
  void make_current() const;
  Context context() const;

 private:
  friend class DeviceBlock;
  friend class PinnedBlock;
  friend class Stream;
  explicit Device(Platform platform);
  double measured_link_rate();
  void check_alive() const;
  std::optional<std::string> refusal_of(Compiler& compiler) const;
  void choose_compiler();
  Result load_compiled(const Unit& unit, LoadedUnit& into) const;
  Result load_image(const Unit& unit, const std::string& name, Compiler& compiler, LoadedUnit& into) const;
  std::shared_ptr<const LoadedUnit> load_anew(const Unit& unit, const std::string& name);
  int fit_shared_memory(Function function) const;
  void free(Address address) noexcept;
  /// Page-locked memory, some of it reused: locking takes longer than copying. `bytes` becomes its size.
  std::byte* take_pinned(std::int64_t& bytes);
  void give_pinned(std::byte* memory, std::int64_t bytes) noexcept;
  /// Some of them used before: runs would make several each. `done`: nothing is left to do, and nothing went wrong at last.
  StreamHandles take_stream();
  void give_stream(const StreamHandles& stream, bool done) noexcept;
  void destroy(const StreamHandles& stream) noexcept;
  struct Impl;
  Platform platform_;
  DeviceFacts facts_;
  std::unique_ptr<Impl> impl_;
};

/// Throws unless a driver call succeeded: DeviceMemoryFull, else RunError "cuda: ...".
void check(const DriverApi& api, int result, const char* what);
/// The same for the result of a device primitive.
void check(const device::Table& primitives, device::Status status, const char* what);

}  // namespace anabranch::cuda
