#pragma once

#include <span>

#include "fuse/options.h"
#include "ir/staged.h"

/// Sequence fusion: every chain of map_seq, zip_with_seq, unzip_seq and produce between a source and a
/// sink becomes one function over one item, so that lifting sees a chunk as a single array program
/// and no intermediate stream exists. Terminals over the same sequence (or components of it) share one
/// pass over the source.
///
/// Bodies of loops and sides of branches become programs of their own, over what they take from this one.
///
/// Sequences, loops and branches inside the function of a sequence that depend on its item belong to the stage
/// (ir::Nested). Tuples are taken apart before (fuse/components.h). Throws ProgramError, naming both lines, where a
/// source would be read once for each item.
namespace anabranch::fuse {

/// Stages of the whole program. `parameters` are array parameters that stay free.
ir::Staged sequences(std::span<const ir::Ref> results, std::span<const ir::Ref> parameters,
                     const Options& options = {});

/// The one stage of a sequence that is streamed out by items (no sinks), after those it depends on.
ir::Staged sequences_out(const ir::Ref& sequence, const Options& options = {});

}  // namespace anabranch::fuse
