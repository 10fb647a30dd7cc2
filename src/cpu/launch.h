#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cpu/compiler.h"
#include "plan/kernel.h"

namespace anabranch::cpu {

/// What the slots of a kernel stand for in one launch.
struct Bindings {
  std::span<void* const> buffers;         ///< one per buffer slot, biased for offsets[0] != 0
  std::span<const std::int64_t> scalars;  ///< one per scalar slot
  std::int64_t items = 1;                 ///< of the chunk
  bool from_memory = false;               ///< what is read is too much for the caches: folds prefetch it
};

/// Runs piece(0) ... piece(pieces - 1), in any order and on any threads, and returns when all are done.
using ParallelFor = std::function<void(std::int64_t pieces, const std::function<void(std::int64_t)>& piece)>;
/// One after the other, on this thread.
void one_by_one(std::int64_t pieces, const std::function<void(std::int64_t)>& piece);

/// Number of output positions, all items together.
std::int64_t domain_size(const plan::Kernel& kernel, const Bindings& bindings);

/// Runs a kernel over its whole domain. The work is cut into pieces by the data alone, and long rows only at
/// the block borders of the canonical order, so that neither threads nor pieces change a bit of the result.
/// `piece_elements` overrides the size of a piece (tests).
///
/// Throws RunError for the check that failed first in the lowest piece where one did.
void launch(const plan::Kernel& kernel, const CompiledKernel& compiled, const Bindings& bindings,
            const ParallelFor& parallel_for, std::int64_t piece_elements = 0);

}  // namespace anabranch::cpu
