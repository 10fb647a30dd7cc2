#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <anabranch/explain.h>

/// How a program is run, and what a run reports.
namespace anabranch {

/// Who executes. All give the same bits.
enum class Backend : std::uint8_t {
  automatic,     ///< the GPU where there is one, else the CPU; the report says which, and why
  cpu,           ///< LLVM, oneTBB
  interpreter,   ///< the reference: slow, and by definition right; one thread, no chunks, no memory bound
  cuda,          ///< a GPU; BackendUnavailable without one
  cpu_and_cuda,  ///< chunks go to whichever is free
};

struct Progress {
  std::int64_t items = 0;
  std::optional<std::int64_t> total_items;
  std::int64_t chunks = 0;
};

/// The same for `run`, for a compiled program and for `stream_out`. What is given acts, or is refused with a
/// ProgramError that names it: docs/scheduler.md has the table.
struct RunOptions {
  Backend backend = Backend::cpu;
  int threads = 0;          ///< 0: all this process may use. A run on a GPU takes at least 3
  std::int64_t memory = 0;  ///< bytes for chunks, inputs held whole, results; 0: no bound
  /// The same on the GPU; 0: nine tenths of what is free there. Refused where the back end uses no GPU.
  std::int64_t gpu_memory = 0;
  /// "adaptive", "paper", "fixed:N" (items per chunk; of a live source, waits for N).
  std::string scheduler = "adaptive";
  std::stop_token stop{};  ///< request_stop ends the run with Cancelled, endless loops included
  /// Called after every chunk, once at a time. Nothing is read meanwhile, so it must not wait for a source. In
  /// `stream_out` by the thread that takes the items, before it gets the first one of the chunk.
  std::function<void(const Progress&)> progress{};
  /// Given each line that the operation `trace` prints, without its end, one at a time, on any thread; empty: they go to
  /// standard error.
  std::function<void(std::string_view)> print{};
  /// A file to write the run's timeline to, as Chrome trace events, for ui.perfetto.dev or chrome://tracing;
  /// empty: none. What it shows: docs/scheduler.md, "Timelines". Like all output files it appears whole, also
  /// when the run fails or is cancelled; IoError where it cannot be written.
  std::string trace{};
  /// What is expected of the program: as Program::require, before anything is read.
  Expect require = Expect::nothing;
};

/// How far `stream_out` reads and computes ahead of whoever takes its items: until one of these bounds is reached. Any of
/// them 0: an item is read when it is asked for. (docs/scheduler.md, "Ahead of whoever takes".)
struct ReadAhead {
  /// Items that have been read and not been taken.
  std::int64_t items = 65'536;
  /// Of these, where they are read into memory, and of their results: no chunk is begun above half of it. Results whose
  /// size only values tell may exceed it by those of a chunk. RunOptions::memory bounds all, in any case.
  std::int64_t bytes = std::int64_t{64} << 20;
  /// So long what is ahead lasts at most, at the pace at which items are taken, unless it is a single item; nor does a
  /// chunk take longer to compute, if it has several.
  double seconds = 0.1;
};

/// One chunk as it was run.
struct ChunkRecord {
  std::int64_t items = 0, work = 0, bytes = 0;
  double read_seconds = 0, compute_seconds = 0, write_seconds = 0;
  double utilisation = 0;  ///< busy time of all threads / (compute time x threads)
  std::string reason;      ///< why the scheduler chose this size
};

/// What a run did.
struct RunReport {
  std::string backend;
  std::string backend_reason;  ///< of Backend::automatic: why this one
  int threads = 0;
  /// Summed over all passes: a stream that is read twice counts twice.
  std::int64_t items = 0, work = 0, bytes = 0, chunks = 0;
  /// Of the chunks of ragged streams those whose items turned out to be of one shape, 32 or more of them: kernels for
  /// regular arrays computed them.
  std::int64_t equal_chunks = 0;
  std::int64_t peak_bytes = 0;  ///< of what the memory bound counts
  double seconds = 0;           ///< all of the run, compilation included
  /// Making kernels, or finding them on disk; 0 where this program had them. A GPU's are made when a chunk
  /// needs them, several at a time.
  double compile_seconds = 0;
  double front_seconds = 0;  ///< passes from program to plan
  double read_seconds = 0, compute_seconds = 0, write_seconds = 0;
  double utilisation = 0;
  /// The kernels that this run was the first to ask the program for: made now; made by an earlier process and
  /// found on disk; made before by this process, for another program. On a GPU each entry of a kernel counts; on
  /// the CPU code for long rows counts for itself, which is made when the first such row is met.
  int kernels_compiled = 0, kernels_from_disk = 0, kernels_cached = 0;
  std::int64_t gpu_peak_bytes = 0;  ///< of what the bound on GPU memory counts
  std::int64_t gpu_chunks = 0;      ///< chunks computed on the GPU
  /// Offsets of items whose sizes only values tell, one for each kind of shape and chunk on the GPU: made
  /// there, or by the host, to which the sizes then go first, and why.
  std::int64_t gpu_offsets = 0, gpu_offsets_by_host = 0;
  std::string gpu_offsets_reason;
  /// Of a traced run on a GPU, by its own clock: for how long at least one copy between host and GPU was
  /// under way, at least one kernel, and both at once; from the first upload to the last download, what is
  /// held whole included. A copy or kernel that waits for another one of its kind counts as under way.
  double gpu_copy_seconds = 0, gpu_kernel_seconds = 0, gpu_both_seconds = 0;
  /// gpu_both_seconds / min(gpu_copy_seconds, gpu_kernel_seconds): 1 is all that can be; 0 also where there
  /// was no copy or no kernel.
  double gpu_overlap = 0;
  std::vector<ChunkRecord>
      records;  ///< 4096 at most: of a long stream the first few hundred, then evenly spaced
};

}  // namespace anabranch
