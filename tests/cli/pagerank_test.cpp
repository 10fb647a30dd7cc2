#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "command.h"
#include "refused.h"
#include "run_json.h"
#include "support/page_file.h"

using namespace cli_test;
using namespace std::chrono_literals;

namespace {

struct Link {
  int from, to;
  double weight = 1;
  friend bool operator<(const Link& a, const Link& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  }
};
using Links = std::vector<Link>;

/// Nodes 10 and 11 have no links that leave; no link leads to 7, 8, 9, 11; node 3 links to itself.
const Links small{{0, 1, 0},   {0, 2, 1},  {1, 2, 2},   {2, 0, .5}, {3, 2, 1.5}, {3, 3, 0}, {4, 1, 1},
                  {4, 5, 2},   {5, 4, .5}, {6, 2, 1.5}, {7, 4, 0},  {8, 0, 1},   {8, 1, 2}, {8, 2, .5},
                  {8, 3, 1.5}, {8, 4, 0},  {9, 6, 1},   {1, 6, 2},  {6, 10, .5}};

// networkx 3.6.1, nx.pagerank(g, alpha, tol=1e-16, max_iter=10000) of a DiGraph.
const std::vector<double> networkx_85{0.2202103527263761,   0.14885696189693803, 0.23436830016982751,
                                      0.036517039273083265, 0.08063591624989491, 0.05221667259596843,
                                      0.09646506395726047,  0.01794640818976314, 0.01794640818976314,
                                      0.01794640818976314,  0.05894406037159884, 0.01794640818976314};
const std::vector<double> networkx_50{0.12736081696596932, 0.11099828831703848, 0.1522817604224085,
                                      0.06829324900635353, 0.11175258928312404, 0.07450172618874931,
                                      0.0975949403812121,  0.04656357886796832, 0.04656357886796832,
                                      0.04656357886796832, 0.07096231396327134, 0.04656357886796832};
const std::vector<double> networkx_weighted{0.3262071746356806,   0.03947110872541219,  0.3606659792209188,
                                            0.021068009259712278, 0.059915938249011993, 0.0507396233820462,
                                            0.047831649200704734, 0.01678725837427273,  0.01678725837427273,
                                            0.01678725837427273,  0.026951483829422487, 0.01678725837427273};

std::string text_of(const Links& links, bool weights = false, int first = 0) {
  std::string text = "# from to\n% and a comment\n\n";
  for (const Link& l : links) {
    text += std::to_string(l.from + first) + (l.from % 2 ? "\t" : " ") + std::to_string(l.to + first);
    if (weights) text += " " + std::to_string(l.weight);
    text += "\n";
  }
  return text;
}

template <class I>
std::string pairs_of(const Links& links) {
  std::vector<I> ends;
  for (const Link& l : links) ends.insert(ends.end(), {static_cast<I>(l.from), static_cast<I>(l.to)});
  return io_test::raw(ends);
}

template <class I, class T>
std::string npz_of(Links links, int nodes, bool compressed = false) {
  std::stable_sort(links.begin(), links.end(), [](const Link& a, const Link& b) { return a.from < b.from; });
  io_test::Csr<I, T> m;
  m.cols = nodes;
  for (int v = 0; v < nodes; ++v) {
    for (const Link& l : links)
      if (l.from == v) {
        m.indices.push_back(static_cast<I>(l.to));
        m.values.push_back(static_cast<T>(l.weight));
      }
    m.indptr.push_back(static_cast<I>(m.indices.size()));
  }
  return io_test::npz(io_test::members(m), compressed);
}

std::string market_of(const Links& links, int nodes) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(nodes) + " " +
                     std::to_string(nodes) + " " + std::to_string(links.size()) + "\n";
  for (const Link& l : links)
    text +=
        std::to_string(l.from + 1) + " " + std::to_string(l.to + 1) + " " + std::to_string(l.weight) + "\n";
  return text;
}

