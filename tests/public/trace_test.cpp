#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <ranges>

#include "agree.h"
#include "io/matrix_files.h"
#include "support/trace_file.h"

// Timelines of runs on the CPU: what is drawn, that it is right, and that there is one whatever happens.
namespace anabranch::testing {
namespace {

using io_test::TemporaryDirectory;

const auto sums = [](auto row) { return sum(row); };

/// Items of 0 to 16 elements, made when they are read; number `bad` cannot be made.
auto made_items(int count, int bad = -1) {
  return std::views::iota(0, count) | std::views::transform([=](int i) {
           if (i == bad) throw std::domain_error("item \"12\" is not to be had");
           return numbers<double>(i % 17, static_cast<std::uint64_t>(i));
         });
}

std::vector<std::int64_t> counted(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

void check_rows(const TraceFile& file) {
  for (const auto& [name, spans] : file.rows) {
    INFO(name);
    if (name == "run") continue;  // stages lie within the run
    CHECK(!file.overlap_in(name));
  }
  REQUIRE(!file.row("run").empty());
  const TraceSpan& run = file.row("run")[0];
  CHECK(run.name == "run");
  for (const auto& [name, spans] : file.rows)
    for (const TraceSpan& s : spans)
      if (name != "passes") {
        INFO(name << " " << s.name);
        CHECK(s.begin_ns >= run.begin_ns);
        CHECK(s.end_ns <= run.end_ns);
      }
}

}  // namespace

TEST_CASE("trace: every chunk once in each stage, in order, and the report's sums") {
  const TemporaryDirectory dir;
  for (const int threads : {1, 2, 4})
    for (const char* scheduler : {"fixed:7", "adaptive", "paper"}) {
      INFO(scheduler << ", " << threads << " threads");
      const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(1000))))));
      RunReport report;
      const auto got =
          program.run({.threads = threads, .scheduler = scheduler, .trace = dir / "t.json"}, &report);
      require_same(got, program());
      const TraceFile file(dir / "t.json");
      check_rows(file);
      for (const char* stage : {"read", "compute", "write"}) {
        CHECK(file.numbers(stage, "chunk") == counted(report.chunks));
        for (const auto& [name, total] : {std::pair("items", report.items), std::pair("work", report.work),
                                          std::pair("bytes", report.bytes)}) {
          const auto all = file.numbers(stage, name);
          CHECK(std::accumulate(all.begin(), all.end(), std::int64_t{0}) == total);
        }
      }
      CHECK(seconds(file.sum_ns("read")) == Approx(report.read_seconds));
      CHECK(seconds(file.sum_ns("compute")) == Approx(report.compute_seconds));
      CHECK(seconds(file.sum_ns("write")) == Approx(report.write_seconds));
      CHECK(seconds(file.sum_ns("passes")) == Approx(report.front_seconds).epsilon(1e-3));
      CHECK(seconds(file.sum_ns("compiling kernels")) <= report.compile_seconds);
      const std::vector<ChunkRecord>& records = report.stages.at(0).records;
      REQUIRE(records.size() == static_cast<std::size_t>(report.chunks));
      for (std::size_t k = 0; k < records.size(); ++k)
        CHECK(file.row("read")[k].arguments["reason"] == std::string(records[k].reason));
      // One kernel, for every chunk while it is computed.
      const auto& kernels = file.row("kernels");
      const auto& computed = file.row("compute");
      REQUIRE(kernels.size() == computed.size());
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        CHECK(kernels[k].name.find("trace_test.cpp") != std::string::npos);
        CHECK(kernels[k].begin_ns >= computed[k].begin_ns);
        CHECK(kernels[k].end_ns <= computed[k].end_ns);
        CHECK(computed[k].begin_ns >= file.row("read")[k].end_ns);
        CHECK(file.row("write")[k].begin_ns >= computed[k].end_ns);
      }
      CHECK(file.counters.at("items of a chunk").size() == computed.size());
      CHECK(file.counters.at("bytes held").size() == 2 * computed.size());
      const auto& held = file.counters.at("bytes held");
      CHECK(*std::max_element(held.begin(), held.end()) <= report.peak_bytes);
      CHECK(report.gpu_overlap == 0);
    }
  CHECK(dir.files() == 1);
}

