#include "io/sparse/graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/lower_case.h"
#include "io/base/ordered_workers.h"
#include "io/ragged/ragged_stream.h"
#include "io/sparse/chunk_entries.h"
#include "io/sparse/csr_layout.h"
#include "io/sparse/edge_list.h"
#include "io/sparse/entry_sorter.h"
#include "io/sparse/market_entries.h"
#include "io/sparse/matrix_market.h"
#include "io/sparse/part_taker.h"
#include "io/sparse/sorted_rows.h"
#include "io/sparse/transposed.h"
#include "io/text/text_blocks.h"

/// Graphs from files of all kinds, turned around.
namespace anabranch::io {

const char* name_of(GraphFormat format) {
  switch (format) {
    case GraphFormat::by_content:
      return "by content";
    case GraphFormat::npz:
      return "npz";
    case GraphFormat::matrix_market:
      return "Matrix Market";
    case GraphFormat::edge_text:
      return "edge list (text)";
    case GraphFormat::edge_int32:
      return "edge list (int32)";
    case GraphFormat::edge_int64:
      return "edge list (int64)";
  }
  return "?";
}

namespace detail {

namespace {

/// Does it begin as a Matrix Market file, rightly or not quite? Its reader says what is wrong.
bool has_banner(std::string_view start) {
  const std::size_t word = start.find_first_not_of("% \t\r\n");
  return word != std::string_view::npos &&
         lower_case(std::string(start.substr(word))).starts_with("matrixmarket");
}

GraphFormat format_of(const ReadFile& file) {
  std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 64)), '\0');
  file.read(0, start.data(), std::ssize(start));
  // Of an archive with members, and without: two bytes alone may be those of a node's number.
  if (start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06")) return GraphFormat::npz;
  const std::string name = lower_case(file.name());
  if (name.ends_with(".mtx") || has_banner(start)) return GraphFormat::matrix_market;
  if (name.ends_with(".i32")) return GraphFormat::edge_int32;
  if (name.ends_with(".i64")) return GraphFormat::edge_int64;
  return GraphFormat::edge_text;
}

void check_square(const std::string& name, const CsrHeader& header) {
  if (header.rows != header.cols)
    throw DataError(fmt::format("{}: a matrix of {} x {} is no graph, whose nodes are both rows and columns",
                                name, header.rows, header.cols));
}

/// As the file counts.
std::int64_t number_of_first_node(const GraphHeader& header, const GraphOptions& options) {
  if (header.format == GraphFormat::npz) return 0;
  return header.format == GraphFormat::matrix_market ? 1 : options.first_node;
}

bool is_weight(double weight) { return weight >= 0 && !std::isinf(weight); }

/// DataError unless it is finite and not negative; `base`: from where the file counts.
void check_weight(const std::string& name, double weight, std::int64_t from, std::int64_t to,
                  std::int64_t base) {
  if (!is_weight(weight))
    throw DataError(fmt::format("{}: entry ({}, {}) is {}: a weight is a finite number from 0 on", name,
                                from + base, to + base, weight));
}

void check_entries(const ReadFile& file, const GraphHeader& header, std::int64_t entries) {
  if (entries != header.entries)
    throw DataError(fmt::format("{}: there {} {}, and there were {} before: the file has changed",
                                file.name(), entries == 1 ? "is" : "are", counted(entries, "link"),
                                header.entries));
}

/// What links are sorted in was measured by the header: a file of more nodes than that would be written beyond it.
void check_nodes(const ReadFile& file, const GraphHeader& header, std::int64_t nodes) {
  if (nodes != header.nodes)
    throw DataError(fmt::format("{}: there {} {}, and there were {} before: the file has changed",
                                file.name(), nodes == 1 ? "is" : "are", counted(nodes, "node"),
                                header.nodes));
}

/// N: of numbers of nodes.
template <class N>
struct WithoutWeights {
  using E = Link<N>;
  static constexpr bool weighted = false;
  static E entry(N from, N to, double) { return {to, from}; }
  static double weight(const E&) { return 1; }
};
template <class N>
struct WithWeights {
  using E = Entry<N>;
  static constexpr bool weighted = true;
  static E entry(N from, N to, double weight) { return {to, from, weight}; }
  static double weight(const E& e) { return e.value; }
};

/// Puts the links of a file into a sorter, in order, and counts them.
template <class Kind>
class LinkReader {
  using E = typename Kind::E;
  using N = typename E::Index;

 public:
  /// `options.memory`: of which a quarter is for reading.
  LinkReader(std::shared_ptr<const ReadFile> file, const GraphHeader& header, const GraphOptions& options,
             EntrySorter<E>& sorter)
      : file_(std::move(file)), name_(file_->name()), header_(header), options_(options), sorter_(sorter) {}