/// One plain loop: so many rounds.
std::vector<double> rounds_of(const Links& links, int nodes, int rounds, double damping = 0.85,
                              bool weighted = false) {
  const auto n = static_cast<std::size_t>(nodes);
  std::map<std::pair<int, int>, double> weight;
  for (const Link& l : links) {
    double& w = weight[{l.from, l.to}];
    w = weighted ? w + l.weight : 1;
  }
  std::vector<double> leaving(n), ranks(n, 1.0 / nodes);
  for (const auto& [link, w] : weight) leaving[static_cast<std::size_t>(link.first)] += w;
  for (int i = 0; i < rounds; ++i) {
    double dangling = 0;
    for (std::size_t v = 0; v < n; ++v)
      if (leaving[v] == 0) dangling += ranks[v];
    std::vector<double> next(n, (1 - damping + damping * dangling) / nodes);
    for (const auto& [link, w] : weight) {
      const auto from = static_cast<std::size_t>(link.first);
      if (leaving[from] > 0)
        next[static_cast<std::size_t>(link.second)] += damping * ranks[from] / leaving[from] * w;
    }
    ranks = next;
  }
  return ranks;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

Links random_links(int nodes, int count, unsigned seed) {
  std::mt19937 random(seed);
  Links out;
  for (int i = 0; i < count; ++i) {
    // Few nodes have most of the links.
    const auto from = static_cast<int>(random() % static_cast<unsigned>(nodes));
    const auto to =
        static_cast<int>((random() % static_cast<unsigned>(nodes)) *
                         (random() % static_cast<unsigned>(nodes)) / static_cast<unsigned>(nodes));
    out.push_back({from, to, static_cast<double>(random() % 8) / 4});
  }
  return out;
}

struct Folder : TemporaryDirectory {
  /// Runs it over this file with `--out`; gives the ranks.
  std::vector<double> ranks(const std::string& file, const std::vector<std::string>& more, int status = 0) {
    std::vector<std::string> arguments{"pagerank", *this / file, "--out", *this / "ranks.npy"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome o = command(arguments, {.environment = {"TMPDIR=" + path()}});
    INFO(o.err);
    INFO(file);
    REQUIRE(o.status == status);
    CHECK(o.err.empty());
    auto out = npy_vector<double>(*this / "ranks.npy");
    std::filesystem::remove(*this / "ranks.npy");
    return out;
  }
  void write(const std::string& name, const std::string& bytes) { io_test::write_file(*this / name, bytes); }
};

const std::vector<std::string> to_rest{"--tolerance", "1e-15", "--iterations", "1000"};
std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

TEST_CASE("pagerank: as networkx, from every kind of file") {
  Folder dir;
  dir.write("a.txt", text_of(small));
  dir.write("one.txt", text_of(small, false, 1));
  dir.write("crlf.txt",
            "0 1\r\n0 2 7 whatever\r\n1 2\r\n2 0\r\n3 2\r\n3 3\r\n4 1\r\n4 5\r\n5 4\r\n6 2\r\n7 4\r\n8 0\r\n"
            "8 1\r\n8 2\r\n8 3\r\n8 4\r\n9 6\r\n1 6\r\n 6  10 ");
  dir.write("a.i32", pairs_of<std::int32_t>(small));
  dir.write("a.i64", pairs_of<std::int64_t>(small));
  dir.write("a.bin", pairs_of<std::int64_t>(small));
  dir.write("a.npz", npz_of<std::int32_t, double>(small, 12));
  dir.write("b.npz", npz_of<std::int64_t, float>(small, 12, true));
  dir.write("a.mtx", market_of(small, 12));
  const std::vector<std::pair<std::string, std::vector<std::string>>> files{
      {"a.txt", {"--nodes", "12"}},
      {"one.txt", {"--nodes", "12", "--first-node", "1"}},
      {"crlf.txt", {"--nodes", "12"}},
      {"a.i32", {"--nodes", "12"}},
      {"a.i64", {"--nodes", "12"}},
      {"a.bin", {"--nodes", "12", "--edges", "int64"}},
      {"a.npz", {}},
      {"b.npz", {}},
      {"a.mtx", {}}};
  std::vector<double> first;
  for (const auto& [file, options] : files) {
    const auto ranks = dir.ranks(file, with(to_rest, options));
    CHECK(distance(ranks, networkx_85) < 1e-15);
    if (first.empty()) first = ranks;
    CHECK(ranks == first);  // the same bits
    CHECK(distance(dir.ranks(file, with(with(to_rest, options), {"--damping", "0.5"})), networkx_50) < 1e-15);
  }
}

TEST_CASE("pagerank --weighted: as networkx; a node whose weights are zero is dangling") {
  Folder dir;
  dir.write("a.txt", text_of(small, true));
  // Further columns say when a link was made, for example.
  std::string dated;
  std::istringstream lines(text_of(small, true));
  for (std::string line; std::getline(lines, line);)
    dated += line + (line.empty() || line[0] == '#' || line[0] == '%' ? "\n" : "\t1293836400 x\n");
  dir.write("dated.txt", dated);
  dir.write("a.npz", npz_of<std::int32_t, double>(small, 12));
  dir.write("f.npz", npz_of<std::int64_t, float>(small, 12, true));
  dir.write("a.mtx", market_of(small, 12));
  std::vector<double> first;
  for (const std::string file : {"a.txt", "dated.txt", "a.npz", "f.npz", "a.mtx"}) {
    auto options = with(to_rest, {"--weighted"});
    if (file.ends_with(".txt")) options = with(options, {"--nodes", "12"});
    const auto ranks = dir.ranks(file, options);
    CHECK(distance(ranks, networkx_weighted) < 1e-15);
    if (first.empty()) first = ranks;
    CHECK(ranks == first);
  }
  const auto report = command({"pagerank", dir / "a.npz", "--weighted", "--json"}).json();
  CHECK(report["graph"]["dangling"] == 3);
  CHECK(report["graph"]["links"] == 19);
}

TEST_CASE("pagerank: links that are given several times, zeros, symmetric matrices") {
  Folder dir;
  Links doubled = small;
  doubled.insert(doubled.end(), {{8, 2, .25}, {0, 1, 3}, {8, 2, .25}});
  dir.write("a.txt", text_of(doubled, true));
  dir.write("a.npz", npz_of<std::int32_t, double>(doubled, 12));
  dir.write("a.mtx", market_of(doubled, 12));
  for (const std::string file : {"a.txt", "a.npz", "a.mtx"}) {
    INFO(file);
    const std::vector<std::string> nodes =
        file == "a.txt" ? std::vector<std::string>{"--nodes", "12"} : std::vector<std::string>{};
    // One link, without weights; summed, with them.
    CHECK(distance(dir.ranks(file, with(to_rest, nodes)), networkx_85) < 1e-15);
    CHECK(distance(dir.ranks(file, with({"--weighted", "--tolerance", "0", "--iterations", "30"}, nodes)),
                   rounds_of(doubled, 12, 30, 0.85, true)) < 1e-15);
    const Outcome o = command(with({"pagerank", dir / file, "--json"}, nodes));
    CHECK(o.json()["graph"]["entries"] == 22);
    CHECK(o.json()["graph"]["links"] == 19);
  }
  CHECK(command({"pagerank", dir / "a.npz"}).out.find("22 entries, 3 of them given before") !=
        std::string::npos);

  dir.write("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 1\n3 3\n");
  const Links both{{1, 0}, {0, 1}, {2, 0}, {0, 2}, {2, 2}};
  CHECK(distance(dir.ranks("s.mtx", {"--tolerance", "0", "--iterations", "20"}), rounds_of(both, 4, 20)) <
        1e-15);
  // An entry of the diagonal stands for itself alone.
  const Outcome symmetric = command({"pagerank", dir / "s.mtx", "--json"});
  CHECK(symmetric.json()["graph"]["entries"] == 5);
  CHECK(symmetric.json()["graph"]["links"] == 5);
}

TEST_CASE("pagerank: the same bytes in memory and out of core, whatever the scheduler and the threads") {
  Folder dir;
  const int nodes = 3000;
  const Links links = random_links(nodes, 120'000, 7);
  dir.write("a.txt", text_of(links, true));
  for (const bool weighted : {false, true}) {
    const auto expected = rounds_of(links, nodes, 12, 0.85, weighted);
    std::vector<std::string> base{"--tolerance", "0", "--iterations", "12", "--nodes", "3000"};
    if (weighted) base.push_back("--weighted");
    std::vector<double> first;
    const auto check = [&](const std::vector<std::string>& more) {
      const auto ranks = dir.ranks("a.txt", with(base, more));
      for (const std::string& option : more) UNSCOPED_INFO(option);
      if (first.empty()) first = ranks;
      CHECK(ranks == first);
    };
    check({});
    CHECK(distance(first, expected) < 1e-15);
    for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:17", "fixed:100000"})
      for (const char* threads : {"1", "2", "4"})
        for (const char* memory : {"1M", "64M"})
          check({"--threads", threads, "--scheduler", scheduler, "--memory", memory});
    check({"--repeat", "3"});
    if (!sanitized) check({"--backend", "interpreter"});
    for (const char* memory : {"1M", "64M"})
      CHECK(command(with({"pagerank", dir / "a.txt", "--json", "--memory", memory}, base))
                .json()["graph"]["in_memory"] == (memory != std::string("1M")));
  }
  CHECK(dir.files() == 1);
}

TEST_CASE("pagerank: graphs from generate agree with a plain loop, within the memory bound") {
  Folder dir;
  REQUIRE(command({"generate", "rmat", "--size", "8192", "--out", dir / "r.npz"}).status == 0);
  REQUIRE(command({"generate", "rmat", "--size", "8192", "--out", dir / "r.mtx"}).status == 0);
  Links links;
  std::ifstream text(dir / "r.mtx");
  std::string line;
  while (std::getline(text, line) && line[0] == '%') continue;
  Link l{};
  while (text >> l.from >> l.to >> l.weight) links.push_back({l.from - 1, l.to - 1, l.weight});
  REQUIRE(links.size() > 50'000);
  const auto expected = rounds_of(links, 8192, 25);
  const std::vector<std::string> rounds{"--tolerance", "0", "--iterations", "25"};
  const auto ranks = dir.ranks("r.npz", rounds);
  CHECK(distance(ranks, expected) < 1e-15);
  CHECK(dir.ranks("r.mtx", rounds) == ranks);
  CHECK(dir.ranks("r.npz", with(rounds, {"--memory", "600K"})) == ranks);
}

TEST_CASE("pagerank: rest, and what is said of it") {
  Folder dir;
  dir.write("a.txt", text_of(small));
  const Outcome o = command({"pagerank", dir / "a.txt", "--nodes", "12", "--top", "3"});
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  for (const char* part : {"node  rank\n   2  0.2343", "\n   0  0.2202", "\n   1  0.1488",
                           "12 nodes, 19 links", "2 nodes without a link", "spread evenly", "held in memory",
                           "less than 1e-06", "Unchecked", "not written"})
    CHECK(o.out.find(part) != std::string::npos);
  CHECK(o.out.find("\n   6  ") == std::string::npos);

  // Too few rounds: the ranks are there, and the status says that they have not come to rest.
  const auto five = dir.ranks("a.txt", {"--nodes", "12", "--iterations", "5"}, 1);
  CHECK(distance(five, rounds_of(small, 12, 5)) < 1e-15);
  const auto report =
      command({"pagerank", dir / "a.txt", "--nodes", "12", "--iterations", "5", "--json"}).json();
  CHECK(report["converged"] == false);
  CHECK(report["iterations"] == 5);
  CHECK(report["change"].get<double>() > 1e-6);
  CHECK(command({"pagerank", dir / "a.txt", "--iterations", "5"}).out.find("NOT reached in 5 rounds") !=
        std::string::npos);
  // Without a tolerance nobody asks.
  CHECK(command({"pagerank", dir / "a.txt", "--tolerance", "0", "--iterations", "5", "--json"})
            .json()["converged"]
            .is_null());
  CHECK(command({"pagerank", dir / "a.txt", "--top", "0"}).out.find("rank\n") == std::string::npos);
  // Numbers as in the file.
  dir.write("a.mtx", market_of(small, 12));
  const auto top = command({"pagerank", dir / "a.mtx", "--json"}).json()["top"];
  REQUIRE(top.size() == 10);
  CHECK(top[0]["node"] == 3);
  CHECK(top[3]["node"] == 7);
  // Of equal ranks the first node.
  CHECK(top[8]["node"] == 8);
  CHECK(top[9]["node"] == 9);
}

TEST_CASE("pagerank: no nodes, no links, one node") {
  Folder dir;
  dir.write("none.txt", "# nothing\n");
  CHECK(dir.ranks("none.txt", {"--nodes", "4"}) == std::vector<double>(4, 0.25));
  dir.write("empty.i32", "");
  CHECK(dir.ranks("empty.i32", {"--nodes", "2"}) == std::vector<double>(2, 0.5));
  dir.write("self.txt", "0 0");
  CHECK(distance(dir.ranks("self.txt", {}), {1}) < 1e-15);
  dir.write("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  CHECK(dir.ranks("none.mtx", {}).empty());
  CHECK(dir.ranks("self.txt", {"--damping", "0", "--nodes", "4"}) == std::vector<double>(4, 0.25));
}

TEST_CASE("pagerank --json: the schema of docs/pagerank.md") {
  Folder dir;
  dir.write("a.txt", text_of(small));
  const auto r = command({"pagerank", dir / "a.txt", "--json", "--nodes", "12", "--repeat", "3", "--stats",
                          "--threads", "2", "--scheduler", "adaptive", "--memory", "64M", "--trace",
                          dir / "t.json", "--report", dir / "r.html"})
                     .json();
  std::vector<std::string> keys;
  for (const auto& [key, value] : r.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"backend",       "bytes",         "change",
                                         "chunk_items",   "chunks",        "converged",
                                         "damping",       "gb_per_second", "graph",
                                         "iterations",    "kernels",       "links_per_second",
                                         "memory",        "peak_bytes",    "peak_resident_bytes",
                                         "repeats",       "report",        "result",
                                         "round_seconds", "scheduler",     "seconds",
                                         "stages",        "threads",       "tolerance",
                                         "top",           "trace",         "unchecked",
                                         "utilisation"});
  CHECK(r["graph"] == nlohmann::json{{"file", dir / "a.txt"},
                                     {"format", "edge list (text)"},
                                     {"nodes", 12},
                                     {"entries", 19},
                                     {"links", 19},
                                     {"dangling", 2},
                                     {"weighted", false},
                                     {"first_node", 0},
                                     {"node", "int32"},
                                     {"in_memory", true}});
  CHECK(r["bytes"] == 19 * 4 + 13 * 4);
  CHECK(r["converged"] == true);
  check_run(r, {.threads = 2, .scheduler = "adaptive", .memory = 64 << 20, .repeats = 3});
  CHECK(r["seconds"]["run"].get<double>() == steady_seconds(r));
  CHECK(r["unchecked"] == nlohmann::json{dir / "a.txt"});
  CHECK(r["stages"][0]["runs"] == r["iterations"]);
  CHECK(r["result"].is_null());
  const auto page = anabranch::testing::PageFile(dir / "r.html").data["run"];
  CHECK(page["error"].is_null());
  check_interpreted(command({"pagerank", dir / "a.txt", "--json", "--backend", "interpreter"}).json());
}

TEST_CASE("pagerank --json: has one layout throughout, and members in their order") {
  Folder dir;
  dir.write("a.txt", text_of(small));
  for (const char* top : {"0", "1", "3"}) {
    const Outcome o = command({"pagerank", dir / "a.txt", "--top", top, "--json"});
    REQUIRE(o.status == 0);
    const auto r = nlohmann::ordered_json::parse(o.out);
    CHECK(o.out == r.dump(2) + "\n");
    CHECK(std::to_string(r["top"].size()) == top);
    std::vector<std::string> keys;
    for (const auto& [key, value] : r.items()) keys.push_back(key);
    keys.resize(8);
    CHECK(keys == std::vector<std::string>{"graph", "damping", "tolerance", "iterations", "change",
                                           "converged", "top", "bytes"});
  }
}

TEST_CASE("pagerank --explain: says what would run, and runs nothing") {
  Folder dir;
  dir.write("a.txt", text_of(small));
  const Outcome o = command({"pagerank", dir / "a.txt", "--explain"});
  CHECK(o.status == 0);
  for (const char* part : {"awhile", "gather", "stream_in", "kernels"})
    CHECK(o.out.find(part) != std::string::npos);
  CHECK(dir.files() == 1);
}

TEST_CASE("pagerank: files that are no graphs are refused, with place and reason") {
  const auto refused = [](const std::string& name, const std::string& bytes,
                          const std::vector<std::string>& words,
                          const std::vector<std::string>& options = {}) {
    Folder dir;
    dir.write(name, bytes);
    INFO(name);
    const Outcome o = command(with({"pagerank", dir / name, "--out", dir / "ranks.npy", "--json"}, options));
    INFO(o.err);
    CHECK(o.status == 3);
    CHECK(o.out.empty());
    CHECK(o.err.find("anabranch: " + dir / name) == 0);
    for (const std::string& word : words) CHECK(o.err.find(word) != std::string::npos);
    CHECK(dir.files() == 1);
  };
  refused("a.txt", "0 1\n# c\n1\n", {":3: ", "FROM TO"});
  // Lines that end with a carriage return alone.
  refused("a.txt", "0 1\r1 2\r2 0\n", {":1: ", "FROM TO"});
  // By its name, or its first words, a Matrix Market file.
  const std::string market = " matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n";
  for (const std::string banner : {"%MatrixMarket", "%%matrixmarket", "%%MATRIXMARKET", "% %MatrixMarket"})
    refused("a.txt", banner + market, {"MatrixMarket"});
  refused("a.mtx", "0 1\n1 2\n", {"MatrixMarket"});
  refused("a.txt", "0 1\n1 x\n",
          {":2: a link 'FROM TO' expected, not '1 x'; by its name, which ends neither in .i32 nor in .i64, "
           "this is a text"});
  refused("a.txt", "0 1\n1 x\n", {":2: a link 'FROM TO' expected, not '1 x'\n"}, {"--edges", "text"});
  refused("a.csv", "from,to\r\n0,1\r\n", {":1: a link 'FROM TO' expected, not 'from,to';"});
  refused("a.txt",
          "\xef\xbb\xbf"
          "0 1\n",
          {":1: a link 'FROM TO' expected, not '???0 1';"});
  refused("a.bin", pairs_of<std::int32_t>({{0, 1}, {1, 3}}), {":1: a link 'FROM TO' expected, not '????"});
  refused("a.txt", "0 1 1\n" + std::string(50, 'x') + "\n",
          {":2: a link 'FROM TO WEIGHT' expected, not '" + std::string(40, 'x') + "...';"}, {"--weighted"});
  refused("a.txt", "0 1\n1 2x\n", {":2: "});
  refused("a.txt", "0 1\n0,1\n", {":2: "});
  refused("a.txt", "0 1\n-1 2\n", {":2: "});
  refused("a.txt", "0 1\n1 2.5\n", {":2: "});
  for (const char* link : {"1 +2", "1 1e3", "0x1 2", "1 --2", "1 -0", "1 nan", "-99999999999999999999 0"})
    refused("a.txt", std::string("0 1\n") + link + "\n",
            {":2: a link 'FROM TO' expected, not '" + std::string(link) + "';"});
  for (const char* node : {"9223372036854775807", "9223372036854775808", "18446744073709551616"})
    for (const char* first : {"0", "1"})
      refused("a.txt", std::string("1 2\n2 ") + node + "\n", {":2: the number of a node is too large"},
              {"--first-node", first});
  refused("a.txt", "0 1\n2 99999999999999999999\n", {":2: ", "too large"});
  refused("a.txt", std::string("0 1\n\0\0\1\2\n", 9), {":2: "});
  refused("a.txt", "0 1\n1 0\n0 5\n", {":3: ", "node 5", "0..4"}, {"--nodes", "5"});
  refused("a.txt", "1 2\n2 0\n", {":2: ", "node 0"}, {"--first-node", "1"});
  refused("a.txt", "0 1 1\n1 0\n", {":2: ", "weight"}, {"--weighted"});
  for (const char* weight : {"-1", "nan", "inf", "1e999", "x"})
    refused("a.txt", std::string("0 1 1\n1 0 ") + weight + "\n", {":2: "}, {"--weighted"});
  refused("a.txt", "0 1 1\n1 0 1;1\n", {":2: ", "after the weight"}, {"--weighted"});
  refused("a.txt", "0 1 1e308\n0 2 1e308\n", {"node 0", "beyond the range"}, {"--weighted"});
  refused("a.txt", "1 2 1\n2 1 1e-320\n", {"node 2", "too small for the range"},
          {"--weighted", "--first-node", "1"});
  refused("a.i32", std::string(12, '\0'), {"12 bytes are no whole number of pairs of int32, 8 bytes each: "});
  refused("a.i64", std::string(24, '\0'),
          {"24 bytes are no whole number of pairs of int64, 16 bytes each; of pairs of int32 they are one"});
  refused("a.i64", std::string(1, '\0'), {"1 byte is no whole number of pairs of int64"});
  refused("a.txt", "", {"there is no link in it"});
  refused("a.txt", "# nothing\n", {"there is no link in it"});
  refused("a.i32", "", {"there is no link in it"});
  refused("a.i32", pairs_of<std::int32_t>({{0, 1}, {1, -3}}), {"link 1 (byte 8)", "node -3"});
  refused("a.i64", pairs_of<std::int64_t>({{0, 1}, {-1, 3}}), {"link 1 (byte 16)", "node -1"});
  refused("a.i32", pairs_of<std::int32_t>({{0, 1}, {INT32_MIN, 3}}), {"link 1 (byte 8)", "node -2147483648"});
  refused("a.i64", io_test::raw(std::vector<std::int64_t>{0, 1, 1, INT64_MAX}),
          {"link 1 (byte 16)", "the number of a node is too large"});
  refused("a.i64", io_test::raw(std::vector<std::int64_t>{0, INT64_MIN, 1, 0}),
          {"link 0 (byte 0)", "node -9"});
  refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", {"2 x 3", "no graph"});
  refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1\n", {"entry (1, 2)", "-1"},
          {"--weighted"});
  refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 -1\n", {":3: ", "column 3"});
  for (const char* weight : {"nan", "inf", "-inf", "-1e-320"})
    refused(
        "a.mtx",
        std::string("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 ") + weight + "\n",
        {"entry (2, 1)", weight, "a weight is a finite number from 0 on"}, {"--weighted"});
  refused("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n",
          {"entry (1, 2) is -3"}, {"--weighted"});
  refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n-2 -2 1\n1 1 1\n",
          {":2: '-2' is not a size"});
  refused("a.npz", io_test::npz(io_test::members(io_test::sample(51))), {"51 x 50", "no graph"});
  refused("a.npz", io_test::npz(io_test::members(io_test::sample(49))), {"49 x 50", "no graph"});
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double weight : {-2.0, nan, inf, -inf}) {
    auto weighted = io_test::sample(50);
    weighted.values[7] = weight;
    refused("a.npz", io_test::npz(io_test::members(weighted)),
            {"entry (2, ", "is " + fmt::format("{}", weight) + ": a weight is a finite number from 0 on"},
            {"--weighted"});
  }
  auto csr = io_test::sample(50);
  csr.indices[7] = 50;
  refused("a.npz", io_test::npz(io_test::members(csr)), {"indices.npy", "entry 7", "column 50"});
  std::string flipped = io_test::npz(io_test::members(io_test::sample(50)));
  const std::size_t at = flipped.find("indices.npy") + 11 + 200;
  flipped[at] = static_cast<char>(flipped[at] ^ 1);
  refused("a.npz", flipped, {"indices.npy", "checksum"});
}

TEST_CASE(
    "pagerank --weighted: pairs of numbers have no weights, whether the name says that they are pairs or "
    "--edges") {
  Folder dir;
  const std::string pairs = pairs_of<std::int32_t>({{0, 1}, {1, 0}});
  dir.write("a.i32", pairs);
  dir.write("a.I32", pairs);
  dir.write("a.bin", pairs);
  const auto refused = [&](const std::string& file, const std::vector<std::string>& more) {
    const Outcome o = command(with({"pagerank", dir / file, "--weighted"}, more));
    INFO(o.err);
    CHECK(o.status == 2);
    CHECK(o.err == "anabranch: --weighted is for matrices, and texts with weights in a third column; " +
                       dir / file +
                       " is an edge list (int32): pairs of numbers without weights (anabranch pagerank "
                       "--help)\n");
  };
  refused("a.i32", {});
  refused("a.I32", {});
  refused("a.bin", {"--edges", "int32"});
}

TEST_CASE("pagerank: what makes no sense is a usage error") {
  Folder dir;
  dir.write("a.txt", text_of(small));
  dir.write("a.npz", npz_of<std::int32_t, double>(small, 12));
  const std::string a = dir / "a.txt", m = dir / "a.npz";
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {a, "--damping", "1.5"},
                                                    {a, "--damping", "-0.1"},
                                                    {a, "--damping", "x"},
                                                    {a, "--tolerance", "-1"},
                                                    {a, "--iterations", "0"},
                                                    {a, "--top", "-1"},
                                                    {a, "--out", a},
                                                    {a, "--out", dir / "r.txt"},
                                                    {a, "--out", ""},
                                                    {a, "--edges", "csv"},
                                                    {a, "--nodes", "0"},
                                                    {a, "--first-node", "2"},
                                                    {a, "--report", a},
                                                    {a, "--weighted=1"},
                                                    {m, "--nodes", "12"},
                                                    {m, "--first-node", "0"},
                                                    {m, "--first-node", "1"},
                                                    {a, "more"},
                                                    {a, "--memory", "1G", "--backend", "interpreter"}};
  for (const auto& arguments : wrong) {
    const Outcome o = command(with({"pagerank"}, arguments));
    INFO(o.err);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK(o.err.find("anabranch: ") == 0);
  }
  CHECK(dir.files() == 2);
  CHECK(command({"pagerank", dir / "none.txt"}).status == 4);
  const Outcome help = command({"pagerank", "--help"});
  CHECK(help.status == 0);
  for (const char* part : {"--damping", "--tolerance", "--iterations", "--top", "--out", "--weighted",
                           "--edges", "--nodes", "--first-node", "--explain", "--memory"})
    CHECK(help.out.find(part) != std::string::npos);
}

