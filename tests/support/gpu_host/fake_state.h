#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "support/gpu_host/executor.h"
#include "support/gpu_host/fake_driver.h"
#include "support/gpu_host/fake_memory.h"

/// What the simulated GPU is made of: memory, streams with the work that waits on them, a clock. The
/// functions of fake_table.h act on it.
namespace anabranch::gpu_host {

using cuda::Result;

inline constexpr Result invalid_value = 1, not_initialized = 3, invalid_device = 101, invalid_image = 200,
                        invalid_context = 201, invalid_handle = 400, not_found = 500, illegal_address = 700,
                        launch_failed = 719;

struct FakeStream;

struct FakeEvent {
  std::int64_t recorded = 0, done = 0;  ///< times; waiting is for the latest record
  FakeStream* stream = nullptr;         ///< of the latest record
  std::int64_t time_ns = 0;
  bool blocking = false;  ///< who waits for it sleeps
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
inline void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT

/// One simulated GPU, from fake_platform to the next one. Whoever calls holds `mutex`.
struct FakeState {
  explicit FakeState(const FakeOptions& o) : options(o), random(o.seed) {}

  mutable std::recursive_mutex mutex;
  FakeOptions options;
  std::mt19937_64 random;
  std::vector<std::string> violations;
  FakeMemory memory{violations}, pinned{violations};
  std::map<const char*, std::size_t> page_locked_by_user;
  std::map<std::string, int> carveouts;  ///< per entry of kernels, in percent
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
  void take_time(FakeStream& s, LogEntry& entry);
  void host_waited(const FakeStream& s) { host_ns = std::max(host_ns, s.time_ns); }
  void push(FakeStream& s, Work work) {
    if (s.queue.empty()) s.time_ns = std::max(s.time_ns, host_ns);
    s.queue.push_back(std::move(work));
  }

  bool is_there(cuda::Context context) const {
    return (context == this && contexts > 0) || context == foreign_context();
  }
  void violate(const std::string& what) { violations.push_back(what); }

  /// Counts a call of `what`; true: a test wants this one to answer `result`.
  bool fails(const std::string& what, Result& result);
  /// From now on everything but freeing answers `result`.
  void die(Result result, const std::string& why);

  bool blocked(const FakeStream& s) const {
    const Work& w = s.queue.front();
    return w.wait && w.wait->done < w.wait_for;
  }

  /// A stream's next work, and before it what that waits for.
  void run_one(FakeStream& s);
  /// Some work of any stream, if there is a seed.
  void run_some();
  /// All work of a stream: the host waits for it.
  Result finish(FakeStream& s);
  /// Both when it is asked for and when it is done.
  Result enqueue(cuda::StreamHandle handle, LogEntry entry, std::function<Result()> run);
  /// The page-locked range that this is in; of size 0: none.
  std::pair<const void*, std::size_t> page_locked_range(const void* at) const;
  /// A copy's host side: one page-locked range, or memory of which none is page-locked.
  Result check_host_range(const void* at, std::size_t bytes) const;
  /// A copy's device side, when it is asked for and when it is done.
  Result check_range(const char* what, cuda::DevicePointer at, std::size_t bytes);
};

/// The latest one; null: there has been none.
std::shared_ptr<FakeState>& fake_state();

}  // namespace anabranch::gpu_host
