#include "support/catch.h"

#include <algorithm>
#include <random>
#include <set>

#include <anabranch/io.h>

#include "items.h"
#include "matrix_files.h"

using namespace anabranch;
using namespace io_test;

namespace {

using Edges = std::vector<std::pair<std::int64_t, std::int64_t>>;

template <class N>
std::string pairs_of(const Edges& edges) {
  std::vector<N> ends;
  for (const auto& [from, to] : edges) ends.insert(ends.end(), {static_cast<N>(from), static_cast<N>(to)});
  return raw(ends);
}

/// One node has half of the links, one link is there a thousand times.
Edges uneven(std::int64_t nodes, int count) {
  std::mt19937 random(3);
  Edges out;
  for (int i = 0; i < count; ++i)
    out.emplace_back(random() % nodes, random() % 2 == 0 ? 5 : random() % nodes);
  for (int i = 0; i < 1000; ++i) out.emplace_back(7, 9);
  return out;
}

template <class N>
std::vector<std::vector<N>> lists_of(const Edges& edges, std::int64_t nodes) {
  std::vector<std::set<N>> sets(static_cast<std::size_t>(nodes));
  for (const auto& [from, to] : edges) sets[static_cast<std::size_t>(to)].insert(static_cast<N>(from));
  std::vector<std::vector<N>> out;
  for (const auto& s : sets) out.emplace_back(s.begin(), s.end());
  return out;
}

template <class N>
std::vector<std::vector<N>> lists_of(const io::InLinks& graph) {
  std::vector<std::vector<N>> out;
  const auto source = graph.template sources<N>();
  for (const ReadItem& item : items_of(*source.erased())) out.push_back(values_of<N>(item[0].components[0]));
  return out;
}

template <class E, class F>
void fails(F f, const std::string& message) {
  CHECK_THROWS_AS(f(), E);
  CHECK_THROWS_WITH(f(), Catch::Contains(message));
}

}  // namespace

