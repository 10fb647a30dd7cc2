#include "graph_peers.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <vector>

namespace anabranch::bench {

void write_rmat_links(const std::string& file, int scale, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto nodes = std::int32_t{1} << scale;
  std::vector<std::int32_t> name(static_cast<std::size_t>(nodes));
  std::iota(name.begin(), name.end(), 0);
  std::shuffle(name.begin(), name.end(), random);
  std::ofstream out(file, std::ios::binary);
  std::vector<std::int32_t> ends(2 << 16);
  constexpr std::uint32_t unit = 1U << 16;
  for (std::int64_t left = std::int64_t{16} * nodes; left > 0;) {
    const auto links = static_cast<std::size_t>(std::min<std::int64_t>(left, 1 << 16));
    for (std::size_t l = 0; l < links; ++l) {
      std::size_t from = 0, to = 0;
      for (int bit = 0; bit < scale; ++bit) {
        const auto r = static_cast<std::uint32_t>(random() & (unit - 1));
        from = 2 * from + (r >= unit * 76 / 100);
        to = 2 * to + ((r >= unit * 57 / 100 && r < unit * 76 / 100) || r >= unit * 95 / 100);
      }
      ends[2 * l] = name[from];
      ends[2 * l + 1] = name[to];
    }
    out.write(reinterpret_cast<const char*>(ends.data()), static_cast<std::streamsize>(8 * links));
    left -= static_cast<std::int64_t>(links);
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