  /// How many there are.
  std::int64_t read() {
    if (header_.format == GraphFormat::npz)
      read_npz();
    else if (header_.format == GraphFormat::matrix_market)
      read_market();
    else
      read_list();
    return links_;
  }

 private:
  /// Parts of a file whose links are `In`. `look` at a part beside others, `count` it in its turn.
  template <class In>
  class Taker final : public PartTaker<In> {
   public:
    using Look = std::function<void(std::span<const In>)>;
    Taker(EntrySorter<E>& sorter, const Look& look, const Look& count)
        : part_(sorter), look_(look), count_(count) {}
    void prepare(std::span<const In> links) override {
      if (look_) look_(links);
      part_.prepare(each_of(links));
    }
    void take(std::span<const In> links) override {
      count_(links);
      part_.add(each_of(links));
    }

   private:
    static auto each_of(std::span<const In> links) {
      return [links](auto&& f) {
        for (const In& link : links) f(entry_of(link));
      };
    }
    EntryPart<E> part_;
    const Look& look_;
    const Look& count_;
  };
  static E entry_of(const Edge& e) {
    return Kind::entry(static_cast<N>(e.from), static_cast<N>(e.to), e.weight);
  }
  static E entry_of(const Entry<N>& e) { return Kind::entry(e.row, e.col, e.value); }

  void read_list() {
    using Look = typename Taker<Edge>::Look;
    const Look none, count = [&](std::span<const Edge> edges) {
      links_ += std::ssize(edges);
      if (links_ > header_.entries) check_entries(*file_, header_, links_);
    };
    read_edges(*file_, header_.format, header_.nodes, options_,
               [&] { return std::make_unique<Taker<Edge>>(sorter_, none, count); });
    check_entries(*file_, header_, links_);
  }

  void read_market() {
    const MatrixMarketHeader market = read_matrix_market_header(*file_);
    check_square(name_, market.csr_header());
    check_nodes(*file_, header_, market.rows);
    check_entries(*file_, header_, market.most_stream_entries());
    using Look = typename Taker<Entry<N>>::Look;
    const Look look = [&](std::span<const Entry<N>> entries) {
      if (!Kind::weighted) return;
      for (const Entry<N>& e : entries) check_weight(name_, e.value, e.row, e.col, 1);
    };
    const Look count = [&](std::span<const Entry<N>> entries) { links_ += std::ssize(entries); };
    read_market_entries<N>(*file_, market, {options_.memory, options_.threads},
                           [&] { return std::make_unique<Taker<Entry<N>>>(sorter_, look, count); });
  }

  void read_npz() {
    CsrLayout matrix = open_npz(file_);
    check_square(name_, matrix.header);
    check_nodes(*file_, header_, matrix.header.rows);
    check_entries(*file_, header_, matrix.header.nnz.value_or(0));
    RaggedLayout layout = rows_of(std::move(matrix), anabranch::detail::scalar_type<N>, ScalarType::float64);
    if (!Kind::weighted) layout.arrays.pop_back();
    RaggedStream rows(std::move(layout), options_.memory / 4);
    // What each thread needs to convert numbers is beside what pieces take.
    const int threads = reading_threads(options_.threads, options_.memory);
    if (sorter_.deals() && rows.info().splits && threads * rows.resident_bytes() <= options_.memory / 8)
      return read_pieces(rows);
    SourceChunk chunk;
    for (std::int64_t first = 0; rows.next({.bytes = most_chunk_bytes}, chunk); first += chunk.items)
      each_link(chunk, rows.info(), first, [&](N from, N to, double weight) {
        if (Kind::weighted) check_weight(name_, weight, from, to, 0);
        ++links_;
        sorter_.add(Kind::entry(from, to, weight));
      });
  }

  /// f(from, to, weight) for each link of a chunk, whose first item are the links of node `first`.
  template <class F>
  static void each_link(const SourceChunk& chunk, const SourceInfo& info, std::int64_t first, F f) {
    const auto* columns = static_cast<const N*>(chunk.arrays[0].data[0].get());
    const double* weights =
        Kind::weighted ? static_cast<const double*>(chunk.arrays[0].data[1].get()) : nullptr;
    each_element(chunk, info.arrays[0], first, [&](std::int64_t row, std::int64_t e) {
      f(static_cast<N>(row), columns[e], Kind::weighted ? weights[e] : 1.0);
    });
  }

