#pragma once

#include <cstdint>
#include <tuple>

#include <anabranch/anabranch.h>

/// The program that the command `anabranch pagerank` runs: the power iteration over the links that lead into each node,
/// whether they lie in memory or stream by from a disk, once a round. Written as any user would write it; instantiated for
/// int32 and int64 numbers of nodes.
namespace anabranch::apps {

/// What may be chosen. Arrays of rank 0, so that a compiled program serves all choices.
struct PageRankChoice {
  Acc<Scalar<double>> damping;       ///< d: with this probability one of the links is followed
  Acc<Scalar<double>> tolerance;     ///< rounds end when the sum of all changes of ranks is less
  Acc<Scalar<std::int64_t>> rounds;  ///< or after so many
};

/// The ranks, the sum of their changes in the last round, the number of rounds.
using PageRank = std::tuple<Acc<Vector<double>>, Acc<Scalar<double>>, Acc<Scalar<std::int64_t>>>;

/// Item v of `in_links`: the nodes that link to node v. `leaving`: how many links leave each node. Each link is as likely
/// as the others of its node; who is at a node without links goes on to any node, all alike.
template <class N>
PageRank pagerank(Seq<Vector<N>> in_links, Acc<Vector<double>> leaving, const PageRankChoice& choice);

/// The same where links have weights: (node, weight), and `leaving` their sums. A link is as likely as its weight says.
template <class N>
PageRank weighted_pagerank(Seq<Vector<std::tuple<N, double>>> in_links, Acc<Vector<double>> leaving,
                           const PageRankChoice& choice);

}  // namespace anabranch::apps
