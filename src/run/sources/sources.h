#pragma once

#include <memory>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/source.h>

/// Sources that the library makes itself, and parts of what sources give.
namespace anabranch::runtime {

/// Items 0, 1, ..., count - 1, each the scalar array holding its number. Unless these are stored, chunks have a null pointer in
/// their place: who needs them goes by SourceChunk::first.
std::shared_ptr<SourceBase> make_counter(std::int64_t count, bool stored);
/// The sub-arrays of `array` along its outermost dimension, as views.
std::shared_ptr<SourceBase> make_rows(std::shared_ptr<detail::ArrayData> array);

/// Throws RunError if a chunk is not what the source declared; kernels rely on it.
void check_chunk(const SourceInfo& info, const SourceChunk& chunk);
[[noreturn]] void raise_wrong_items(const SourceInfo& info, std::int64_t given, std::int64_t most);

/// Items [begin, end) of a chunk, sharing its memory. `infos` describe the chunk's arrays.
SourceChunk slice(const SourceChunk& chunk, const std::vector<ArrayInfo>& infos, std::int64_t begin,
                  std::int64_t end);

}  // namespace anabranch::runtime