  /// On several threads. Pieces take an eighth of the memory, and put together by bucket at most twice as much; beside
  /// them there is one at a time that is longer, for which a quarter is left.
  void read_pieces(RaggedStream& rows) {
    const int threads = reading_threads(options_.threads, options_.memory);
    const std::int64_t most = std::min(most_chunk_bytes, options_.memory / 8 / threads);
    struct State {
      std::unique_ptr<SourcePiece> piece;
      std::int64_t first = 0;  ///< node
      SourceChunk chunk;
      std::optional<EntryPart<E>> part;
      bool right = false;  ///< all weights are known to be

      bool is_long(std::int64_t bytes) const { return piece->bytes() > bytes; }
    };
    std::int64_t next = 0;
    const auto links_of = [&](const State& s) {
      return [&](auto&& f) {
        each_link(s.chunk, rows.info(), s.first,
                  [&](N from, N to, double weight) { f(Kind::entry(from, to, weight)); });
      };
    };
    run_ordered<State>(
        threads_for(threads, header_.entries * std::int64_t{sizeof(E)} / most + 1),
        [&](State& s) {
          s.piece = rows.split({.bytes = most});
          if (!s.piece) return false;
          s.first = next;
          next += s.piece->items();
          return true;
        },
        [&](State& s) {
          if (s.is_long(most)) return;
          s.piece->read(s.chunk);
          s.right = true;
          if (Kind::weighted) links_of(s)([&](const E& e) { s.right &= is_weight(Kind::weight(e)); });
          if (!s.part) s.part.emplace(sorter_);
          s.part->prepare(links_of(s));
        },
        [&](State& s) {
          const bool is_long = s.is_long(most);
          if (is_long) s.piece->read(s.chunk);
          s.piece->complete();
          if (Kind::weighted && (is_long || !s.right))
            each_link(s.chunk, rows.info(), s.first,
                      [&](N from, N to, double weight) { check_weight(name_, weight, from, to, 0); });
          links_ += s.chunk.work;
          if (is_long)
            links_of(s)([&](const E& e) { sorter_.add(e); });
          else
            s.part->add(links_of(s));
          s.chunk = {};
          s.piece.reset();
        });
  }

  static constexpr std::int64_t most_chunk_bytes = 4 << 20;

  std::shared_ptr<const ReadFile> file_;
  const std::string& name_;
  const GraphHeader& header_;
  const GraphOptions& options_;
  EntrySorter<E>& sorter_;
  std::int64_t links_ = 0;
};

/// Where links lie while they are sorted, and afterwards, and how much memory all of it may take.
struct Places {
  bool sort_in_memory = false, keep_in_memory = false;
  std::int64_t sorting = 0;  ///< for SortMemory
};

/// `room`: for all of it; `sort_bytes`, `kept_bytes`: that links take; `threads`: as asked for.
Places places_for(std::int64_t room, std::int64_t sort_bytes, std::int64_t kept_bytes, int threads) {
  // Reading takes a quarter beside what SortMemory divides.
  const auto working = [&](std::int64_t left) { return std::min(left, reading_memory(threads)); };
  constexpr std::int64_t least = 8 << 20;
  if (sort_bytes + kept_bytes + least <= room) return {true, true, working(room - sort_bytes - kept_bytes)};
  if (kept_bytes + least <= room) return {false, true, room - kept_bytes};
  return {false, false, room};
}

template <class Kind>
InLinks turned_around(const std::shared_ptr<const ReadFile>& file, const GraphHeader& header,
                      const GraphOptions& options) {
  using E = typename Kind::E;
  using N = typename E::Index;
  const std::int64_t n = header.nodes;
  RowTypes types{header.entries > INT32_MAX ? ScalarType::int64 : ScalarType::int32, header.node, {}};
  if (Kind::weighted) types.value = ScalarType::float64;
  const std::int64_t entry_bytes = sizeof(E);
  const auto kept_entry = static_cast<std::int64_t>(sizeof(N) + (Kind::weighted ? sizeof(double) : 0));
  const std::int64_t kept_bytes =
      header.entries * kept_entry + (n + 1) * static_cast<std::int64_t>(size_of(types.offset));
  const std::int64_t leaving_bytes = n * std::int64_t{sizeof(double)};
  if (leaving_bytes >= options.memory)
    throw ResourceError(fmt::format(
        "{}: {} {} {} bytes for how many links leave each, more than the {} bytes of memory given",
        file->name(), counted(n, "node"), n == 1 ? "needs" : "need", leaving_bytes, options.memory));
  const Places places =
      places_for(options.memory - leaving_bytes, header.entries * entry_bytes, kept_bytes, options.threads);

  InLinks out{.name = file->name(), .header = header, .leaving = Vector<double>(n)};
  out.in_memory = places.keep_in_memory;
  out.held_bytes = leaving_bytes + (places.keep_in_memory ? kept_bytes : 0);

  std::shared_ptr<File> spool;
  if (!places.sort_in_memory) {
    spool = File::spool(options.spool_dir, file->name() + " (spool file)");
    check_spool_space(*spool, options.spool_dir, file->name(), n, header.entries, sizeof(E), types);
  }
  std::optional<BlockStore> store;
  spool ? store.emplace(spool) : store.emplace();
  SortedRows rows(places.keep_in_memory ? nullptr : &options.spool_dir, file->name(), types, n,
                  header.entries);
  EntrySorter<E> sorter(*store, {0, std::max<std::int64_t>(n, 1), 0, std::max<std::int64_t>(n, 1)},
                        header.entries, SortMemory(places.sorting, options.threads));
  GraphOptions reading = options;
  reading.memory = places.sorting;
  // Of a symmetric matrix it is known now.
  out.header.entries = LinkReader<Kind>(file, header, reading, sorter).read();
  double* const leaving = out.leaving.mutable_data();
  // Those that leave a node are added up in the order of the nodes that they lead to.
  sorter.finish([&](std::span<const E> links) { rows.append(links); }, {},
                [&](std::span<const E> links) {
                  for (const E& e : links) leaving[e.col] += Kind::weight(e);
                });
  rows.finish();
  // A rank is divided by it.
  const auto is_out_of_range = [](double sum) {
    return std::isinf(sum) || (sum > 0 && sum < std::numeric_limits<double>::min());
  };
  for (std::int64_t v = 0; v < n; ++v)
    if (is_out_of_range(leaving[v]))
      throw DataError(fmt::format(
          "{}: the weights of the links that leave node {} have the sum {}, {} the range of a double",
          file->name(), v + number_of_first_node(header, options), leaving[v],
          std::isinf(leaving[v]) ? "beyond" : "which is too small for"));
  out.links = rows.entries();
  out.rows = rows.source(options.memory - leaving_bytes);
  return out;
}

}  // namespace

