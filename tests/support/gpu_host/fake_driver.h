#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "support/sanitized.h"

/// A simulated GPU behind the driver's table. Its memory is host memory with guards; its streams do nothing
/// until somebody waits for them, so that a missing wait shows; its kernels run on executor.h. What a real
/// GPU would let pass now and then is an error here: work on freed memory, accesses outside of what was
/// allocated, calls without a context, waits that spin. There is one at a time, for the whole process.
namespace anabranch::gpu_host {

/// How long things take on the simulated GPU's own clock, which events tell. One upload runs at a time, one
/// download and one kernel or fill.
struct FakeTimes {
  std::int64_t copy_ns = 1'000;  ///< and for each byte
  double copy_ns_per_byte = 0.1;
  std::int64_t kernel_ns = 5'000;
};

struct FakeOptions {
  std::int64_t memory = std::int64_t{1} << 30;
  /// 0: streams run when they are waited for, kernels in order. Else: work is done at random moments, in a
  /// random order of streams, threads and blocks, as far as the program leaves it open.
  std::uint64_t seed = 0;
  bool exact_memory = true;            ///< Platform::exact_memory
  bool sanitize = testing::sanitized;  ///< HostOptions::sanitize
  int workers = 1;                     ///< OS threads that run a kernel's blocks
  int gpus = 1;
  int major = 9, minor = 0;
  int multiprocessors = 4;
  int shared_memory = 228 << 10;  ///< of a multiprocessor
  int shared_of_kernels = 0;      ///< of each block
  int driver_version = 13000;
  bool tells_ranges = true;  ///< of page-locked memory, from where to where a pointer's range reaches
  FakeTimes times;
  bool primitives = true;      ///< the device primitives are there: those of host_table(), on streams
  std::int64_t few_items = 1;  ///< Platform::few_items
};

struct LogEntry {
  enum class What : std::uint8_t { upload, download, fill, kernel, synchronize };
  What what{};
  bool done = false;  ///< each thing is logged when it is asked for, and again when it is done
  int stream = 0;     ///< 1, 2, ... in the order they were made
  std::int64_t bytes = 0;
  std::string entry = {};  ///< kernel
  unsigned grid = 0, block = 0;
  /// Where it is done, on the GPU's clock. From `ready_ns` on its stream had nothing else to do; it may have
  /// waited for what does such work.
  std::int64_t ready_ns = 0, begin_ns = 0, end_ns = 0;
};

class FakeGpu {
 public:
  /// The k-th call (1: the next) of an entry of DriverApi, by its member's name, answers `result`. What frees
  /// or destroys does so nevertheless. "item_offsets": that device primitive. "kernel": the k-th kernel dies
  /// while it runs, primitives included.
  void fail(const std::string& entry, int k, int result);
  /// Takes back what `fail` asked for, and what a kernel that died left.
  void heal();
  int calls(const std::string& entry) const;
  /// Of shared memory that kernels ask for, in percent.
  std::vector<int> carveouts() const;
  /// Names of all members of DriverApi.
  static std::vector<std::string> entries();

  /// Memory of the user's is page-locked from now on, as if by cuMemHostRegister. A copy from or to memory of which only some is
  /// page-locked, or which lies in two such ranges, is refused: CUDA_ERROR_INVALID_VALUE.
  void page_lock(const void* memory, std::size_t bytes);

  std::vector<LogEntry> log() const;
  void clear_log();
  /// What the program did wrong.
  std::vector<std::string> violations() const;
  /// What is still there: "2 allocations, 1 stream"; empty: nothing.
  std::string leaks() const;
  std::int64_t memory_in_use() const;
  std::int64_t page_locked_in_use() const;  ///< what the program has had allocated
};

/// A new GPU, which replaces the one before; the device opened on that is dropped first. The compiler checks
/// that a text compiles; its image is the text.
cuda::Platform fake_platform(const FakeOptions& options = {});
/// The GPU of the latest fake_platform.
FakeGpu& fake_gpu();

/// A context of the user's own, which ctx_set_current takes as well.
cuda::Context foreign_context();

/// The library runs on a simulated GPU while this lives.
class WithFakeGpu {
 public:
  explicit WithFakeGpu(const FakeOptions& options = {}) { cuda::set_platform(fake_platform(options)); }
  ~WithFakeGpu() { cuda::set_platform({}); }
  WithFakeGpu(const WithFakeGpu&) = delete;
  FakeGpu* operator->() const { return &fake_gpu(); }
};

}  // namespace anabranch::gpu_host
