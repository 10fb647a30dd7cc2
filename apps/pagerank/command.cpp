#include <algorithm>
#include <map>
#include <memory>

#include <anabranch/io.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/byte_size.h"
#include "apps/common/exit_status.h"
#include "apps/common/input_files.h"
#include "apps/common/numbers.h"
#include "apps/common/output_files.h"
#include "apps/common/proposals.h"
#include "apps/common/quantities.h"
#include "apps/common/stopwatch.h"
#include "apps/common/terminal.h"
#include "apps/common/usage_error.h"
#include "apps/pagerank/program.h"
#include "apps/pagerank/report.h"

namespace anabranch::apps {

namespace {

/// Beside how many links leave each node: its rank, that of the round before and of the next one, and its share.
constexpr std::int64_t vectors_of_a_round = 4;
constexpr std::int64_t bytes_of_node = (vectors_of_a_round + 1) * std::int64_t{sizeof(double)};

/// UsageError where options are for another kind of file than the graph's: as asked for, or as it is found.
void check_format(const PageRankOptions& options) {
  const io::GraphFormat format =
      options.format == io::GraphFormat::by_content ? io::find_graph_format(options.graph) : options.format;
  const bool matrix = format == io::GraphFormat::npz || format == io::GraphFormat::matrix_market;
  const auto refuse = [&](const char* option, const char* is_for, const char* others) {
    throw UsageError(fmt::format("{} is for {}; {} is {} {}{}", option, is_for, options.graph,
                                 matrix ? "a matrix," : "an", io::name_of(format), others));
  };
  if (matrix && options.nodes) refuse("--nodes", "edge lists", "");
  if (matrix && options.first_node) refuse("--first-node", "edge lists", "");
  if (options.weighted && (format == io::GraphFormat::edge_int32 || format == io::GraphFormat::edge_int64))
    refuse("--weighted", "matrices, and texts with weights in a third column",
           ": pairs of numbers without weights");
}

/// What the vectors of a round leave of the bound. ResourceError where that is nothing.
std::int64_t memory_for_links(const io::GraphHeader& header, std::int64_t bound) {
  if (header.nodes >= bound / bytes_of_node)
    throw ResourceError(fmt::format(
        "{} {} {} vectors of {} each, which do not fit into a memory bound of {}; beside them the "
        "links need room for the longest list of one node",
        counted(header.nodes, "node"), header.nodes == 1 ? "needs" : "need", vectors_of_a_round + 1,
        binary_bytes(header.nodes > INT64_MAX / 8 ? INT64_MAX : header.nodes * 8), binary_bytes(bound)));
  return bound - header.nodes * bytes_of_node + header.nodes * std::int64_t{sizeof(double)};
}

template <class A>
Acc<Scalar<A>> scalar(A value) {
  return use(Scalar<A>(value));
}

template <class N>
Program<PageRank> compiled(const io::InLinks& graph, const PageRankOptions& options) {
  const PageRankChoice choice{scalar(options.damping), scalar(options.tolerance), scalar(options.iterations)};
  const auto leaving = use(graph.leaving);
  if (options.weighted)
    return compile(weighted_pagerank<N>(stream_in(graph.weighted_sources<N>()), leaving, choice));
  return compile(pagerank<N>(stream_in(graph.sources<N>()), leaving, choice));
}

/// Rounds are passes of one stream: what has passed begins anew with each.
class RoundLabel {
 public:
  std::string operator()(const Progress& progress) {
    if (progress.items <= before_ || round_ == 0) ++round_;
    before_ = progress.items;
    return fmt::format("round {}: ", round_);
  }