TEST_CASE("pagerank: memory is bounded, and what cannot fit is said before") {
  Folder dir;
  dir.write("far.txt", "0 1\n5000000000000 1\n");
  Outcome o = command({"pagerank", dir / "far.txt", "--memory", "64M"});
  CHECK(o.status == 5);
  CHECK(o.err.find("5000000000001 nodes need") != std::string::npos);
  if (!sanitized) CHECK(o.peak_resident_bytes < 60 << 20);

  REQUIRE(command({"generate", "laplacian2d", "--size", "20", "--out", dir / "p.npz"}).status == 0);
  o = command({"pagerank", dir / "p.npz", "--memory", "64K"});
  CHECK(o.status == 5);
  CHECK(o.err.find("p.npz: row 0 has 3 entries, 20 bytes, beside ") != std::string::npos);
  CHECK(o.err.find(" that reading takes: more than the 12384 bytes of memory the source may use (of the "
                   "memory bound of "
                   "64.0 KiB 15.6 KiB are for vectors of all nodes; while links are sorted, reading may use "
                   "a quarter of the "
                   "rest)\n") != std::string::npos);

  if (sanitized) return;
  constexpr std::int64_t MiB = 1 << 20;
  REQUIRE(command({"generate", "rmat", "--size", "262144", "--out", dir / "r.npz"}).status == 0);
  const std::vector<std::string> base{"pagerank",     dir / "r.npz", "--tolerance", "0",
                                      "--iterations", "3",           "--json"};
  std::vector<double> first;
  o = command(with(base, {"--memory", "10M"}));
  CHECK(o.status == 5);
  CHECK(o.err.find("262144 nodes need 5 vectors of 2.0 MiB each") != std::string::npos);
  // The vectors are 10 MiB; the links 17 MB more, and three times that while they are sorted.
  for (const std::int64_t memory : {11, 40, 400}) {
    o = command(with(base, {"--memory", std::to_string(memory) + "M", "--out", dir / "ranks.npy"}));
    INFO(o.err);
    REQUIRE(o.status == 0);
    const auto report = o.json();
    CHECK(report["peak_bytes"].get<std::int64_t>() <= memory * MiB);
    CHECK(o.peak_resident_bytes <= memory * MiB + 160 * MiB);
    CHECK(report["graph"]["in_memory"] == (memory > 11));
    const auto ranks = npy_vector<double>(dir / "ranks.npy");
    if (first.empty()) first = ranks;
    CHECK(ranks == first);
  }
}

