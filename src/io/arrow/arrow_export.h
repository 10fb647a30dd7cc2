#pragma once

#include <memory>
#include <string>
#include <vector>

#include <anabranch/detail/arrow_abi.h>
#include <anabranch/sink.h>

/// Chunks of items as Arrow record batches.
namespace anabranch::io::detail {

/// Of batches with a column for each array: of Scalars the elements, else large lists for each dimension.
void export_schema(const std::vector<SinkArray>& arrays, const std::vector<std::string>& names,
                   ArrowSchema& out);

/// The batch shares the chunk's memory where that may be kept, else it has copies.
void export_batch(const std::vector<ArrayInfo>& infos, const SinkChunk& chunk, ArrowArray& out);

}  // namespace anabranch::io::detail