TEST_CASE("trace: passes, kernels and stages by name; kernels of a second run are there already") {
  const TemporaryDirectory dir;
  auto s = stream_in(made_items(100));
  const auto totals = consume(elements(map_seq(sums, s)));
  const auto total = sum(map([](auto e) { return e + 1.0; }, totals));
  const auto again = consume(
      elements(map_seq([=](auto row) { return map([=](auto e) { return e + the(total); }, sum(row)); }, s)));
  const auto program = compile(again);
  program.run({.threads = 1, .scheduler = "fixed:10", .trace = dir / "t.json"});
  const TraceFile file(dir / "t.json");
  check_rows(file);
  std::vector<std::string> passes, run;
  for (const TraceSpan& p : file.row("passes")) passes.push_back(p.name);
  for (const TraceSpan& r : file.row("run")) run.push_back(r.name);
  std::vector<std::string> expected{"share", "contract", "sequences", "lift", "fuse", "plan"};
  if (const char* off = std::getenv("ANABRANCH_OFF")) std::erase(expected, off);
  CHECK(passes == expected);
  CHECK(run == std::vector<std::string>{"run", "stage 0", "stage 1"});
  CHECK(file.row("compiling kernels").size() >= 2);
  CHECK(file.row("kernels").size() > 20);  // those that run once, too
  for (const int stage : {0, 1}) {
    std::vector<std::int64_t> chunks;
    for (const TraceSpan& c : file.row("compute"))
      if (c.arguments["stage"] == stage) chunks.push_back(c.arguments["chunk"]);
    CHECK(chunks == counted(10));
  }
  program.run({.scheduler = "fixed:10", .trace = dir / "t.json"});
  CHECK(TraceFile(dir / "t.json").row("compiling kernels").empty());
}

TEST_CASE("trace: of a long stream some chunks, evenly", "[once]") {
  const TemporaryDirectory dir;
  const auto program = compile(consume(elements(produce(20'000, [](auto i) { return unit(i); }))));
  RunReport report;
  program.run({.threads = 1, .scheduler = "fixed:1", .trace = dir / "t.json"}, &report);
  REQUIRE(report.chunks == 20'000);
  const TraceFile file(dir / "t.json");
  std::vector<std::int64_t> expected;
  for (std::int64_t k = 0; k < 20'000; k += k < 8192 ? 1 : k < 16384 ? 2 : 4) expected.push_back(k);
  for (const char* stage : {"read", "compute", "write"}) CHECK(file.numbers(stage, "chunk") == expected);
  CHECK(file.row("kernels").size() == expected.size());
  CHECK(file.counters.at("items of a chunk").size() == expected.size());
}

TEST_CASE("trace: a run that fails leaves a complete one, which says why") {
  const TemporaryDirectory dir;
  for (const int threads : {1, 2}) {
    const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(1000, 500))))));
    const RunOptions options{.threads = threads, .scheduler = "fixed:10", .trace = dir / "t.json"};
    CHECK_THROWS_AS(program.run(options), std::domain_error);
    const TraceFile file(dir / "t.json");
    check_rows(file);
    CHECK(file.numbers("write", "chunk") == counted(50));
    CHECK(file.row("run")[0].arguments["error"] == "item \"12\" is not to be had");
    std::filesystem::remove(dir / "t.json");

    CHECK_THROWS_AS(program.run({.memory = 1, .trace = dir / "t.json"}), ResourceError);
    CHECK(TraceFile(dir / "t.json").row("run")[0].arguments.contains("error"));
    std::filesystem::remove(dir / "t.json");
  }
  // What is no std::exception.
  const auto odd = std::views::iota(0, 3) | std::views::transform([](int i) -> Vector<double> { throw i; });
  CHECK_THROWS_AS(run(consume(elements(map_seq(sums, stream_in(odd)))), {.trace = dir / "t.json"}), int);
  CHECK(TraceFile(dir / "t.json").row("run")[0].arguments.contains("error"));
  CHECK(dir.files() == 1);
}

TEST_CASE("trace: a run that is cancelled leaves a complete one") {
  const TemporaryDirectory dir;
  const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(1000))))));
  std::stop_source stop;
  const RunOptions options{.threads = 2,
                           .scheduler = "fixed:10",
                           .stop = stop.get_token(),
                           .progress =
                               [&](const Progress& p) {
                                 if (p.chunks == 20) stop.request_stop();
                               },
                           .trace = dir / "t.json"};
  CHECK_THROWS_AS(program.run(options), Cancelled);
  const TraceFile file(dir / "t.json");
  check_rows(file);
  CHECK(file.row("write").size() >= 20);
  CHECK(file.row("write").size() < 100);
  CHECK(file.row("run")[0].arguments["error"] == "the run was cancelled");
}

