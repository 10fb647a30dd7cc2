#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "command.h"
#include "run_json.h"
#include "support/page_file.h"
#include "support/trace_file.h"

using namespace cli_test;
using io_test::Csr;
using io_test::sample;

namespace {

template <class I, class T>
void check_types() {
  const TemporaryDirectory dir;
  const Csr<I, T> a = sample<I, T>(500);
  const std::vector<T> x = whole_numbers<T>(a.cols);
  io_test::write_file(dir / "x.npy", io_test::npy(x));
  for (const bool compressed : {false, true}) {
    io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a), compressed));
    const Outcome o =
        command({"smvm", dir / "a.npz", "--vector", dir / "x.npy", "--out", dir / "y.npy", "--json"});
    REQUIRE(o.status == 0);
    CHECK(o.err.empty());
    CHECK(npy_vector<T>(dir / "y.npy") == product(a, x));
    const auto report = o.json();
    CHECK(report["matrix"]["index"] == (sizeof(I) == 4 ? "int32" : "int64"));
    CHECK(report["matrix"]["value"] == (sizeof(T) == 4 ? "float" : "double"));
    CHECK(report["matrix"]["format"] == (compressed ? "npz (deflate)" : "npz (stored)"));
    std::filesystem::remove(dir / "y.npy");
  }
}

std::vector<double> of_text(const std::string& text, const std::vector<double>& x = {}) {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.mtx", text);
  std::vector<std::string> arguments{"smvm", dir / "a.mtx", "--out", dir / "y.npy"};
  if (!x.empty()) {
    io_test::write_file(dir / "x.npy", io_test::npy(x));
    arguments.insert(arguments.end(), {"--vector", dir / "x.npy"});
  }
  const Outcome o = command(arguments);
  INFO(o.err);
  REQUIRE(o.status == 0);
  return npy_vector<double>(dir / "y.npy");
}

}  // namespace

TEST_CASE("smvm: int32 and float") { check_types<std::int32_t, float>(); }
TEST_CASE("smvm: int32 and double") { check_types<std::int32_t, double>(); }
TEST_CASE("smvm: int64 and float") { check_types<std::int64_t, float>(); }
TEST_CASE("smvm: int64 and double") { check_types<std::int64_t, double>(); }

TEST_CASE("smvm: Matrix Market") {
  CHECK(
      of_text(
          "%%MatrixMarket matrix coordinate real general\n% a comment\n3 2 4\n3 1 4\n1 1 0.5\n1 2 2\n1 2 3\n",
          {10, 100}) == std::vector<double>{505, 0, 40});
  CHECK(of_text("%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 2\n2 1 3\n3 2 5\n",
                {1, 10, 100}) == std::vector<double>{32, 503, 50});
  CHECK(of_text("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 7\n", {1, 10}) ==
        std::vector<double>{-70, 7});
  CHECK(of_text("%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n1 3\n2 2\n") ==
        std::vector<double>{2, 1});
}

TEST_CASE("smvm: without --vector x is all ones; without --out nothing is written") {
  const TemporaryDirectory dir;
  const Csr<> a = sample(300);
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a)));
  REQUIRE(command({"smvm", dir / "a.npz", "--out", dir / "y.npy"}).status == 0);
  CHECK(npy_vector<double>(dir / "y.npy") == product(a, std::vector<double>(50, 1.0)));
  const Outcome o = command({"smvm", dir / "a.npz"});
  CHECK(o.status == 0);
  CHECK(o.out.find("not written") != std::string::npos);
  CHECK(dir.files() == 2);
}

TEST_CASE("smvm: no rows, no columns, no entries") {
  const TemporaryDirectory dir;
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {5, 5}}) {
    INFO(rows << " x " << cols);
    Csr<> a;
    a.cols = cols;
    a.indptr.resize(static_cast<std::size_t>(rows) + 1);
    io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a)));
    for (const char* backend : {"cpu", "interpreter"}) {
      const Outcome o =
          command({"smvm", dir / "a.npz", "--out", dir / "y.npy", "--json", "--backend", backend});
      INFO(o.err);
      REQUIRE(o.status == 0);
      CHECK(npy_vector<double>(dir / "y.npy") == std::vector<double>(static_cast<std::size_t>(rows)));
      CHECK(o.json()["items"] == rows);
    }
  }
}

