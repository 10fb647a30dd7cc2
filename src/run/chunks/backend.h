#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <anabranch/device_array.h>

#include "plan/plan.h"
#include "run/context/global_values.h"
#include "run/context/stage_output.h"
#include "run/memory/residence.h"
#include "run/sources/sources.h"
#include "scheduler/budget.h"
#include "scheduler/chunk_size.h"

/// The interface of a back end: what computes the kernels of a plan. Whoever executes plans and stages knows these
/// classes and no back end; which one runs is decided in run/backends/choose.h.
///
/// The host keeps what is the same for all of them: it reads the sources, evaluates sizes, decides how large chunks
/// are, cuts a chunk that does not fit in halves, and collects results in the order of the stream. All arrays that
/// come in and go out are in host memory; arrays of the global group may stay in a back end's own until the host reads them.
namespace anabranch::runtime {

/// What the order of work and the size of chunks depend on.
struct BackendTraits {
  /// Results are complete when `enqueue` returns; else several chunks are in flight at once, and `complete` waits.
  bool completes_at_once = true;
  /// Chunks of different slots may be enqueued by several threads at once; completes at once.
  bool side_by_side = false;
  /// Bytes that a thread finds again in a cache of its own.
  std::int64_t cache_of_thread = 0;
  /// Chunks and their results are copied once more, so a memory bound leaves half for the chunks.
  bool copies_chunks = false;
  /// Bytes of a chunk that is read into buffers beyond which it gains nothing.
  std::int64_t largest_read = std::int64_t{8} << 20;
  /// For all chunks in flight together, with what is computed from them.
  std::int64_t chunk_memory = scheduler::no_limit;
  /// Bytes of one chunk's items.
  std::int64_t largest_chunk = scheduler::no_limit;
};

/// One stage as a back end sees it. What is referred to lives as long as the StageBackend.
struct StageWork {
  const plan::StagePlan& stage;
  GlobalValues& global;
  const std::vector<std::int64_t>& uniforms;         ///< of the stage's group
  const std::vector<std::vector<ArrayInfo>>& infos;  ///< per source, of its arrays
  int slots = 1;                                     ///< chunks that are in flight at most
  std::int64_t bytes_in_memory = 0;  ///< of all items, where the sources are in memory; else 0
  bool names_items = true;           ///< in messages
};

/// Where a chunk is computed: for the report.
enum class ComputedOn : std::uint8_t { host, device };

/// The chunks of one stage. A slot holds one chunk from `enqueue` to `complete`.
///
/// One thread at a time calls `enqueue`, `make_room` and `ready`, in the order of the stream (but for
/// BackendTraits::side_by_side); one at a time, perhaps another one, `begin`, in the same order; one at a time, perhaps another one, calls `complete`, in the same order. The parts of a chunk that was cut are the exception: each is
/// completed by the thread that enqueued it, before it enqueues the next one, while another thread may be in
/// `complete` of an earlier chunk's slot. So `complete` of different slots runs at the same time, with a sink each.
class StageBackend {
 public:
  virtual ~StageBackend() = default;
  StageBackend() = default;
  StageBackend(const StageBackend&) = delete;
  StageBackend& operator=(const StageBackend&) = delete;

  /// Whether `begin` does something: then it is called when a chunk has been read.
  virtual bool begins_early() const { return false; }
  /// Begins with the chunk that the slot's next `enqueue` gets, unless memory is short: copies it, say, while another one is being
  /// enqueued. What goes wrong `enqueue` throws.
  virtual void begin(int, const std::vector<SourceChunk>&) {}
  /// Begins with these items, one chunk per source. What it still needs of them afterwards it keeps: a chunk shares
  /// its memory. A back end that completes at once computes them now and commits their results. Throws
  /// BudgetExceeded where memory is short, of the host or of its own: then nothing is left behind and nothing
  /// committed, and fewer items may be tried. A failed check of a kernel is a RunError, here or in `complete`.
  virtual ComputedOn enqueue(int slot, const std::vector<SourceChunk>& chunks, StageOutput& results) = 0;
  /// Waits for the slot's items and commits their results, unless `enqueue` did.
  virtual void complete(int slot, StageOutput& results) = 0;
  /// Memory was short for this slot's chunk: waits for what is in flight in the other slots, whose results stay to be
  /// taken by `complete`, and gives back all memory that it can. Whether the same items may be tried again.
  virtual bool make_room(int slot) = 0;
  /// The most that arrays held which the slot's latest chunk was computed by way of; 0: not known.
  virtual std::int64_t array_bytes(int) const { return 0; }
  /// Whether it would begin with a chunk now: for whoever deals chunks to several back ends.
  virtual bool ready() { return true; }
};

/// A back end at work in one run.
class RunBackend {
 public:
  virtual ~RunBackend() = default;
  RunBackend() = default;
  RunBackend(const RunBackend&) = delete;
  RunBackend& operator=(const RunBackend&) = delete;

  /// As the report names it.
  virtual std::string name() const = 0;
  virtual BackendTraits traits() const = 0;
  /// The account of memory that is not the host's; null: it has none.
  virtual const scheduler::Budget* device_memory() const { return nullptr; }

  /// Where chunks that are read had best lie; empty: anywhere.
  virtual ChunkMemory chunk_memory() { return {}; }
  /// Compiles the plan's kernels, or begins to. Called once, before all else.
  virtual void prepare() = 0;
  /// Arrays that are there before the run. Elements of some may be in a back end's memory (run/residence.h): one that does not
  /// know of them brings them to the host.
  virtual void take_inputs(std::span<const HostArray> inputs) {
    for (const HostArray& input : inputs) detail::bring_home(*input);
  }
  /// Keeps an array of the global group, which the run gives as a result, in memory of its own; null: the host has it, or
  /// is to fetch it.
  virtual std::shared_ptr<detail::Residence> keep(const HostArray&) { return nullptr; }
  /// Computes what a kernel of the global group writes. In `values` is all that it reads, and for what it writes an
  /// array with its extents and its room.
  virtual void compute_global(const plan::KernelStep& step, GlobalValues& values) = 0;
  /// The same for a rearrangement; false: the host is to do it.
  virtual bool rearrange_global(const plan::RearrangeStep&, GlobalValues&) { return false; }
  /// The host is about to read an array of the global group: what the back end has computed of it and kept comes into its
  /// memory. Thread-safe.
  virtual void fetch(const HostArray&) {}
  /// The host has written an array of the global group, where another one may have been before.
  virtual void written_by_host(const HostArray&) {}
  virtual std::unique_ptr<StageBackend> open_stage(const StageWork& work) = 0;
  /// The run has ended, perhaps before its time: what the back end knows of it goes into the report, where there is
  /// one, and into the trace.
  virtual void conclude(RunReport* report) = 0;
};

}  // namespace anabranch::runtime