TEST_CASE("in-links: the same from memory and from a spool file, for any memory") {
  const TemporaryDirectory dir;
  const Edges edges = uneven(2000, 60'000);
  write_file(dir / "a.i64", pairs_of<std::int64_t>(edges));
  for (const std::int64_t memory : {200 << 10, 400 << 10, 2 << 20, 9 << 20, 64 << 20}) {
    INFO(memory);
    const io::GraphOptions options{
        .spool_dir = dir.path(), .memory = memory, .threads = memory <= 2 << 20 ? 3 : 0};
    io::GraphHeader header = io::inspect_graph(dir / "a.i64", options);
    CHECK(header.nodes == 2000);
    CHECK(header.entries == 61'000);
    CHECK(header.node == ScalarType::int32);
    const io::InLinks graph = io::open_in_links(dir / "a.i64", header, options);
    CHECK(graph.in_memory == (memory > 8 << 20));
    CHECK(lists_of<std::int32_t>(graph) == lists_of<std::int32_t>(edges, 2000));
    std::vector<double> leaving(2000);
    const std::set<std::pair<std::int64_t, std::int64_t>> links(edges.begin(), edges.end());
    for (const auto& [from, to] : links) ++leaving[static_cast<std::size_t>(from)];
    CHECK(graph.links == static_cast<std::int64_t>(links.size()));
    CHECK(std::vector<double>(graph.leaving.values().begin(), graph.leaving.values().end()) == leaving);
    // Numbers of nodes as graphs with more than 2^31 of them have.
    header.node = ScalarType::int64;
    CHECK(lists_of<std::int64_t>(io::open_in_links(dir / "a.i64", header, options)) ==
          lists_of<std::int64_t>(edges, 2000));
  }
  CHECK(dir.files() == 1);
}

TEST_CASE("in-links: long lines take memory, and the longest are refused, wherever they begin") {
  const TemporaryDirectory dir;
  const auto links_of = [&](std::size_t before, std::size_t length, std::int64_t memory) {
    const std::string text = "#" + std::string(before, '-') + "\n#" + std::string(length - 1, '-') + "\n0 1";
    write_file(dir / "a.txt", text);
    return io::inspect_graph(dir / "a.txt", {.spool_dir = dir.path(), .memory = memory}).entries;
  };
  for (const std::size_t before : {0, 1000, 3000, 1 << 19, (1 << 20) - 10}) {
    INFO(before);
    const std::string begins = "a.txt: the line that begins at byte " + std::to_string(before + 2);
    constexpr std::int64_t plenty = 256 << 20;
    CHECK(links_of(before, 5000, plenty) == 1);
    CHECK(links_of(before, 1 << 20, plenty) == 1);
    fails<DataError>([&] { links_of(before, (1 << 20) + 1, plenty); },
                     begins + " is longer than 1048576 bytes, the most that is read");
    if (before > 4000) continue;
    CHECK(links_of(before, 4096, 1) == 1);
    fails<ResourceError>(
        [&] { links_of(before, 4097, 1); },
        begins + " needs a larger memory bound: with this one 4096 bytes are read, 1048576 with any");
  }
}

TEST_CASE("in-links: weights are summed in the order of the file") {
  const TemporaryDirectory dir;
  write_file(dir / "a.txt", "0 1 1e16\n2 1 0.5\n0 1 1\n0 1 1\n0 2 3\n");
  for (const std::int64_t memory : {256 << 10, 64 << 20}) {
    const io::GraphOptions options{.weighted = true, .memory = memory};
    const io::InLinks graph =
        io::open_in_links(dir / "a.txt", io::inspect_graph(dir / "a.txt", options), options);
    CHECK(graph.links == 3);
    const auto source = graph.weighted_sources<std::int32_t>();
    const ReadItems items = items_of(*source.erased());
    REQUIRE(items.size() == 3);
    CHECK(values_of<std::int32_t>(items[1][0].components[0]) == std::vector<std::int32_t>{0, 2});
    CHECK(values_of<double>(items[1][0].components[1]) == std::vector<double>{1e16, 0.5});  // (1e16 + 1) + 1
    CHECK(graph.leaving[0] == 1e16 + 3);
    CHECK(graph.leaving[2] == 0.5);
  }
}

namespace {

/// All that a graph says, bit by bit.
struct Bits {
  std::vector<std::vector<std::string>> rows;
  std::vector<double> leaving;
  std::int64_t links = 0, entries = 0;
  bool operator==(const Bits&) const = default;
};
Bits bits_of(const std::string& path, const io::GraphOptions& options) {
  const io::InLinks graph = io::open_in_links(path, io::inspect_graph(path, options), options);
  Bits out;
  for (const ReadItem& item : items_of(*graph.rows)) out.rows.push_back(item[0].components);
  out.leaving.assign(graph.leaving.values().begin(), graph.leaving.values().end());
  out.links = graph.links;
  out.entries = graph.header.entries;
  return out;
}

/// The same links in every format. Node 3 has a list that is longer than a thread's share where memory is short.
void write_graphs(const TemporaryDirectory& dir, std::int64_t nodes) {
  Edges edges = uneven(nodes, 50'000);
  for (std::int64_t i = 0; i < 6'000; ++i) edges.emplace_back(3, i * 7919 % nodes);
  std::stable_sort(edges.begin(), edges.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Csr<> matrix;
  matrix.cols = nodes;
  std::string text, market = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(nodes) + " " +
                             std::to_string(nodes) + " " + std::to_string(edges.size()) + "\n";
  for (const auto& [from, to] : edges) {
    while (std::ssize(matrix.indptr) <= from)
      matrix.indptr.push_back(static_cast<std::int32_t>(matrix.indices.size()));
    const auto number = static_cast<std::int64_t>(matrix.indices.size());
    matrix.indices.push_back(static_cast<std::int32_t>(to));
    matrix.values.push_back(1.0 / static_cast<double>(1 + number % 1'000));
    const std::string weight = " 1e-" + std::to_string(number % 9) + "\n";
    text += std::to_string(from) + " " + std::to_string(to) + weight;
    market += std::to_string(from + 1) + " " + std::to_string(to + 1) + weight;
  }
  matrix.indptr.resize(static_cast<std::size_t>(nodes) + 1, static_cast<std::int32_t>(edges.size()));
  write_file(dir / "a.npz", npz(members(matrix)));
  write_file(dir / "b.npz", npz(members(matrix), true));
  write_file(dir / "a.txt", text);
  write_file(dir / "a.mtx", market);
  write_file(dir / "a.i32", pairs_of<std::int32_t>(edges));
}

}  // namespace

TEST_CASE("in-links: the same bits by any number of threads, from every format and for any memory") {
  const TemporaryDirectory dir;
  constexpr std::int64_t nodes = 3'000;
  write_graphs(dir, nodes);
  for (const char* name : {"a.npz", "b.npz", "a.txt", "a.mtx", "a.i32"})
    for (const bool weighted : {false, true}) {
      if (weighted && name == std::string("a.i32")) continue;
      io::GraphOptions options{
          .weighted = weighted, .nodes = 0, .spool_dir = dir.path(), .memory = 64 << 20, .threads = 1};
      const Bits expected = bits_of(dir / name, options);
      CHECK(expected.entries == 57'000);
      for (const int threads : {1, 2, 7, 64, 192})
        for (const std::int64_t memory : {std::int64_t{800} << 10, std::int64_t{2} << 20,
                                          std::int64_t{64} << 20, std::int64_t{16} << 30}) {
          if (memory < 1 << 20 && name == std::string("b.npz")) continue;  // decompressing takes more
          INFO(name << (weighted ? ", weighted, " : ", ") << threads << " threads, " << memory << " bytes");
          options.threads = threads;
          options.memory = memory;
          CHECK((bits_of(dir / name, options) == expected));
        }
    }
}

TEST_CASE("in-links: what is wrong with a weight is said by any number of threads") {
  const TemporaryDirectory dir;
  Csr<> matrix;
  matrix.cols = 40'000;
  for (std::int32_t i = 0; i < 40'000; ++i) {
    matrix.indices.push_back(i);
    matrix.values.push_back(i == 30'000 || i >= 39'000 ? -1.0 : 0.5);
    matrix.indptr.push_back(i + 1);
  }
  write_file(dir / "a.npz", npz(members(matrix)));
  std::string market = "%%MatrixMarket matrix coordinate real general\n40000 40000 40000\n";
  for (int i = 1; i <= 40'000; ++i)
    market += std::to_string(i) + " " + std::to_string(i) +
              (i == 30'001 || i > 39'000 ? std::string(" -1\n") : " 0.5\n");
  write_file(dir / "a.mtx", market);
  for (const int threads : {1, 2, 7, 64}) {
    INFO(threads << " threads");
    const io::GraphOptions options{
        .weighted = true, .spool_dir = dir.path(), .memory = 3 << 20, .threads = threads};
    fails<DataError>([&] { bits_of(dir / "a.npz", options); }, "entry (30000, 30000) is -1");
    fails<DataError>([&] { bits_of(dir / "a.mtx", options); }, "entry (30001, 30001) is -1");
  }
}

TEST_CASE("in-links: a file that has changed since it was inspected is refused") {
  const TemporaryDirectory dir;
  write_file(dir / "a.txt", "0 1\n1 2\n");
  const io::GraphHeader header = io::inspect_graph(dir / "a.txt");
  write_file(dir / "a.txt", "0 1\n1 2\n2 0\n");
  CHECK_THROWS_WITH(io::open_in_links(dir / "a.txt", header), Catch::Contains("has changed"));
  write_file(dir / "a.txt", "0 1\n1 3\n");
  CHECK_THROWS_WITH(io::open_in_links(dir / "a.txt", header),
                    Catch::Contains("a.txt:2: node 3 is outside 0..2"));
  // A list that grew, and matrices of more nodes: beyond what there is room for.
  std::string longer;
  for (int i = 0; i < 50'000; ++i) longer += "2 1\n";
  write_file(dir / "a.txt", longer);
  CHECK_THROWS_WITH(io::open_in_links(dir / "a.txt", header), Catch::Contains("has changed"));
  const auto market = [](int nodes) {
    const std::string n = std::to_string(nodes);
    return "%%MatrixMarket matrix coordinate pattern general\n" + n + " " + n + " 2\n1 2\n" + n + " 1\n";
  };
  write_file(dir / "a.mtx", market(3));
  const io::GraphHeader small = io::inspect_graph(dir / "a.mtx");
  write_file(dir / "a.mtx", market(100'000));
  CHECK_THROWS_WITH(io::open_in_links(dir / "a.mtx", small),
                    Catch::Contains("there are 100000 nodes, and there were 3 before: the file has changed"));
  const auto matrix = [&](std::int64_t nodes) {
    io::CsrWriter out(dir / "a.npz", nodes, ScalarType::int32, ScalarType::float64);
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(nodes));
    lengths[0] = 1;
    const std::vector column{static_cast<std::int32_t>(nodes - 1)};
    const std::vector value{1.0};
    out.append(std::span<const std::int64_t>(lengths), std::span<const std::int32_t>(column),
               std::span<const double>(value));
    out.commit();
  };
  matrix(3);
  const io::GraphHeader three = io::inspect_graph(dir / "a.npz");
  matrix(100'000);
  CHECK_THROWS_WITH(io::open_in_links(dir / "a.npz", three),
                    Catch::Contains("there are 100000 nodes, and there were 3 before: the file has changed"));
}

TEST_CASE("in-links: too little memory is said before it is taken") {
  const TemporaryDirectory dir;
  write_file(dir / "a.txt", "0 100000000\n");
  const io::GraphHeader header = io::inspect_graph(dir / "a.txt");
  CHECK_THROWS_AS(io::open_in_links(dir / "a.txt", header, {.memory = 64 << 20}), ResourceError);
  CHECK_THROWS_AS(io::open_in_links(dir / "a.txt", header, {.spool_dir = dir / "no", .memory = 801'000'000}),
                  IoError);
}

TEST_CASE("a matrix transposed: every type of values keeps its bits, for any memory") {
  const TemporaryDirectory dir;
  const Csr<std::int64_t, double> a = sample<std::int64_t, double>(3000, 70);
  write_file(dir / "a.npz", npz(members(a)));
  Csr<std::int64_t, std::int64_t> numbers;
  numbers.cols = a.cols;
  numbers.indptr = a.indptr;
  numbers.indices = a.indices;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    numbers.values.push_back(static_cast<std::int64_t>(i) + (std::int64_t{1} << 60));
  write_file(dir / "n.npz", npz(members(numbers), true));
  const auto turned = [](const auto& m) {
    std::remove_cvref_t<decltype(m)> out;
    out.cols = m.rows();
    for (std::int64_t c = 0; c < m.cols; ++c) {
      for (std::int64_t r = 0; r < m.rows(); ++r)
        for (auto k = m.indptr[static_cast<std::size_t>(r)]; k < m.indptr[static_cast<std::size_t>(r) + 1];
             ++k)
          if (m.indices[static_cast<std::size_t>(k)] == c) {
            out.indices.push_back(r);
            out.values.push_back(m.values[static_cast<std::size_t>(k)]);
          }
      out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
    }
    return out;
  };
  for (const std::int64_t memory : {2 << 20, 32 << 20}) {
    const io::OpenOptions options{.transpose = true, .spool_dir = dir.path(), .memory = memory};
    CHECK((drain<std::int64_t, double>(*io::open_csr<std::int64_t, double>(dir / "a.npz", options).erased(),
                                       a.rows()) == turned(a)));
    CHECK((drain<std::int64_t, std::int64_t>(
               *io::open_csr<std::int64_t, std::int64_t>(dir / "n.npz", options).erased(), a.rows()) ==
           turned(numbers)));
  }
  CHECK(dir.files() == 2);
}

TEST_CASE(
    "graphs: the format is found by the first bytes, else by the name's end in letters of either case") {
  const TemporaryDirectory dir;
  const auto found = [&](const char* name, const std::string& bytes) {
    write_file(dir / name, bytes);
    return io::find_graph_format(dir / name);
  };
  CHECK(found("a.txt", "0 1\n") == io::GraphFormat::edge_text);
  CHECK(found("a.i32", "") == io::GraphFormat::edge_int32);
  CHECK(found("a.I64", "0 1\n") == io::GraphFormat::edge_int64);
  CHECK(found("b.i32", "PK\x03\x04") == io::GraphFormat::npz);
  CHECK(found("b.i32", "PK\x05\x06") == io::GraphFormat::npz);
  CHECK(found("b.i32", std::string("PK\x01\x02\1\0\0\0", 8)) == io::GraphFormat::edge_int32);
  CHECK(found("c.i64", "%%MatrixMarket matrix") == io::GraphFormat::matrix_market);
  CHECK_THROWS_AS(io::find_graph_format(dir / "none"), IoError);
}
