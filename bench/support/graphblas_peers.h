#pragma once

#include <functional>

#include "graph_peers.h"
#include "matrices.h"

/// SuiteSparse:GraphBLAS, which copies what it is given into objects of its own, once. Both functions of what is
/// returned are empty where the benchmarks were built without it.
namespace anabranch::bench {

struct GraphBlas {
  std::function<void(int threads)> run;
  std::function<void(double* to)> copy_result;  ///< of the latest run
};

/// y = A x.
GraphBlas graphblas_spmv(const Csr& a, const double* x);

/// So many rounds of PageRank as LAGraph has it, with the rank of dangling nodes spread evenly: each adds the product of the links
/// into each node and the shares of all nodes to what everybody gets, and sums up what ranks have changed.
GraphBlas graphblas_pagerank(const InLinkArrays& graph, double damping, int rounds);

}  // namespace anabranch::bench
