#include "graph_peers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <vector>

#include "rmat.h"

namespace anabranch::bench {

void write_rmat_links(const std::string& file, int scale, std::uint64_t seed) {
  RmatLinks links(scale, seed);
  std::ofstream out(file, std::ios::binary);
  std::vector<std::array<std::int32_t, 2>> some(1 << 16);
  for (std::int64_t left = links.usual_count(); left > 0; left -= std::ssize(some)) {
    some.resize(static_cast<std::size_t>(std::min(left, std::ssize(some))));
    for (auto& link : some) link = links.next();
    out.write(reinterpret_cast<const char*>(some.data()), static_cast<std::streamsize>(8 * some.size()));
  }
}

double pagerank_loop(const InLinkArrays& graph, double damping, int rounds, double* ranks, double* shares,
                     int threads) {
  const std::int64_t n = graph.nodes;
  const double nodes = static_cast<double>(n);
  std::fill_n(ranks, n, 1 / nodes);
  double change = 0;
  for (int i = 0; i < rounds; ++i) {
    double dangling = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : dangling)
    for (std::int64_t v = 0; v < n; ++v) {
      const bool leaves = graph.leaving[v] > 0;
      shares[v] = leaves ? ranks[v] / graph.leaving[v] : 0;
      dangling += leaves ? 0 : ranks[v];
    }
    const double base = (1 - damping + damping * dangling) / nodes;
    change = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16384) reduction(+ : change)
    for (std::int64_t v = 0; v < n; ++v) {
      double incoming = 0;
      for (std::int32_t k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k)
        incoming += shares[graph.from[k]];
      const double rank = base + damping * incoming;
      change += std::abs(rank - ranks[v]);
      ranks[v] = rank;
    }
  }
  return change;
}

}  // namespace anabranch::bench