TEST_CASE("pagerank: stops when told, without output") {
  Folder dir;
  REQUIRE(command({"generate", "rmat", "--size", "65536", "--out", dir / "r.npz"}).status == 0);
  for (const char* memory : {"3M", "400M"})
    for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}}) {
      Process process({"pagerank", dir / "r.npz", "--tolerance", "0", "--iterations", "1000000000",
                       "--memory", memory, "--out", dir / "ranks.npy"},
                      {.environment = {"TMPDIR=" + dir.path()}});
      wait_until([&] { return process.blocks(signal); });
      std::this_thread::sleep_for(1500ms);
      process.signal(signal);
      const auto sent = std::chrono::steady_clock::now();
      const Outcome o = process.finish();
      CHECK(o.status == status);
      CHECK(o.out.empty());
      CHECK(std::chrono::steady_clock::now() - sent < 3s);
      CHECK(dir.files() == 1);
    }
}

TEST_CASE("pagerank --progress: rounds are counted") {
  Folder dir;
  REQUIRE(command({"generate", "rmat", "--size", "65536", "--out", dir / "r.npz"}).status == 0);
  const Outcome o =
      command({"pagerank", dir / "r.npz", "--tolerance", "0", "--iterations", "30", "--progress"});
  REQUIRE(o.status == 0);
  CHECK(o.err.find("round 30: 100 %") != std::string::npos);
  const Outcome again = command(
      {"pagerank", dir / "r.npz", "--tolerance", "0", "--iterations", "30", "--repeat", "2", "--progress"});
  REQUIRE(again.status == 0);
  CHECK(again.err.find("run 2 of 2: round 30: 100 %") != std::string::npos);
}

TEST_CASE("pagerank: what is no number is no probability") {
  Folder dir;
  REQUIRE(command({"generate", "rmat", "--size", "64", "--out", dir / "r.npz"}).status == 0);
  for (const char* option : {"--damping", "--tolerance"})
    for (const char* value : {"nan", "-0.1", "2.5", "inf", "a"}) {
      const Outcome o = command({"pagerank", dir / "r.npz", option, value});
      CHECK(o.status == 2);
      CHECK(o.err.find(option) != std::string::npos);
    }
}
