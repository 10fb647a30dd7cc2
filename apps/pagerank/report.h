#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/io.h>

#include "apps/common/repeated_run.h"
#include "apps/common/run_options_cli.h"

/// What `anabranch pagerank` says of its work: docs/pagerank.md.
namespace anabranch::apps {

struct PageRankOptions {
  std::string graph;
  io::GraphFormat format = io::GraphFormat::by_content;
  bool weighted = false;
  std::optional<std::int64_t> first_node;  ///< the number of the first one in an edge list; nothing: 0
  std::optional<std::int64_t> nodes;       ///< of an edge list; nothing: up to the greatest number in it
  double damping = 0.85;
  double tolerance = 1e-6;
  std::int64_t iterations = 100;
  std::int64_t top = 10;
  std::string out;       ///< empty: ranks are not written
  bool explain = false;  ///< say what is made of the program instead of running it
  RunChoice run;
};

struct RankedNode {
  std::int64_t node = 0;  ///< from 0
  double rank = 0;
};

/// Those with the highest ranks, the highest first; of equal ones the first node.
std::vector<RankedNode> highest(const Vector<double>& ranks, std::int64_t count);

struct PageRankReport {
  PageRankOptions options;
  io::InLinks graph;
  std::int64_t dangling = 0;  ///< nodes that no link leaves
  std::int64_t bytes = 0;     ///< of the stream of links in one round
  std::int64_t memory = 0;    ///< the bound
  double open_seconds = 0;    ///< reading and sorting the links
  double total_seconds = 0;
  RepeatedRun runs;
  std::int64_t iterations = 0;
  double change = 0;  ///< of all ranks in the last round
  std::vector<RankedNode> top;
  std::vector<std::string> unchecked;

  /// Whether the iteration has come to rest; without a tolerance it is not asked for.
  bool converged() const { return options.tolerance == 0 || change < options.tolerance; }
  /// The number of the first node in the file.
  std::int64_t first_node() const;
};

/// One JSON object with a newline, to standard output piece by piece: a million nodes are no small object.
void print_json(const PageRankReport& report);
/// The nodes of the highest rank, and a few readable lines.
std::string to_text(const PageRankReport& report);

}  // namespace anabranch::apps
