#pragma once

#include <cstdint>

#include <anabranch/io/graph.h>

#include "io/base/file.h"
#include "io/sparse/part_taker.h"

/// Lists of the links of a graph: text, or pairs of binary numbers.
namespace anabranch::io::detail {

/// A link, its ends counted from 0.
struct Edge {
  std::int64_t from = 0;
  std::int64_t to = 0;
  double weight = 1;
};

/// Gives all links of a file, part by part, in the order of the file. They are parsed on several threads, in blocks
/// that hold at most a quarter of options.memory. DataError, with line or byte, where something is no link, an end is not
/// below `nodes`, or a weight is negative or not finite. `format`: edge_text, edge_int32 or edge_int64.
void read_edges(const ReadFile& file, GraphFormat format, std::int64_t nodes, const GraphOptions& options,
                const MakeTaker<Edge>& make_taker);

}  // namespace anabranch::io::detail