GraphHeader inspect_graph(const std::shared_ptr<const ReadFile>& file, const GraphOptions& options) {
  const std::string& name = file->name();
  GraphHeader out;
  out.format = options.format == GraphFormat::by_content ? format_of(*file) : options.format;
  if (out.format == GraphFormat::npz) {
    const CsrHeader header = open_npz(file).header;
    check_square(name, header);
    if (options.weighted && header.value != ScalarType::float64 && header.value != ScalarType::float32)
      throw DataError(
          fmt::format("{}: values of type {}; weights are float or double (convert with A.astype('float64'))",
                      name, anabranch::name_of(header.value)));
    out.nodes = header.rows;
    out.entries = header.entries;
  } else if (out.format == GraphFormat::matrix_market) {
    const MatrixMarketHeader market = read_matrix_market_header(*file);
    check_square(name, market.csr_header());
    out.nodes = market.rows;
    out.entries = market.most_stream_entries();
  } else {
    if (options.weighted && out.format != GraphFormat::edge_text)
      throw DataError(fmt::format("{}: pairs of numbers have no weights; lines of text have them", name));
    std::int64_t last = -1;
    read_edges(*file, out.format, options.nodes > 0 ? options.nodes : most_rows, options,
               in_turn<Edge>([&](std::span<const Edge> edges) {
                 for (const Edge& e : edges) last = std::max({last, e.from, e.to});
                 out.entries += std::ssize(edges);
               }));
    out.nodes = options.nodes > 0 ? options.nodes : last + 1;
    if (out.nodes == 0)
      throw DataError(name + ": there is no link in it, which would say what nodes there are");
  }
  out.node = out.nodes > INT32_MAX ? ScalarType::int64 : ScalarType::int32;
  return out;
}

InLinks open_in_links(const std::shared_ptr<const ReadFile>& file, const GraphHeader& header,
                      const GraphOptions& options) {
  const auto turn = [&]<class N>(std::type_identity<N>) {
    return options.weighted ? turned_around<WithWeights<N>>(file, header, options)
                            : turned_around<WithoutWeights<N>>(file, header, options);
  };
  return header.node == ScalarType::int64 ? turn(std::type_identity<std::int64_t>{})
                                          : turn(std::type_identity<std::int32_t>{});
}

}  // namespace detail

GraphFormat find_graph_format(const std::string& path) {
  return detail::format_of(*detail::File::open(path));
}

GraphHeader inspect_graph(const std::string& path, const GraphOptions& options) {
  return detail::inspect_graph(detail::File::open(path), options);
}

InLinks open_in_links(const std::string& path, const GraphHeader& header, const GraphOptions& options) {
  return detail::open_in_links(detail::File::open(path), header, options);
}

}  // namespace anabranch::io
