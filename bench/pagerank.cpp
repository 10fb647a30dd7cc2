#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/pagerank/program.h"
#include "support/contest.h"
#include "support/graph_peers.h"
#include "support/graphblas_peers.h"
#include "support/memory.h"
#include "support/peers.h"

/// PageRank in double on R-MAT graphs, links in memory: ten rounds of the power iteration.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

constexpr int rounds = 10;
constexpr double damping = 0.85;

template <class A>
Acc<Scalar<A>> scalar(A value) {
  return use(Scalar<A>(value));
}

/// Of links that are in memory; `graph` outlives what is given.
InLinkArrays arrays_of(const io::InLinks& graph) {
  graph.rows->rewind();
  SourceChunk chunk;
  InLinkArrays out{graph.header.nodes, graph.links, nullptr, nullptr, graph.leaving.data()};
  if (graph.rows->next({}, chunk)) {
    out.offsets = static_cast<const std::int32_t*>(chunk.arrays[0].offsets.get());
    out.from = static_cast<const std::int32_t*>(chunk.arrays[0].data[0].get());
  }
  graph.rows->rewind();
  return out;
}

/// A graph, everything that its ranks need, and what every contender's result is compared with.
struct Problem {
  io::InLinks graph;
  InLinkArrays arrays;
  Buffer<double> expected, shares;
  std::unique_ptr<Program<apps::PageRank>> program;

  explicit Problem(int scale) {
    const auto folder = std::filesystem::temp_directory_path();
    const std::string file = folder / fmt::format("anabranch_bench_rmat{}_{}.i32", scale, std::rand());
    write_rmat_links(file, scale, 1);
    const io::GraphOptions options{.memory = std::int64_t{8} << 30};
    graph = io::open_in_links(file, io::inspect_graph(file, options), options);
    std::filesystem::remove(file);
    arrays = arrays_of(graph);
    expected = Buffer<double>(static_cast<std::size_t>(arrays.nodes));
    shares = Buffer<double>(static_cast<std::size_t>(arrays.nodes));
    pagerank_loop(arrays, damping, rounds, expected.data(), shares.data(), 1);
    const apps::PageRankChoice choice{scalar(damping), scalar(0.0), scalar(std::int64_t{rounds})};
    program = std::make_unique<Program<apps::PageRank>>(compile(
        apps::pagerank<std::int32_t>(stream_in(graph.sources<std::int32_t>()), use(graph.leaving), choice)));
  }
};

void add_graph(int scale) {
  add_contest(fmt::format("pagerank/rmat{}", scale), [=] {
    auto p = std::make_shared<Problem>(scale);
    auto ranks = std::make_shared<Buffer<double>>(static_cast<std::size_t>(p->arrays.nodes));
    auto ours = std::make_shared<Vector<double>>();
    const auto graphblas = graphblas_pagerank(p->arrays, damping, rounds);
    const auto right = [p](const double* result) {
      return close(result, p->expected.data(), p->arrays.nodes, 1e-12);
    };

    Contest contest;
    contest.unit = "G links/s";
    contest.amount = static_cast<double>(rounds) * static_cast<double>(p->arrays.links);
    contest.note =
        fmt::format("{:.3g} M nodes, {:.3g} M links, {} rounds", static_cast<double>(p->arrays.nodes) / 1e6,
                    static_cast<double>(p->arrays.links) / 1e6, rounds);
    for (const int threads : thread_counts()) {
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { *ours = std::get<0>(p->program->run({.threads = threads})); },
                                    [=] { return ours->size() == p->arrays.nodes && right(ours->data()); }});
      contest.contenders.push_back(
          {"GAP's loop", Role::peer, threads,
           [=] { pagerank_loop(p->arrays, damping, rounds, ranks->data(), p->shares.data(), threads); },
           [=] { return right(ranks->data()); }});
      if (graphblas.run)
        contest.contenders.push_back({"GraphBLAS", Role::peer, threads, [=] { graphblas.run(threads); },
                                      [=] {
                                        graphblas.copy_result(ranks->data());
                                        return right(ranks->data());
                                      }});
    }
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  for (const int scale : {16, 18, 20, 22}) add_graph(scale);
  return run_all(argc, argv);
}