TEST_CASE("trace: a file that cannot be made is an error before anything is read") {
  const TemporaryDirectory dir;
  int read = 0;
  const auto items = std::views::iota(0, 3) | std::views::transform([&](int i) {
                       ++read;
                       return numbers<double>(i, 1);
                     });
  const auto program = compile(consume(elements(map_seq(sums, stream_in(items)))));
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    const RunOptions nowhere{.backend = backend, .trace = dir / "no/such/t.json"};
    CHECK_THROWS_AS(program.run(nowhere), IoError);
    CHECK_THROWS_WITH(program.run(nowhere), Catch::Contains("no/such/t.json: cannot create"));
    CHECK_THROWS_AS(program.run({.backend = backend, .trace = dir.path()}), IoError);
  }
  CHECK_THROWS_AS(stream_out(stream_in(items), {.trace = dir / "no/such/t.json"}), IoError);
  CHECK(read == 0);
  CHECK(program.run({.trace = dir / "t.json"}).size() == 3);
}

TEST_CASE("trace: the interpreter, which has no chunks") {
  const TemporaryDirectory dir;
  run(sum(use(numbers<double>(100))), {.backend = Backend::interpreter, .trace = dir / "t.json"});
  const TraceFile file(dir / "t.json");
  CHECK(file.row("run").size() == 1);
  CHECK(file.row("compute").empty());
}

TEST_CASE("trace: streaming out, to the end, in part, and into an error") {
  const TemporaryDirectory dir;
  const auto read = [&](int bad, int wanted, Backend backend = Backend::cpu) {
    const std::int64_t memory = backend == Backend::interpreter ? 0 : 4 << 20;
    auto items = stream_out(map_seq(sums, stream_in(made_items(100'000, bad), {.live = false})),
                            {.backend = backend, .memory = memory, .trace = dir / "t.json"});
    int seen = 0;
    for (auto it = items.begin(); it != items.end() && seen < wanted; ++it) ++seen;
    return seen;
  };
  CHECK(read(-1, 1'000'000) == 100'000);
  const TraceFile whole(dir / "t.json");
  check_rows(whole);
  const auto items = whole.numbers("compute", "items");
  CHECK(items.size() > 2);
  CHECK(std::accumulate(items.begin(), items.end(), std::int64_t{0}) == 100'000);
  CHECK(whole.numbers("read", "chunk") == counted(static_cast<std::int64_t>(items.size())));
  CHECK(whole.row("write").empty());
  std::filesystem::remove(dir / "t.json");

  CHECK(read(-1, 10) == 10);
  const TraceFile part(dir / "t.json");
  CHECK(part.row("compute").size() == 1);
  CHECK(!part.row("run")[0].arguments.contains("error"));
  std::filesystem::remove(dir / "t.json");

  CHECK_THROWS_AS(read(90'000, 1'000'000), std::domain_error);
  CHECK(TraceFile(dir / "t.json").row("run")[0].arguments["error"] == "item \"12\" is not to be had");
  std::filesystem::remove(dir / "t.json");

  CHECK(read(-1, 10, Backend::interpreter) == 10);
  CHECK(TraceFile(dir / "t.json").row("run").size() == 1);
}

}  // namespace anabranch::testing
