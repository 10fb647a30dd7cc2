// Decides how large the next chunk is. A pure state machine: numbers in, numbers out, no clock and no thread, so
// that it is tested against simulated devices whose optimum is known. docs/scheduler.md has the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "scheduler/chunk_size.h"
#include "scheduler/policy.h"

namespace anabranch::scheduler {

/// Wall time of one chunk in each phase. `wait` is what the driver waited for the chunk to be read.
struct PhaseTimes {
  int64_t read = 0;
  int64_t wait = 0;
  int64_t compute = 0;
  int64_t write = 0;
};

/// A finished chunk.
struct Observation {
  ChunkSize size{};
  Target target{};  ///< what it was read with: chunks in flight still follow older decisions
  PhaseTimes ns{};
  double utilisation = 1;   ///< busy thread time / (wall time * concurrency) while it was computed, 0..1
  int64_t array_bytes = 0;  ///< of a piece: the most that arrays held which computing it made and read again
  bool device = false;      ///< of a piece: reading or committing waits for a device, and other threads do it
};

enum class Reason {
  fixed,           ///< the user chose the size
  live,            ///< the source is live: one item, or what has come
  start,           ///< nothing known yet
  underused,       ///< paper: utilisation below 80 %
  cost_falls,      ///< paper: time per item fell: grow
  cost_rises,      ///< paper: time per item rose: shrink
  cost_equal,      ///< paper: time per item equal within 3 %
  explore,         ///< adaptive: the cost model needs other sizes
  one_item,        ///< adaptive: it would, but one item is larger than what may be tried
  fixed_cost,      ///< adaptive: fixed costs are down to their share at this size
  source_bound,    ///< adaptive: reading is the bottleneck; a larger chunk would gain nothing
  sink_bound,      ///< adaptive: writing is the bottleneck
  measured_worse,  ///< adaptive: larger chunks were measured to cost more per unit of work
  cache,           ///< adaptive: a larger chunk would leave the cache of the core that computes it
  time_cap,        ///< adaptive: a larger chunk would take longer than the longest allowed
  memory_cap,      ///< a larger chunk would not fit the memory
  too_big,         ///< a chunk of the former size failed for lack of memory
  hold,            ///< adaptive: a better size is known, but within the hysteresis
  rest,            ///< adaptive: the end is near, the rest is cut into equal parts
  tail,            ///< adaptive: the last chunk, all that is left
};
inline constexpr std::size_t reasons = static_cast<std::size_t>(Reason::tail) + 1;
const char* to_string(Reason reason) noexcept;
/// A sentence for those who do not know the policies.
const char* meaning_of(Reason reason) noexcept;

struct Decision {
  Target target{};
  int ring = 1;  ///< chunks in flight that are useful
  Reason reason = Reason::start;
  /// adaptive: the model behind it, of the phase that is the bottleneck. Zero while unknown.
  double fixed_ns = 0;
  double ns_per_work = 0;
};
/// One line for a person: the target, the reason and the model.
std::string describe(const Decision& decision);

struct ControllerConfig {
  /// For all chunks in flight together; a slot gets its ring'th part.
  int64_t memory_limit = no_limit;
  int max_ring = 4;
  /// Whether reading and writing run beside computing, or in line with it.
  bool read_overlaps = true;
  bool write_overlaps = true;
  /// The whole stream, where it is known before it is read.
  std::optional<ChunkSize> total{};
  /// Cancellation acts between chunks, so none may be longer than this.
  int64_t max_chunk_ns = 100'000'000;
  /// Computing a chunk writes what it reads again, so that small chunks are worth something though nothing overlaps:
  /// they stay in the caches.
  bool reads_again = false;
  /// So many chunks are read and computed side by side, each by one thread (piecewise.h); 1: all threads compute one.
  int workers = 1;
  /// Bytes of a chunk that stay in the cache of the thread that reads and computes it; 0: it has no such thread.
  int64_t cache_bytes = 0;
  /// adaptive: first chunk, in units of work.
  int64_t start_work = 64 * 1024;
};

/// What one slot of the ring may hold.
int64_t slot_memory(const ControllerConfig& config) noexcept;

/// What a chunk costs the stream: the longest of the phases that run beside each other, where those that run
/// in line with computing count as one with it.
double phase_cost(const ControllerConfig& config, const PhaseTimes& ns) noexcept;

/// What a controller has learned of a stream, for the next run of the same one.
class Learned {
 public:
  virtual ~Learned() = default;
};

class Controller {
 public:
  virtual ~Controller() = default;
  /// The target for the next chunk, when `so_far` has been read already.
  virtual Decision next(const ChunkSize& so_far) = 0;
  /// Tells about a finished chunk.
  virtual void observe(const Observation& observation) = 0;
  /// Tells that a chunk failed for lack of memory.
  virtual void too_big(const ChunkSize& tried) = 0;
  /// Null: nothing that another run could use.
  virtual std::shared_ptr<const Learned> learned() const { return nullptr; }
};

/// `learned`: by one of the same policy, in an earlier run; or null.
std::unique_ptr<Controller> make_controller(const Policy& policy, const ControllerConfig& config,
                                            const std::shared_ptr<const Learned>& learned = nullptr);

}  // namespace anabranch::scheduler