TEST_CASE("smvm: an x of another type is taken where nothing is lost, else refused") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(sample<std::int32_t, double>(300))));
  io_test::write_file(dir / "f.npz", io_test::npz(io_test::members(sample<std::int32_t, float>(300))));
  io_test::write_file(dir / "x.npy", io_test::npy(whole_numbers<float>(50)));
  io_test::write_file(dir / "i.npy", io_test::npy(whole_numbers<std::int32_t>(50)));
  io_test::write_file(dir / "xx.npy", io_test::npy(whole_numbers<double>(50)));
  const auto expected = product(sample(300), whole_numbers<double>(50));
  for (const char* x : {"x.npy", "i.npy", "xx.npy"}) {
    REQUIRE(command({"smvm", dir / "a.npz", "--vector", dir / x, "--out", dir / "y.npy"}).status == 0);
    CHECK(npy_vector<double>(dir / "y.npy") == expected);
  }
  const Outcome o = command({"smvm", dir / "f.npz", "--vector", dir / "xx.npy"});
  CHECK(o.status == 3);
  CHECK(o.err.find("cannot hold exactly") != std::string::npos);
}

TEST_CASE("smvm: the same bytes whatever the scheduler, the threads, the memory, the back end") {
  const TemporaryDirectory dir;
  REQUIRE(command({"generate", "powerlaw", "--size", "3000", "--seed", "5", "--out", dir / "p.npz"}).status ==
          0);
  std::vector<double> x;
  for (int i = 0; i < 3000; ++i) x.push_back(1.0 / (i + 1));
  io_test::write_file(dir / "x.npy", io_test::npy(x));
  const std::vector<std::string> base{"smvm",        dir / "p.npz", "--vector",
                                      dir / "x.npy", "--out",       dir / "y.npy"};
  std::string first;
  const auto check = [&](const std::vector<std::string>& more) {
    auto arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome o = command(arguments);
    INFO(more.back() << o.err);
    REQUIRE(o.status == 0);
    const std::string bytes = io_test::read_file(dir / "y.npy");
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
    std::filesystem::remove(dir / "y.npy");
  };
  for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:7", "fixed:1000", "fixed:1000000"})
    for (const char* threads : {"1", "2", "4"}) check({"--scheduler", scheduler, "--threads", threads});
  check({"--memory", "1M"});
  check({"--repeat", "4"});
  check({"--backend", "interpreter"});
}

TEST_CASE("smvm: agrees with a plain loop on generated matrices, from both formats") {
  const TemporaryDirectory dir;
  for (const std::string kind : {"laplacian2d", "banded", "powerlaw", "rmat"})
    for (const std::string value : {"float", "double"})
      for (const std::string index : {"int32", "int64"}) {
        INFO(kind << " " << value << " " << index);
        const std::vector<std::string> generate{
            "generate", kind, "--size", kind == "laplacian2d" ? "64" : "4096", "--value", value, "--out"};
        const auto made = [&](std::vector<std::string> more) {
          more.insert(more.begin(), generate.begin(), generate.end());
          return command(more).status;
        };
        REQUIRE(made({dir / "a.npz", "--index", index}) == 0);
        REQUIRE(made({dir / "a.mtx"}) == 0);
        std::vector<double> x;
        for (int i = 0; i < 4096; ++i) x.push_back(static_cast<float>(1.0 / (i + 3)));
        io_test::write_file(dir / "x.npy", io_test::npy(x));
        io_test::write_file(dir / "f.npy", io_test::npy(std::vector<float>(x.begin(), x.end())));
        REQUIRE(command({"smvm", dir / "a.npz", "--out", dir / "y.npy", "--vector",
                         dir / (value == "float" ? "f.npy" : "x.npy")})
                    .status == 0);
        REQUIRE(command({"smvm", dir / "a.mtx", "--out", dir / "z.npy", "--vector", dir / "x.npy"}).status ==
                0);
        std::vector<double> y;
        if (value == "double")
          y = npy_vector<double>(dir / "y.npy");
        else
          for (const float f : npy_vector<float>(dir / "y.npy")) y.push_back(f);
        const auto z = npy_vector<double>(dir / "z.npy");

        std::vector<double> sums(4096), magnitudes(4096), terms(4096);
        std::ifstream text(dir / "a.mtx");
        std::string line;
        while (std::getline(text, line) && line[0] == '%') continue;
        std::size_t row = 0, column = 0;
        for (double a = 0; text >> row >> column >> a;) {
          const double term = a * x[column - 1];
          sums[row - 1] += term;
          magnitudes[row - 1] += std::abs(term);
          terms[row - 1] += 1;
        }
        REQUIRE(y.size() == sums.size());
        REQUIRE(z.size() == sums.size());
        // Two sums in any two orders: tests/tools/check_smvm.cpp.
        const auto close = [&](const std::vector<double>& got, double eps) {
          for (std::size_t i = 0; i < sums.size(); ++i)
            if (!(std::abs(got[i] - sums[i]) <= 2 * (terms[i] + 1) * eps * magnitudes[i])) return false;
          return true;
        };
        CHECK(close(y, value == "float" ? std::numeric_limits<float>::epsilon()
                                        : std::numeric_limits<double>::epsilon()));
        CHECK(close(z, std::numeric_limits<double>::epsilon()));
      }
}

