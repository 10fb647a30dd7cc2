#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <anabranch/export.h>

/// What a run did: as a whole, stage by stage, chunk by chunk.
namespace anabranch {

/// One chunk as it was run. Times are in seconds, from the beginning of the run.
struct ChunkRecord {
  std::int64_t number = 0;  ///< in its stage, from 0
  std::int64_t items = 0, work = 0, bytes = 0;
  /// Of its stage, this chunk included.
  std::int64_t items_so_far = 0, work_so_far = 0, bytes_so_far = 0;
  double begin = 0, end = 0;  ///< from its first byte read to its last result written
  double read_seconds = 0, compute_seconds = 0, write_seconds = 0;
  double wait_seconds = 0;  ///< for which nothing was computed before it, because it was still being read
  double utilisation =
      0;  ///< busy time of all threads / (compute time x threads); of a piece reading it counts, too
  int in_flight = 0;  ///< chunks that were under way when it was read, itself included
  /// When it was finished: bytes held of the memory bound and of the GPU's, and resident in the process (looked
  /// at every 2 ms; 0: the system does not tell).
  std::int64_t memory_bytes = 0, gpu_memory_bytes = 0, resident_bytes = 0;
  int decision = 0;         ///< of its stage's decisions: why it has this size
  std::string_view reason;  ///< of that, in a few words
};

/// What the scheduler decided: the size of chunks that follow one another.
struct ChunkDecision {
  std::int64_t first = 0, last = 0;  ///< numbers of the chunks (of those that are recorded)
  /// Limits: the first that is reached ends a chunk; nothing: none.
  std::optional<std::int64_t> items, work, bytes;
  int ring = 0;              ///< chunks that may be under way
  std::string_view reason;   ///< in a few words
  std::string_view meaning;  ///< in a sentence
  /// `adaptive`: what a chunk takes, as it knew when it decided on the first of them. 0: not known yet.
  double fixed_seconds = 0, seconds_per_work = 0;
  std::string text;  ///< all of this in a line
};

/// Of all chunks of a stage. The median is exact up to 4096 of them, and that of an even sample above.
struct Spread {
  std::int64_t least = 0, median = 0, most = 0;
};

/// A stream that is read, computed and collected (or given out) chunk by chunk. In a loop: all rounds together.
struct StageReport {
  std::string name;    ///< what its items come from: "stream_in", "produce"
  std::string place;   ///< of that in the program: "smvm.cpp:23"
  std::string source;  ///< which: a path, "range"; empty for others
  std::string scheduler;
  std::int64_t runs = 0;  ///< 1; in a loop one for each round
  std::int64_t items = 0, work = 0, bytes = 0, chunks = 0;
  std::optional<std::int64_t> total_items,
      total_work;  ///< of the stream of one run, where they are known beforehand
  Spread chunk_items, chunk_work, chunk_bytes;
  double seconds = 0;  ///< by the clock
  /// Chunks are pieces: each thread reads one, computes it and gives its results on, beside the others. Else one chunk is
  /// computed at a time, by all threads, while the next is read and the one before written.
  bool in_pieces = false;
  /// Summed over the chunks. They overlap: together they may be more than `seconds`.
  double read_seconds = 0, compute_seconds = 0, write_seconds = 0;
  double wait_seconds = 0;  ///< for which nothing was computed, because the next chunk was still being read
  double utilisation = 0;   ///< busy time of all threads in computing / (seconds x threads)
  int ring = 0;             ///< chunks that there was room for
  /// Under way when one was read; of pieces those that were not yet computed.
  double mean_in_flight = 0;
  int most_in_flight = 0;
  std::int64_t cut = 0;         ///< chunks that were cut and tried again for lack of memory
  std::int64_t gpu_chunks = 0;  ///< computed on the GPU
  std::int64_t peak_bytes = 0;  ///< the most that was held of the memory bound at the end of a recorded chunk
  /// How many chunks had their size for which reason; the commonest first.
  struct Reason {
    std::string_view reason, meaning;
    std::int64_t chunks = 0;
  };
  std::vector<Reason> reasons;
  std::vector<ChunkDecision> decisions;
  std::vector<ChunkRecord>
      records;  ///< 4096 at most: of a long stream the first 256, then evenly spaced ones
};

/// What a run did. Of one that has failed or was cancelled: what it had done by then.
struct RunReport {
  std::string error;  ///< that it ended with; empty: none
  bool cancelled = false;
  std::string backend;
  std::string backend_reason;  ///< of Backend::automatic: why this one
  int threads = 0;
  /// Summed over all passes: a stream that is read twice counts twice.
  std::int64_t items = 0, work = 0, bytes = 0, chunks = 0;
  /// Of the chunks of ragged streams those whose items turned out to be of one shape, 32 or more of them: kernels for
  /// regular arrays computed them.
  std::int64_t equal_chunks = 0;
  std::int64_t memory_bound = 0;  ///< in bytes; 0: none
  std::int64_t peak_bytes = 0;    ///< of what the memory bound counts
  std::int64_t peak_resident_bytes =
      0;               ///< of the process, up to the end of the run; 0: the system does not tell
  double seconds = 0;  ///< all of the run, compilation included; not what is written about it afterwards
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
  /// Sorts, filters, histograms and the like, one for each operation of the compiled program and chunk: made on the GPU,
  /// or by the host, to which the arrays then go, and why.
  std::int64_t gpu_rearrangements = 0, gpu_rearrangements_by_host = 0;
  std::string gpu_rearrangements_reason;
  /// Of a traced run on a GPU, by its own clock: for how long at least one copy between host and GPU was
  /// under way, at least one kernel, and both at once; from the first upload to the last download, what is
  /// held whole included. A copy or kernel that waits for another one of its kind counts as under way.
  double gpu_copy_seconds = 0, gpu_kernel_seconds = 0, gpu_both_seconds = 0;
  /// gpu_both_seconds / min(gpu_copy_seconds, gpu_kernel_seconds): 1 is all that can be; 0 also where there
  /// was no copy or no kernel.
  double gpu_overlap = 0;
  std::vector<StageReport> stages;  ///< in the order in which they ran
};

/// For a person, some ten lines a stage.
ANABRANCH_API std::string to_text(const RunReport& report);
/// As one JSON object: docs/command.md has its members. Its chunks, one by one, only if they are asked for.
ANABRANCH_API std::string to_json(const RunReport& report, bool with_chunks = false);
/// Whether this build of the library writes pages: RunOptions::report.
ANABRANCH_API bool html_reports_available();

}  // namespace anabranch
