#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <anabranch/explain.h>

/// How a program is run.
namespace anabranch {

/// Who executes. All give the same bits.
enum class Backend : std::uint8_t {
  automatic,     ///< the GPU where that is expected to be quicker, else the CPU; the report says why
  cpu,           ///< LLVM, oneTBB
  interpreter,   ///< the reference: slow, and by definition right; one thread, no chunks, no memory bound
  cuda,          ///< a GPU; BackendUnavailable without one
  cpu_and_cuda,  ///< chunks go to whichever is free
};

/// How far a stream is.
struct Progress {
  std::int64_t items = 0;
  std::optional<std::int64_t> total_items{};  ///< of the stream, where it is known beforehand
  std::int64_t chunks = 0;
  std::int64_t work = 0;  ///< elements
  std::optional<std::int64_t> total_work{};
  std::int64_t bytes = 0;  ///< that were read into chunks: 0 where these are views of memory
  double seconds = 0;      ///< since the stream began
  int stage = 0;           ///< which stream of the program: its number in RunReport::stages
};

/// The same for `run`, for a compiled program and for `stream_out`. What is given acts, or is refused with a
/// ProgramError that names it: docs/scheduler.md has the table.
struct RunOptions {
  Backend backend = Backend::cpu;
  int threads = 0;  ///< 0: all this process may use. A run on a GPU takes at least 3
  /// Bytes for chunks, inputs held whole, results. 0: no bound, or, of streams in a control group (a container) with a
  /// memory limit, what that leaves.
  std::int64_t memory = 0;
  /// The same on the GPU; 0: nine tenths of what is free there. Refused where the back end uses no GPU.
  std::int64_t gpu_memory = 0;
  /// "adaptive", "paper", "fixed:N" (items per chunk; of a live source, waits for N).
  std::string scheduler = "adaptive";
  std::stop_token stop{};  ///< request_stop ends the run with Cancelled, endless loops included
  /// Called after every chunk, once at a time, by any thread of the run. It must not wait for a source: others may not read
  /// meanwhile. In `stream_out` by the thread that takes the items, before it gets the first one of the chunk.
  std::function<void(const Progress&)> progress{};
  /// Given each line that the operation `trace` prints, without its end, one at a time in a run, on any thread; empty: they
  /// go to standard error.
  std::function<void(std::string_view)> print{};
  /// A file to write the run's timeline to, as Chrome trace events, for ui.perfetto.dev or chrome://tracing;
  /// empty: none. What it shows: docs/scheduler.md, "Timelines". Like all output files it appears whole, also
  /// when the run fails or is cancelled; IoError where it cannot be written.
  std::string trace{};
  /// A file to write a page about the run to, one HTML file with plots that needs nothing else; empty: none. What it shows:
  /// docs/scheduler.md, "Reports". The same holds for it; ProgramError where the library was built without pages.
  std::string report{};
  /// These two are written only where the run fails or is cancelled: for runs that follow one another, of which the last
  /// one is to be told of, or the one that ends them. ProgramError without either of them.
  bool only_failures = false;
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

}  // namespace anabranch
