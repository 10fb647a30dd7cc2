#pragma once

#include <cstdint>
#include <string>

/// Graphs, and the loop that one writes by hand over them.
namespace anabranch::bench {

/// 16 links a node of an R-MAT graph (rmat.h), as pairs of int32 in a file.
void write_rmat_links(const std::string& file, int scale, std::uint64_t seed);

/// The links into each node, in memory.
struct InLinkArrays {
  std::int64_t nodes = 0, links = 0;
  const std::int32_t* offsets = nullptr;
  const std::int32_t* from = nullptr;
  const double* leaving = nullptr;
};

/// So many rounds of PageRank by pulling, nodes dealt to threads in turn: the loop of the GAP benchmark's pr_spmv (Beamer,
/// Asanović, Patterson 2015), in double, and with the rank of dangling nodes spread evenly. `shares` is memory
/// for a number a node; the ranks are in `ranks` afterwards. Gives the sum of changes of the last round.
double pagerank_loop(const InLinkArrays& graph, double damping, int rounds, double* ranks, double* shares,
                     int threads);

}  // namespace anabranch::bench