 private:
  std::int64_t round_ = 0, before_ = 0;
};

ExitStatus run_pagerank(const PageRankOptions& options, Interrupt& interrupt) {
  check_input("GRAPH", options.graph);
  check_outputs({{"the graph", options.graph}},
                {{"--out", options.out}, {"--trace", options.run.trace}, {"--report", options.run.report}});
  PageRankReport report;
  report.options = options;
  report.memory = options.run.memory_bound();
  const Stopwatch watch;
  check_format(options);
  io::GraphOptions reading{.format = options.format,
                           .weighted = options.weighted,
                           .first_node = options.first_node.value_or(0),
                           .nodes = options.nodes.value_or(0),
                           .memory = report.memory,
                           .threads = options.run.threads};
  {
    const Interrupt::AtOnce sorting_cannot_be_stopped(interrupt);
    const io::GraphHeader header = io::inspect_graph(options.graph, reading);
    reading.memory = memory_for_links(header, report.memory);
    try {
      report.graph = io::open_in_links(options.graph, header, reading);
    } catch (const ResourceError& e) {
      throw ResourceError(fmt::format(
          "{} (of the memory bound of {} {} are for vectors of all nodes; while links are sorted, "
          "reading may use a quarter of the rest)",
          e.what(), binary_bytes(report.memory), binary_bytes(header.nodes * bytes_of_node)));
    }
  }
  const io::InLinks& graph = report.graph;
  report.open_seconds = watch.seconds();
  report.dangling = std::count(graph.leaving.data(), graph.leaving.data() + graph.header.nodes, 0.0);
  const SourceInfo& info = graph.rows->info();
  std::int64_t entry = 0;
  for (const ScalarType type : info.arrays[0].scalars) entry += static_cast<std::int64_t>(size_of(type));
  report.bytes =
      graph.links * entry + (graph.header.nodes + 1) * (info.arrays[0].offsets == OffsetType::int32 ? 4 : 8);

  const Program<PageRank> program = graph.header.node == ScalarType::int64
                                        ? compiled<std::int64_t>(graph, options)
                                        : compiled<std::int32_t>(graph, options);
  if (options.explain) {
    print(program.explain());
    return done;
  }
  // Links that are held count in the bound, and how many leave each node is an input of the run, which counts it itself.
  const std::int64_t leaving = graph.header.nodes * std::int64_t{sizeof(double)};
  Vector<double> ranks;
  report.runs = run_repeatedly(
      options.run, report.memory - (graph.held_bytes - leaving), interrupt,
      [&](const RunOptions& run, RunReport* of) {
        ranks = Vector<double>();  // the result before makes room
        const auto [result, change, rounds] = program.run(run, of);
        ranks = result;
        report.change = change[Index{}];
        report.iterations = rounds[Index{}];
      },
      RoundLabel());
  report.runs.peak_bytes += graph.held_bytes - leaving;
  report.top = highest(ranks, options.top);
  if (!options.out.empty()) io::write_npy(options.out, ranks);
  if (graph.header.format != io::GraphFormat::npz) report.unchecked.push_back(options.graph);
  report.total_seconds = watch.seconds();
  if (options.run.json)
    print_json(report);
  else
    print(to_text(report));
  return report.converged() ? done : answer_is_no;
}

const std::map<std::string, io::GraphFormat>& edge_formats() {
  static const std::map<std::string, io::GraphFormat> all{{"text", io::GraphFormat::edge_text},
                                                          {"int32", io::GraphFormat::edge_int32},
                                                          {"int64", io::GraphFormat::edge_int64}};
  return all;
}

}  // namespace

void add_pagerank(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("pagerank", "Rank the nodes of a graph by the links that lead to them");
  auto given = std::make_shared<PageRankOptions>();
  auto edges = std::make_shared<std::string>();
  sub->add_option(
         "GRAPH", given->graph,
         ".npz (CSR) or .mtx, entry (i, j) a link from i to j; or an edge list: text, 'FROM TO' a line, "
         "or binary (.i32, .i64)")
      ->required()
      ->option_text("FILE");
  sub->add_option("--damping", given->damping,
                  "Probability that a link is followed; default: 0.85\nElse any node comes next")
      ->check(number_between(0, 1))
      ->option_text("D");
  sub->add_option(
         "--tolerance", given->tolerance,
         "Stop when a round changes all ranks together by less; 0: after --iterations; default: 1e-6")
      ->check(number_between(0, 2))
      ->option_text("T");
  sub->add_option("--iterations", given->iterations, "Stop after so many rounds; default: 100")
      ->transform(whole_number(1, 1'000'000'000))
      ->option_text("N");
  sub->add_option("--top", given->top, "Print so many nodes of the highest rank; default: 10")
      ->transform(whole_number(0, 1'000'000))
      ->option_text("K");
  sub->add_option("--out", given->out, "Write all ranks, as .npy (double)")->option_text("FILE");
  sub->add_flag("--weighted", given->weighted,
                "Follow a link as often as its weight says: a matrix's values, or the third column of a text")
      ->disable_flag_override();
  sub->add_option("--edges", *edges,
                  "GRAPH is an edge list: text, int32 or int64 (pairs, little-endian), whatever its name")
      ->check(CLI::IsMember({"text", "int32", "int64"}))
      ->option_text("KIND");
  sub->add_option("--first-node", given->first_node,
                  "Number of an edge list's first node, 0 or 1; default: 0")
      ->transform(whole_number(0, 1))
      ->check(one_of({"0", "1"}))
      ->option_text("N");
  sub->add_option("--nodes", given->nodes, "Nodes of an edge list; default: up to the greatest number")
      ->transform(whole_number(1, std::int64_t{1} << 56))
      ->option_text("N");
  const RunChoiceOptions run(*sub, "links, ranks, sorting and chunks", "nodes", given->explain);
  sub->footer(exit_statuses({{answer_is_no, "ranks have not come to rest"}, {bad_data}, {no_backend}}));
  sub->callback([given, edges, run, &chosen] {
    given->run = run.chosen({"--out", "--top"});
    if (!edges->empty()) given->format = edge_formats().at(*edges);
    check_extension("--out", given->out, {".npy"}, "ranks are written");
    chosen = [given](Interrupt& interrupt) { return run_pagerank(*given, interrupt); };
  });
}

}  // namespace anabranch::apps
