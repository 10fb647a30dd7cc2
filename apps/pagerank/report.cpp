#include "apps/pagerank/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/byte_size.h"
#include "apps/common/json_output.h"
#include "apps/common/quantities.h"
#include "apps/common/run_summary.h"

namespace anabranch::apps {

namespace {

RunSummary summary(const PageRankReport& r) {
  return {r.options.run, r.runs, r.memory, "node", r.open_seconds, r.total_seconds};
}

/// What a file of this kind has.
const char* entry_of(io::GraphFormat format) {
  return format == io::GraphFormat::npz || format == io::GraphFormat::matrix_market ? "entry" : "edge";
}

/// Of a single run without what it took to compile.
double round_seconds(const PageRankReport& r) {
  const RepeatedRun& runs = r.runs;
  const double seconds = runs.seconds.size() == 1 ? std::max(runs.seconds[0] - runs.compile_seconds, 0.0)
                                                  : runs.steady_seconds();
  return r.iterations > 0 ? seconds / static_cast<double>(r.iterations) : 0;
}

std::string outcome(const PageRankReport& r) {
  const std::string rounds = counted(r.iterations, "round");
  if (r.options.tolerance == 0)
    return fmt::format("after {}, as asked for; the last one changed all ranks together by {:.3g}", rounds,
                       r.change);
  if (r.converged())
    return fmt::format("after {}: the last one changed all ranks together by {:.3g}, less than {:g}", rounds,
                       r.change, r.options.tolerance);
  return fmt::format(
      "NOT reached in {}: the last one changed all ranks together by {:.3g}, not less than {:g} "
      "(--iterations, --tolerance)",
      rounds, r.change, r.options.tolerance);
}

}  // namespace

std::vector<RankedNode> highest(const Vector<double>& ranks, std::int64_t count) {
  const auto higher = [](const RankedNode& a, const RankedNode& b) {
    return a.rank > b.rank || (a.rank == b.rank && a.node < b.node);
  };
  std::vector<RankedNode> best;  // a heap, the least of them on top
  for (std::int64_t v = 0; v < ranks.size() && count > 0; ++v) {
    const RankedNode node{v, ranks[v]};
    if (std::ssize(best) == count) {
      if (!higher(node, best.front())) continue;
      std::pop_heap(best.begin(), best.end(), higher);
      best.back() = node;
    } else {
      best.push_back(node);
    }
    std::push_heap(best.begin(), best.end(), higher);
  }
  std::sort_heap(best.begin(), best.end(), higher);
  return best;
}

std::int64_t PageRankReport::first_node() const {
  switch (graph.header.format) {
    case io::GraphFormat::matrix_market:
      return 1;
    case io::GraphFormat::by_content:
    case io::GraphFormat::npz:
      return 0;
    case io::GraphFormat::edge_text:
    case io::GraphFormat::edge_int32:
    case io::GraphFormat::edge_int64:
      return options.first_node.value_or(0);
  }
  return 0;
}

void print_json(const PageRankReport& r) {
  nlohmann::ordered_json ranking;
  const io::GraphHeader& header = r.graph.header;
  ranking["graph"] = {{"file", r.options.graph},        {"format", io::name_of(header.format)},
                      {"nodes", header.nodes},          {"entries", header.entries},
                      {"links", r.graph.links},         {"dangling", r.dangling},
                      {"weighted", r.options.weighted}, {"first_node", r.first_node()},
                      {"node", name_of(header.node)},   {"in_memory", r.graph.in_memory}};
  ranking["damping"] = r.options.damping;
  ranking["tolerance"] = r.options.tolerance;
  ranking["iterations"] = r.iterations;
  ranking["change"] = r.change;
  if (r.options.tolerance == 0)
    ranking["converged"] = nullptr;
  else
    ranking["converged"] = r.converged();
  nlohmann::ordered_json run;
  run["bytes"] = r.bytes;
  add_run(run, summary(r));
  run["round_seconds"] = round_seconds(r);
  run["links_per_second"] = per_second(r.graph.links, round_seconds(r));
  run["gb_per_second"] = per_second(r.bytes, round_seconds(r)) * 1e-9;
  add_files_and_stages(run, summary(r), r.unchecked, r.options.out);
  JsonPrinter out;
  out.members(ranking);
  out.array("top", std::ssize(r.top), [&](std::int64_t i) -> nlohmann::ordered_json {
    const RankedNode& v = r.top[static_cast<std::size_t>(i)];
    return {{"node", v.node + r.first_node()}, {"rank", v.rank}};
  });
  out.members(run);
  out.end();
}

std::string to_text(const PageRankReport& r) {
  std::string out;
  const io::GraphHeader& header = r.graph.header;
  if (!r.top.empty()) {
    std::size_t width = 4;
    for (const RankedNode& v : r.top)
      width = std::max(width, fmt::format("{}", v.node + r.first_node()).size());
    out += fmt::format("{:>{}}  rank\n", "node", width);
    for (const RankedNode& v : r.top)
      out += fmt::format("{:>{}}  {:.10g}\n", v.node + r.first_node(), width, v.rank);
    out += "\n";
  }
  const auto line = [&](const char* label, const std::string& text) { out += report_line(label, text); };
  const std::int64_t repeated = header.entries - r.graph.links;
  line("Graph", fmt::format("{}: {}, {}{}", io::name_of(header.format), counted(header.nodes, "node"),
                            counted(r.graph.links, r.options.weighted ? "weighted link" : "link"),
                            repeated > 0 ? fmt::format(" ({}, {} of them given before{})",
                                                       counted(header.entries, entry_of(header.format)),
                                                       repeated, r.options.weighted ? ": summed" : "")
                                         : ""));
  line("Dangling", r.dangling == 0
                       ? "no node: each has links that leave it"
                       : fmt::format("{} without a link that leaves: {} rank is spread evenly over all",
                                     counted(r.dangling, "node"), r.dangling == 1 ? "its" : "their"));
  line("In-links", fmt::format("turned around in {:.3f} s, {}", r.open_seconds,
                               r.graph.in_memory ? "held in memory"
                                                 : fmt::format("streamed from a spool file, {} a round",
                                                               decimal_bytes(r.bytes))));
  line("Rest", outcome(r));
  out += run_lines(summary(r));
  line("Speed", fmt::format("{:.3g} s a round, {}, {}", round_seconds(r),
                            rate_text(per_second(r.graph.links, round_seconds(r)), "link"),
                            byte_rate_text(per_second(r.bytes, round_seconds(r)))));
  return out + memory_and_file_lines(summary(r), r.unchecked, r.options.out, "not written (--out ranks.npy)");
}

}  // namespace anabranch::apps
