#pragma once

#include <span>
#include <vector>

#include "interp/bits.h"
#include "ir/node.h"
#include "run/sources/sources.h"
#include "scheduler/executor.h"

/// Results as the caller gets them: they own their elements, or are in memory that the caller gives.
namespace anabranch::runtime {

using HostArray = std::shared_ptr<detail::ArrayData>;

/// Throws ProgramError unless the memory given for results may be written, and overlaps neither an input nor
/// the memory of another result. `into`: empty, or one array for each result.
void check_given_memory(std::span<const HostArray> into, std::span<const HostArray> inputs);

/// All memory of `into`.
std::vector<WrittenMemory> written_memory(std::span<const HostArray> into);

/// Throws ProgramError where the items that a source gives are in memory that is to be written. `infos` describe
/// the arrays of each chunk.
void check_not_read(std::span<const WrittenMemory> written, std::span<const SourceChunk> chunks,
                    std::span<const std::vector<ArrayInfo>> infos);

/// Throws ResourceError unless the memory of `into` holds so many elements of this result. `more`: there may
/// be further ones.
void check_capacity(const detail::ArrayData& into, std::int64_t elements, const ir::Node& result,
                    bool more = false);

/// An array of this shape in the memory of `into`, which holds it.
HostArray in_memory_of(const detail::ArrayData& into, std::vector<std::int64_t> extents);

/// Copies all elements of `from`, on the executor's threads where there is one.
void copy_elements(scheduler::Executor* executor, const detail::ArrayData& from, const detail::ArrayData& to);

/// One thread alone reaches neither the memory's bandwidth nor that of the link to a GPU.
void copy_on_all_threads(scheduler::Executor& executor, void* to, const void* from, std::int64_t bytes);

}  // namespace anabranch::runtime
