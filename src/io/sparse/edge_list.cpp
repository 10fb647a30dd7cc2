#include "io/sparse/edge_list.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/little_endian.h"
#include "io/base/ordered_workers.h"
#include "io/base/shown.h"
#include "io/text/text_blocks.h"

namespace anabranch::io::detail {

namespace {

/// What blocks of either kind are parsed into.
struct ParsedEdges {
  struct Fault {
    std::int64_t record;  ///< from 0 within the block: line, or pair
    std::string why;
  };
  std::vector<Edge> edges;
  std::int64_t records = 0;
  std::optional<Fault> fault;  ///< the first; edges before it are given
};

/// What is required of a link.
struct Rules {
  std::int64_t nodes = 0;
  std::int64_t first_node = 0;
  bool weighted = false;
  bool found_by_name = false;  ///< that it is a text

  /// Empty, or why the number, as it stands in the file, is no node.
  std::string wrong_node(std::int64_t number) const {
    if (number == INT64_MAX) return "the number of a node is too large";
    if (number < first_node || number - first_node >= nodes)
      return fmt::format("node {} is outside {}..{}", number, first_node, nodes - 1 + first_node);
    return {};
  }
  std::string no_link(std::string_view line) const {
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return fmt::format(
        "a link '{}' expected, not '{}'{}", weighted ? "FROM TO WEIGHT" : "FROM TO", shown(line),
        found_by_name ? "; by its name, which ends neither in .i32 nor in .i64, this is a text" : "");
  }
};

/// Never throws on bad text, as the number of the fault's line is only known once the blocks before are counted.
void parse(const TextBlock& block, const Rules& rules, ParsedEdges& out) {
  out.edges.clear();
  out.records = 0;
  out.fault.reset();
  const auto fail = [&](std::string why) { out.fault = {out.records, std::move(why)}; };
  for (LineParser in(block); !in.done(); ++out.records) {
    if (in.end_of_line()) continue;
    if (in.peek() == '#' || in.peek() == '%') {
      in.skip_line();
      continue;
    }
    const LineParser begin = in;
    const std::int64_t from = in.index();
    const bool first = in.separated();
    const std::int64_t to = in.index();
    const bool second = in.separated() || in.is_at_end_of_line();
    if (from < 0 || to < 0 || !first || !second) return fail(rules.no_link(begin.rest_of_line()));
    for (const std::int64_t node : {from, to})
      if (std::string why = rules.wrong_node(node); !why.empty()) return fail(std::move(why));
    Edge edge{from - rules.first_node, to - rules.first_node, 1.0};
    if (rules.weighted) {
      if (!in.separated()) return fail("a weight expected as third item of the line");
      if (const char* why = in.real(edge.weight)) return fail(why);
      if (!(edge.weight >= 0) || std::isinf(edge.weight))
        return fail(fmt::format("the weight {} is not a finite number from 0 on", edge.weight));
      if (in.separated())
        in.skip_line();
      else if (!in.end_of_line())
        return fail("neither a blank nor the line's end after the weight");
    } else {
      in.skip_line();
    }
    out.edges.push_back(edge);
  }
}

template <class I>
void parse(const std::vector<unsigned char>& block, const Rules& rules, ParsedEdges& out) {
  out.edges.clear();
  out.records = 0;
  out.fault.reset();
  for (std::size_t at = 0; at < block.size(); at += 2 * sizeof(I), ++out.records) {
    const std::int64_t from = load<I>(&block[at]), to = load<I>(&block[at + sizeof(I)]);
    for (const std::int64_t node : {from, to})
      if (std::string why = rules.wrong_node(node); !why.empty()) {
        out.fault = {out.records, std::move(why)};
        return;
      }
    out.edges.push_back({from - rules.first_node, to - rules.first_node, 1.0});
  }
}

/// What a thread has parsed, and who gets it.
struct EdgesOnTheWay {
  ParsedEdges parsed;
  std::unique_ptr<PartTaker<Edge>> taker{};

  void prepare(const MakeTaker<Edge>& make_taker) {
    if (parsed.fault) return;
    if (!taker) taker = make_taker();
    taker->prepare(parsed.edges);
  }
};

void read_text(const ReadFile& file, const Rules& rules, const GraphOptions& options,
               const MakeTaker<Edge>& make_taker) {
  struct State : EdgesOnTheWay {
    TextBlock text;
  };
  const int threads = reading_threads(options.threads, options.memory);
  const std::int64_t block = text_block_bytes(options.memory, threads);
  TextBlocks text(file, 0, block);
  std::int64_t line = 1;
  run_ordered<State>(
      threads_for(threads, file.size() / block + 1), [&](State& s) { return text.next(s.text); },
      [&](State& s) {
        parse(s.text, rules, s.parsed);
        s.prepare(make_taker);
      },
      [&](State& s) {
        if (s.parsed.fault)
          throw DataError(
              fmt::format("{}:{}: {}", file.name(), line + s.parsed.fault->record, s.parsed.fault->why));
        s.taker->take(s.parsed.edges);
        line += s.parsed.records;
      });
}

template <class I>
void read_pairs(const ReadFile& file, const Rules& rules, const GraphOptions& options,
                const MakeTaker<Edge>& make_taker) {
  struct State : EdgesOnTheWay {
    std::vector<unsigned char> bytes;
  };
  constexpr std::int64_t pair = 2 * sizeof(I);
  if (file.size() % pair != 0)
    throw DataError(
        fmt::format("{}: {} {} no whole number of pairs of int{}, {} bytes each{}", file.name(),
                    counted(file.size(), "byte"), file.size() == 1 ? "is" : "are", 8 * sizeof(I), pair,
                    sizeof(I) == 8 && file.size() % 8 == 0 ? "; of pairs of int32 they are one"
                                                           : ": the file is cut off, or of another kind"));
  const int threads = reading_threads(options.threads, options.memory);
  const std::int64_t most = text_block_bytes(options.memory, threads) / pair * pair;
  std::int64_t at = 0, first = 0;
  run_ordered<State>(
      threads_for(threads, file.size() / most + 1),
      [&](State& s) {
        const std::int64_t n = std::min(most, file.size() - at);
        if (n == 0) return false;
        s.bytes.resize(static_cast<std::size_t>(n));
        file.read(at, s.bytes.data(), n);
        at += n;
        return true;
      },
      [&](State& s) {
        parse<I>(s.bytes, rules, s.parsed);
        s.prepare(make_taker);
      },
      [&](State& s) {
        if (s.parsed.fault) {
          const std::int64_t record = first + s.parsed.fault->record;
          throw DataError(fmt::format("{}: link {} (byte {}): {}", file.name(), record, record * pair,
                                      s.parsed.fault->why));
        }
        s.taker->take(s.parsed.edges);
        first += s.parsed.records;
      });
}

}  // namespace

void read_edges(const ReadFile& file, GraphFormat format, std::int64_t nodes, const GraphOptions& options,
                const MakeTaker<Edge>& make_taker) {
  const Rules rules{nodes, options.first_node, options.weighted, options.format == GraphFormat::by_content};
  if (format == GraphFormat::edge_text)
    read_text(file, rules, options, make_taker);
  else if (format == GraphFormat::edge_int32)
    read_pairs<std::int32_t>(file, rules, options, make_taker);
  else
    read_pairs<std::int64_t>(file, rules, options, make_taker);
  file.check_unchanged();
}

}  // namespace anabranch::io::detail
