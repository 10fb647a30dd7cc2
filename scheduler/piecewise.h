// Runs a stream piece by piece, many at once: each thread takes the next piece, reads it, computes it while it is in
// the caches of its core, and takes another one. What they give is committed in the order of the stream.
//
// In the pipeline (pipeline.h) one thread reads a chunk and all compute it. Where items can be told apart without
// reading them this is the better way: nothing that one core has read is fetched by another, and threads meet only
// where a piece is taken and where it is committed.
//
// The effects are those of a serial run, whatever goes wrong: when piece k fails, pieces before it are computed and
// committed to the end, nothing of k or after it is, and the exception of the lowest piece reaches the caller.
#pragma once

#include "scheduler/pipeline.h"

namespace anabranch::scheduler {

/// The work of a run. A slot belongs to one piece from `take` to the end of `commit`; each call sees all that those
/// before it did to the slot. `read` and `compute` of different slots run at the same time, and beside one `take` and
/// one `commit`.
struct PiecePhases {
  /// The next piece of the stream, within the target, at least one item: what is known of its size before it has been
  /// read. nullopt at the end (it is not called again). Cheap. One at a time, in the order of the stream. May throw
  /// ChunkTooBig before it has consumed anything.
  std::function<std::optional<ChunkSize>(int slot, const Target& target)> take;
  /// Reads it: its size.
  std::function<ChunkSize(int slot)> read;
  /// Without `alone` it may throw ChunkTooBig where memory is short, or it needs what is known when those before it are
  /// done, with nothing left behind. Then it is called again with `alone`: all pieces before this one have been committed,
  /// and no other one is being worked at.
  /// After `in_parts` the controller asks for smaller pieces.
  std::function<Computed(int slot, bool alone)> compute;
  /// Of the piece that was computed: the most that arrays held which computing it made and read again. Null: not known.
  std::function<int64_t(int slot)> array_bytes;
  /// One at a time, in the order of the stream.
  std::function<void(int slot)> commit;
};

/// Slots that a run on this executor can use which the calling thread drives: one where its loops run in line.
/// Most of them are for pieces that have been computed and wait for their turn: so that the others go on where
/// a thread has lost its processor for a while.
int piece_slots(const Executor& executor) noexcept;

/// Blocks until the stream ends, is cancelled or fails. Uses options.max_ring slots, but holds what has been read of no
/// more pieces than there are threads, and one: each may take that part of the memory limit. Where a device is waited for
/// (device_waits.h) it holds more, within the limit: threads that take no processor from the others read and commit
/// then. Works with as many threads as are free, with the calling one alone if it must be.
PipelineResult run_piecewise(Executor& executor, const PiecePhases& phases, const PipelineOptions& options);

}  // namespace anabranch::scheduler
