#include "apps/pagerank/program.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "public/agree.h"

// The program of `anabranch pagerank` beside one plain loop.
namespace anabranch::testing {
namespace {

struct Link {
  std::int64_t from, to;
  double weight = 1;
};

/// What leaves each node: its links, or their weights.
enum class Counted : std::uint8_t { links, weights };

struct Graph {
  std::int64_t nodes;
  std::vector<Link> links;

  Vector<double> leaving(Counted counted) const {
    Vector<double> out(nodes);
    for (const Link& l : links) out.set(l.from, out[l.from] + (counted == Counted::links ? 1 : l.weight));
    return out;
  }
  /// Of each node `f` of every link that leads to it.
  template <class F>
  auto in_links(F f) const {
    using Element = decltype(f(links[0]));
    std::vector<std::vector<Element>> rows(static_cast<std::size_t>(nodes));
    for (const Link& l : links) rows[static_cast<std::size_t>(l.to)].push_back(f(l));
    std::vector<Vector<Element>> out;
    for (const auto& row : rows) out.emplace_back(row);
    return stream_in(out);
  }
};

struct Choice {
  double damping = 0.85, tolerance = 0;
  std::int64_t rounds = 10;

  apps::PageRankChoice arrays() const {
    return {use(Scalar<double>(damping)), use(Scalar<double>(tolerance)), use(Scalar<std::int64_t>(rounds))};
  }
};

using Result = std::tuple<Vector<double>, Scalar<double>, Scalar<std::int64_t>>;

template <class N>
Result ranks_of(const Graph& graph, const Choice& choice) {
  const auto in_links = graph.in_links([](const Link& l) { return static_cast<N>(l.from); });
  return agree(apps::pagerank<N>(in_links, use(graph.leaving(Counted::links)), choice.arrays()));
}
template <class N>
Result weighted_ranks_of(const Graph& graph, const Choice& choice) {
  const auto in_links =
      graph.in_links([](const Link& l) { return std::tuple(static_cast<N>(l.from), l.weight); });
  return agree(apps::weighted_pagerank<N>(in_links, use(graph.leaving(Counted::weights)), choice.arrays()));
}

struct Expected {
  std::vector<double> ranks;
  double change = std::numeric_limits<double>::infinity();
  std::int64_t rounds = 0;
};

Expected by_hand(const Graph& graph, const Choice& choice, Counted counted) {
  const Vector<double> leaving = graph.leaving(counted);
  const auto n = static_cast<std::size_t>(graph.nodes);
  const auto nodes = static_cast<double>(graph.nodes);
  Expected out{std::vector<double>(n, 1 / nodes)};
  while (out.rounds < choice.rounds && out.change >= choice.tolerance) {
    double dangling = 0;
    for (std::size_t v = 0; v < n; ++v)
      if (leaving[static_cast<std::int64_t>(v)] == 0) dangling += out.ranks[v];
    std::vector<double> next(n, (1 - choice.damping + choice.damping * dangling) / nodes);
    for (const Link& l : graph.links) {
      const double weight = counted == Counted::links ? 1 : l.weight;
      if (leaving[l.from] > 0)
        next[static_cast<std::size_t>(l.to)] +=
            choice.damping * weight * out.ranks[static_cast<std::size_t>(l.from)] / leaving[l.from];
    }
    out.change = 0;
    for (std::size_t v = 0; v < n; ++v) out.change += std::abs(next[v] - out.ranks[v]);
    out.ranks = std::move(next);
    ++out.rounds;
  }
  return out;
}

/// Sums are in another order here. Ranks are parts of 1, so that errors of rounding are some 1e-16.
void check(const Result& got, const Expected& expected) {
  const auto& [ranks, change, rounds] = got;
  REQUIRE(ranks.size() == std::ssize(expected.ranks));
  double sum = 0;
  for (std::int64_t v = 0; v < ranks.size(); ++v) {
    INFO("node " << v);
    CHECK(std::abs(ranks[v] - expected.ranks[static_cast<std::size_t>(v)]) < 1e-14);
    sum += ranks[v];
  }
  CHECK(std::abs(sum - 1) < 1e-13);
  CHECK(std::abs(change[0] - expected.change) < 1e-14);
  CHECK(rounds[0] == expected.rounds);
}

/// Two links from 0 to 2, links of 3 and 4 to themselves, of 4 that one alone; nothing leaves 7 and 8, and nothing leads to 8. All
/// weights of what leaves 6 are zero.
const Graph awkward{9,
                    {{0, 1, 2},
                     {0, 2, 0.5},
                     {0, 2, 1.5},
                     {1, 2},
                     {2, 0, 3},
                     {3, 3, 0.25},
                     {3, 2},
                     {4, 4},
                     {5, 0},
                     {5, 1, 0},
                     {5, 6, 2},
                     {6, 5, 0},
                     {6, 7, 0}}};

/// Few nodes have most of the links, many have none.
Graph random_graph(std::int64_t nodes, std::int64_t links) {
  Graph out{nodes, {}};
  for (std::int64_t i = 0; i < links; ++i) {
    const std::uint64_t bits = mixed(static_cast<std::uint64_t>(i));
    const auto any = [&](int shift) { return static_cast<std::int64_t>(bits >> shift & 0xffff) % nodes; };
    out.links.push_back({any(0), any(16) * any(32) / nodes, static_cast<double>(bits >> 61) / 4});
  }
  return out;
}

/// All others link to node 0.
Graph star(std::int64_t nodes) {
  Graph out{nodes, {}};
  for (std::int64_t v = 1; v < nodes; ++v) out.links.push_back({v, 0});
  return out;
}

}  // namespace

TEST_CASE("pagerank: dangling nodes, links to oneself and such that are there twice") {
  for (const Choice& choice : {Choice{}, Choice{.damping = 0.5, .tolerance = 1e-6, .rounds = 1000},
                               Choice{.damping = 0, .rounds = 2}, Choice{.rounds = 0}}) {
    INFO("damping " << choice.damping << ", " << choice.rounds << " rounds at most");
    const Expected expected = by_hand(awkward, choice, Counted::links);
    CHECK((choice.tolerance == 0) == (expected.rounds == choice.rounds));
    if (choice.rounds > 0) {
      check(ranks_of<std::int32_t>(awkward, choice), expected);
    } else {
      const auto [ranks, change, rounds] = ranks_of<std::int32_t>(awkward, choice);
      CHECK(ranks == Vector<double>(9, 1.0 / 9));
      CHECK(std::isinf(change[0]));
      CHECK(rounds[0] == 0);
    }
  }
}

TEST_CASE("pagerank: weights, some of which are zero") {
  for (const Choice& choice : {Choice{}, Choice{.damping = 0.5, .tolerance = 1e-6, .rounds = 1000}})
    check(weighted_ranks_of<std::int32_t>(awkward, choice), by_hand(awkward, choice, Counted::weights));
}

TEST_CASE("pagerank: one node without links has all of the rank") {
  const Result got = ranks_of<std::int32_t>({1, {}}, {.tolerance = 1e-9});
  CHECK(std::get<0>(got) == Vector<double>{1.0});
  CHECK(std::get<1>(got)[0] == 0);
  CHECK(std::get<2>(got)[0] == 1);
}

TEST_CASE("pagerank: where nothing links all nodes are alike") {
  const Graph graph{5, {}};
  const Choice choice{.rounds = 3};
  const Result got = ranks_of<std::int32_t>(graph, choice);
  check(got, by_hand(graph, choice, Counted::links));
  for (const double rank : std::get<0>(got)) CHECK(rank == std::get<0>(got)[0]);
}

TEST_CASE("pagerank: rows of many links") {
  const Choice choice{.rounds = 4};
  for (const Graph& graph : {random_graph(70, 600), star(301)}) {
    INFO(graph.nodes << " nodes");
    check(ranks_of<std::int32_t>(graph, choice), by_hand(graph, choice, Counted::links));
  }
}

TEST_CASE("pagerank: numbers of nodes of 64 bits, weights of one", "[once]") {
  Graph graph = random_graph(70, 600);
  const Choice choice{.rounds = 6};
  check(weighted_ranks_of<std::int64_t>(graph, choice), by_hand(graph, choice, Counted::weights));
  const Result narrow = ranks_of<std::int32_t>(graph, choice);
  check(narrow, by_hand(graph, choice, Counted::links));
  // The same bits: a product with one is exact, and sums are in one order.
  for (Link& l : graph.links) l.weight = 1;
  for (const Result& other :
       {ranks_of<std::int64_t>(graph, choice), weighted_ranks_of<std::int32_t>(graph, choice)}) {
    require_same(std::get<0>(other), std::get<0>(narrow));
    require_same(std::get<1>(other), std::get<1>(narrow));
  }
}

}  // namespace anabranch::testing
