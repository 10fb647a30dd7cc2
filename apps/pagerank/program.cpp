#include "apps/pagerank/program.h"

#include <limits>

namespace anabranch::apps {

namespace {

/// `received(links, shares)`: what a node gets through its links, where `shares` is what each node gives to a link.
template <class Links, class Received>
PageRank power_iteration(Links in_links, Acc<Vector<double>> leaving, const PageRankChoice& choice,
                         Received received) {
  const auto damping = the(choice.damping);
  const auto nodes = cast<double>(size(leaving));

  auto round = [=](Acc<Vector<double>> ranks, Acc<Scalar<double>>, Acc<Scalar<std::int64_t>> rounds) {
    auto share = [](auto rank, auto links) { return cond(links > 0.0, rank / links, 0.0); };
    auto kept = [](auto rank, auto links) { return cond(links > 0.0, 0.0, rank); };
    auto shares = zip_with(share, ranks, leaving);
    auto dangling = sum(zip_with(kept, ranks, leaving));
    auto everybody = map([=](auto d) { return (1.0 - damping + damping * d) / nodes; }, dangling);
    auto rank_of = [=](auto links) {
      return map([=](auto r) { return the(everybody) + damping * r; }, received(links, shares));
    };
    auto next = consume(elements(map_seq(rank_of, in_links)));
    auto change = sum(zip_with([](auto a, auto b) { return abs(a - b); }, next, ranks));
    return std::tuple(next, change, map([](auto r) { return r + 1; }, rounds));
  };
  auto moving = [=](auto, auto change, auto rounds) {
    return the(rounds) < the(choice.rounds) && the(change) >= the(choice.tolerance);
  };
  auto even = fill(size(leaving), 1.0 / nodes);
  return awhile(moving, round,
                std::tuple(even, unit(std::numeric_limits<double>::infinity()), unit(std::int64_t{0})));
}

}  // namespace

template <class N>
PageRank pagerank(Seq<Vector<N>> in_links, Acc<Vector<double>> leaving, const PageRankChoice& choice) {
  auto received = [](auto links, auto shares) { return sum(gather(links, shares)); };
  return power_iteration(in_links, leaving, choice, received);
}

template <class N>
PageRank weighted_pagerank(Seq<Vector<std::tuple<N, double>>> in_links, Acc<Vector<double>> leaving,
                           const PageRankChoice& choice) {
  auto received = [](auto links, auto shares) {
    auto [from, weights] = unzip(links);
    return sum(zip_with(times, weights, gather(from, shares)));
  };
  return power_iteration(in_links, leaving, choice, received);
}

template PageRank pagerank(Seq<Vector<std::int32_t>>, Acc<Vector<double>>, const PageRankChoice&);
template PageRank pagerank(Seq<Vector<std::int64_t>>, Acc<Vector<double>>, const PageRankChoice&);
template PageRank weighted_pagerank(Seq<Vector<std::tuple<std::int32_t, double>>>, Acc<Vector<double>>,
                                    const PageRankChoice&);
template PageRank weighted_pagerank(Seq<Vector<std::tuple<std::int64_t, double>>>, Acc<Vector<double>>,
                                    const PageRankChoice&);

}  // namespace anabranch::apps