TEST_CASE("smvm --json: the schema of docs/command.md") {
  const TemporaryDirectory dir;
  const Csr<> a = sample(400);
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a)));
  const Outcome o = command({"smvm", dir / "a.npz", "--json", "--repeat", "5", "--scheduler", "fixed:64",
                             "--threads", "2", "--memory", "16M", "--out", dir / "y.npy"});
  REQUIRE(o.status == 0);
  const auto r = o.json();
  std::vector<std::string> keys;
  for (const auto& [key, value] : r.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"backend",       "bytes",   "chunk_items", "chunks",
                                         "gb_per_second", "items",   "kernels",     "matrix",
                                         "memory",        "nnz",     "peak_bytes",  "peak_resident_bytes",
                                         "repeats",       "result",  "scheduler",   "seconds",
                                         "stages",        "threads", "unchecked",   "utilisation",
                                         "vectors"});
  const auto nnz = static_cast<std::int64_t>(a.values.size());
  CHECK(r["matrix"] == nlohmann::json{{"file", dir / "a.npz"},
                                      {"format", "npz (stored)"},
                                      {"rows", 400},
                                      {"columns", 50},
                                      {"index", "int32"},
                                      {"value", "double"},
                                      {"transposed", false}});
  CHECK(r["items"] == 400);
  CHECK(r["nnz"] == nnz);
  CHECK(r["bytes"] == nnz * 12 + 401 * 4);
  check_run(r, {.threads = 2, .scheduler = "fixed:64", .memory = 16 << 20, .repeats = 5});
  CHECK(r["peak_bytes"].get<std::int64_t>() > 400 * 8);
  CHECK(r["chunks"] == 7);
  CHECK(r["chunk_items"] == nlohmann::json{{"min", 16}, {"median", 64}, {"max", 64}});
  CHECK(r["kernels"] == nlohmann::json{{"compiled", 1}, {"from_disk", 0}});
  CHECK(r["gb_per_second"].get<double>() > 0);
  CHECK(r["seconds"]["run"].get<double>() == steady_seconds(r));
  CHECK(r["result"] == dir / "y.npy");
  CHECK(r["unchecked"] == nlohmann::json::array());

  const auto interpreted = command({"smvm", dir / "a.npz", "--json", "--backend", "interpreter"}).json();
  check_interpreted(interpreted);
  CHECK(interpreted["nnz"] == nnz);
  CHECK(interpreted["items"] == 400);
  CHECK(interpreted["result"].is_null());
}

TEST_CASE("smvm: what it says to people") {
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(sample(400))));
  const Outcome o = command({"smvm", dir / "a.npz", "--repeat", "3", "--out", dir / "y.npy"});
  REQUIRE(o.status == 0);
  CHECK(o.err.empty());
  for (const char* part : {"Matrix", "400 x 50", "Run", "Stream", "400 rows in", "Time", "Repeats", "3 runs",
                           "B/s", "Memory", "Result", "y.npy"})
    CHECK(o.out.find(part) != std::string::npos);
  CHECK(std::count(o.out.begin(), o.out.end(), '\n') <= 10);
}

