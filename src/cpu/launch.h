#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cpu/compiler.h"
#include "ir/run_error.h"
#include "kernel/kernel.h"

namespace anabranch::cpu {

/// What the slots of a kernel are bound to in one launch.
struct Bindings {
  std::span<void* const> buffers;         ///< one per buffer slot, biased for offsets[0] != 0
  std::span<const std::int64_t> scalars;  ///< one per scalar slot
  std::int64_t items = 1;                 ///< of the chunk
  bool from_memory = false;               ///< what is read is too much for the caches: folds prefetch it
  ir::ItemNumbers named = ir::ItemNumbers::none();  ///< the items, in messages
  const StopWord* stop = nullptr;                   ///< of the run; null: it cannot be stopped
  CacheStatistics* compiled = nullptr;  ///< what is compiled because rows are long is added, where not null
  bool no_caches = false;               ///< for tests: all that can be fetched ahead is
  int threads = 1;                      ///< that the work is cut for; where there are many, into more tasks
};

/// Runs piece(0) ... piece(pieces - 1), in any order and on any threads, and returns when all are done.
using ParallelFor = std::function<void(std::int64_t pieces, const std::function<void(std::int64_t)>& piece)>;
/// One after the other, on this thread.
void one_by_one(std::int64_t pieces, const std::function<void(std::int64_t)>& piece);

/// Allocates what a launch needs while it runs; the launch releases it when it is done.
using TakeMemory = std::function<std::shared_ptr<void>(std::int64_t bytes)>;
/// From the heap, uncounted.
std::shared_ptr<void> from_heap(std::int64_t bytes);

/// Number of output positions, all items together.
std::int64_t domain_size(const kernel::Kernel& kernel, const Bindings& bindings);

/// Runs a kernel over its whole domain. The work is cut into pieces by the data and the number of threads, long rows
/// only at the block borders of the canonical order, so that neither threads nor pieces change a bit of the result.
/// `piece_elements` overrides the size of a piece, where no other thread takes any (and in tests). A long row needs 8 bytes for each block and
/// component, and one that is scanned at most 64 such cells more: `take_memory` is asked for them once, before
/// anything is computed.
///
/// Throws RunError where checks failed: for the lowest output position at which one did, found by computing
/// that piece again in smaller and smaller parts. Throws Cancelled where the stop word was set, and what
/// `take_memory` throws.
void launch(const kernel::Kernel& kernel, const CompiledKernel& compiled, const Bindings& bindings,
            const ParallelFor& parallel_for, const TakeMemory& take_memory = from_heap,
            std::int64_t piece_elements = 0);

}  // namespace anabranch::cpu