TEST_CASE("smvm: files without a checksum are named") {
  const TemporaryDirectory dir;
  const std::string mtx = dir / "a.mtx", x = dir / "x.npy";
  io_test::write_file(mtx, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n");
  io_test::write_file(x, io_test::npy(std::vector<double>{1, 2}));
  CHECK(command({"smvm", mtx, "--vector", x, "--json"}).json()["unchecked"] == nlohmann::json{mtx, x});
  CHECK(command({"smvm", mtx}).out.find("Unchecked " + mtx + ": without a checksum") != std::string::npos);
}

TEST_CASE("smvm --trace: the last run, also one that fails") {
  using anabranch::testing::TraceFile;
  const TemporaryDirectory dir;
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(sample(400))));
  const std::string trace = dir / "t.json";
  const Outcome o = command(
      {"smvm", dir / "a.npz", "--scheduler", "fixed:10", "--repeat", "3", "--trace", trace, "--json"});
  REQUIRE(o.status == 0);
  const auto report = o.json();
  CHECK(report["trace"] == trace);
  CHECK(!report.contains("gpu"));
  const TraceFile file(trace);
  std::size_t computed = 0;
  std::int64_t compute_ns = 0;
  for (const auto& [row, spans] : file.rows)
    if (row.starts_with("pieces, slot"))
      for (const auto& span : spans)
        if (span.name.starts_with("compute ")) {
          ++computed;
          compute_ns += span.length();
        }
  CHECK(computed == 40);
  CHECK(file.row("compiling kernels").empty());  // the first run made them
  CHECK(static_cast<double>(compute_ns) * 1e-9 == Approx(report["seconds"]["compute"].get<double>()));
  CHECK(static_cast<double>(file.row("run")[0].length()) * 1e-9 <= report["repeats"].back().get<double>());
  CHECK(command({"smvm", dir / "a.npz", "--trace", trace}).out.find("Trace     " + trace) !=
        std::string::npos);
  CHECK(dir.files() == 2);

  auto broken = sample(400);
  broken.indices.back() = 50;
  io_test::write_file(dir / "broken.npz", io_test::npz(io_test::members(broken)));
  const Outcome bad = command({"smvm", dir / "broken.npz", "--scheduler", "fixed:10", "--trace", trace});
  CHECK(bad.status == 3);
  const std::string error = TraceFile(trace).row("run")[0].arguments["error"];
  CHECK(bad.err.find(error) != std::string::npos);
}

TEST_CASE("smvm --report: the last run, also one that fails") {
  using anabranch::testing::PageFile;
  const TemporaryDirectory dir;
  const Csr<> a = sample(400);
  io_test::write_file(dir / "a.npz", io_test::npz(io_test::members(a)));
  const std::string page = dir / "r.html";
  const Outcome o = command(
      {"smvm", dir / "a.npz", "--scheduler", "fixed:10", "--repeat", "3", "--report", page, "--json"});
  REQUIRE(o.status == 0);
  CHECK(o.json()["report"] == page);
  const auto run = PageFile(page).data["run"];
  CHECK(run["stages"][0]["records"]["items"] == nlohmann::json(std::vector<int>(40, 10)));
  CHECK(run["stages"][0]["source"] == dir / "a.npz");
  CHECK(run["error"].is_null());
  CHECK(command({"smvm", dir / "a.npz", "--report", page}).out.find("Report    " + page) !=
        std::string::npos);

  auto broken = a;
  broken.indices.back() = 50;
  io_test::write_file(dir / "broken.npz", io_test::npz(io_test::members(broken)));
  const Outcome bad = command({"smvm", dir / "broken.npz", "--scheduler", "fixed:10", "--report", page});
  CHECK(bad.status == 3);
  const auto failed = PageFile(page).data["run"];
  CHECK(bad.err == "anabranch: " + failed["error"].get<std::string>() + "\n");
  CHECK(failed["items"].get<int>() >= 300);
  CHECK(failed["items"].get<int>() < 400);
}
