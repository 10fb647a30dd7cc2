#include <filesystem>
#include <ranges>

#include "agree.h"
#include "io/matrix_files.h"
#include "support/page_file.h"

// The report as a page: that there is one, whole, with the right data, however a run ends. tests/browser looks at what is
// drawn.
namespace anabranch::testing {
namespace {

using io_test::TemporaryDirectory;

const auto sums = [](auto row) { return sum(row); };

auto made_items(int count, int bad = -1) {
  return std::views::iota(0, count) | std::views::transform([=](int i) {
           if (i == bad) throw std::domain_error("item \"12\" is not to be had </script>");
           return numbers<double>(i % 17, static_cast<std::uint64_t>(i));
         });
}

}  // namespace

TEST_CASE("report page: one file, with the run's report, the program, the machine and the options",
          "[once]") {
  const TemporaryDirectory dir;
  const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(1000))))));
  RunReport report;
  const auto got = program.run(
      {.threads = 2, .memory = 8 << 20, .scheduler = "fixed:7", .report = dir / "r.html"}, &report);
  require_same(got, program());
  CHECK(dir.files() == 1);
  const PageFile page(dir / "r.html");
  CHECK(page.data["run"] == nlohmann::json::parse(to_json(report, true)));
  CHECK(page.data["program"]["kernels"] == nlohmann::json::parse(program.explain(Explain::json))["kernels"]);
  CHECK(page.data["listing"] == program.explain());
  CHECK(page.data["subject"].get<std::string>().starts_with("consume at report_page_test.cpp:"));
  CHECK(page.data["options"]["memory"] == 8 << 20);
  CHECK(page.data["options"]["scheduler"] == "fixed:7");
  CHECK(page.data["options"]["backend"] == "cpu");
  CHECK(page.data["machine"]["threads"].get<int>() >= 1);
  CHECK(page.data["version"] == "0.1.0");
  // Nothing is asked of any place outside, and whoever gets the page gets the licence of what is in it.
  CHECK(page.text.find("default-src 'none'") != std::string::npos);
  for (const char* outside :
       {"<link rel=\"stylesheet\"", "<script src", "<img", "@import", "sourceMappingURL", "{{dygraph"})
    CHECK(page.text.find(outside) == std::string::npos);
  CHECK(page.text.find("Permission is hereby granted, free of charge") != std::string::npos);
  CHECK(page.text.find("Dan Vanderkam") != std::string::npos);
}

TEST_CASE("report page: of a run that fails or is cancelled, and without a RunReport", "[once]") {
  const TemporaryDirectory dir;
  const auto failing = compile(consume(elements(map_seq(sums, stream_in(made_items(1000, 500))))));
  CHECK_THROWS_AS(failing.run({.scheduler = "fixed:10", .report = dir / "r.html"}), std::domain_error);
  {
    const PageFile page(dir / "r.html");
    CHECK(page.data["run"]["error"] == "item \"12\" is not to be had </script>");
    CHECK(page.data["run"]["cancelled"] == false);
    CHECK(page.data["run"]["items"] == 500);
    CHECK(page.data["run"]["stages"][0]["records"]["items"].size() == 50);
  }
  std::filesystem::remove(dir / "r.html");

  std::stop_source stop;
  stop.request_stop();
  const auto whole = compile(consume(elements(map_seq(sums, stream_in(made_items(1000))))));
  CHECK_THROWS_AS(whole.run({.stop = stop.get_token(), .report = dir / "r.html"}), Cancelled);
  CHECK(PageFile(dir / "r.html").data["run"]["cancelled"] == true);
  std::filesystem::remove(dir / "r.html");

  CHECK_THROWS_AS(whole.run({.memory = 1, .report = dir / "r.html"}), ResourceError);
  CHECK(PageFile(dir / "r.html").data["run"]["error"].is_string());
}

TEST_CASE("report page: if only failures are told of, a run that succeeds leaves what was there", "[once]") {
  const TemporaryDirectory dir;
  const auto good = compile(consume(elements(map_seq(sums, stream_in(made_items(1000))))));
  const auto failing = compile(consume(elements(map_seq(sums, stream_in(made_items(1000, 500))))));
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    const RunOptions options{
        .backend = backend, .trace = dir / "t.json", .report = dir / "r.html", .only_failures = true};
    RunReport report;
    require_same(good.run(options, &report), good());
    CHECK(report.seconds > 0);
    CHECK(dir.files() == 0);
    CHECK_THROWS_AS(failing.run(options), std::domain_error);
    CHECK(PageFile(dir / "r.html").data["run"]["error"] == "item \"12\" is not to be had </script>");
    const std::string trace = io_test::read_file(dir / "t.json");
    CHECK(nlohmann::json::parse(trace).contains("traceEvents"));
    good.run(options);
    CHECK(dir.files() == 2);
    CHECK(io_test::read_file(dir / "t.json") == trace);
    for (const char* name : {"t.json", "r.html"}) std::filesystem::remove(dir / name);
  }
  CHECK_THROWS_WITH(good.run({.only_failures = true}), Catch::Contains("only_failures"));
}

TEST_CASE("report page: a file that cannot be made is an error before anything is read", "[once]") {
  const TemporaryDirectory dir;
  int read = 0;
  const auto items = std::views::iota(0, 3) | std::views::transform([&](int i) {
                       ++read;
                       return numbers<double>(i, 1);
                     });
  const auto program = compile(consume(elements(map_seq(sums, stream_in(items)))));
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    CHECK_THROWS_AS(program.run({.backend = backend, .report = dir / "no/such/r.html"}), IoError);
    CHECK_THROWS_AS(program.run({.backend = backend, .report = dir.path()}), IoError);
    CHECK_THROWS_WITH(program.run({.backend = backend, .trace = dir / "x", .report = dir / "x"}),
                      Catch::Contains("cannot go to one file"));
  }
  CHECK_THROWS_AS(stream_out(stream_in(items), {.report = dir / "no/such/r.html"}), IoError);
  CHECK(read == 0);
  CHECK(dir.files() == 0);
  CHECK(program.run({.report = dir / "r.html"}).size() == 3);
}

TEST_CASE("report page: streaming out, to the end, in part, and into an error; the interpreter", "[once]") {
  const TemporaryDirectory dir;
  const auto read = [&](int bad, int wanted, Backend backend = Backend::cpu) {
    auto items = stream_out(map_seq(sums, stream_in(made_items(100'000, bad), {.live = false})),
                            {.backend = backend, .report = dir / "r.html"});
    int seen = 0;
    for (auto it = items.begin(); it != items.end() && seen < wanted; ++it) ++seen;
    return seen;
  };
  CHECK(read(-1, 1'000'000) == 100'000);
  const auto whole = PageFile(dir / "r.html").data["run"];
  CHECK(whole["items"] == 100'000);
  CHECK(whole["backend"] == "cpu");
  CHECK(whole["stages"][0]["records"]["items"].size() == whole["chunks"]);
  std::filesystem::remove(dir / "r.html");

  CHECK(read(-1, 10) == 10);
  const auto part = PageFile(dir / "r.html").data["run"];
  CHECK(part["items"].get<int>() >= 10);
  CHECK(part["items"].get<int>() < 100'000);
  CHECK(part["error"].is_null());
  std::filesystem::remove(dir / "r.html");

  CHECK_THROWS_AS(read(90'000, 1'000'000), std::domain_error);
  CHECK(PageFile(dir / "r.html").data["run"]["error"].get<std::string>().starts_with("item \"12\""));
  std::filesystem::remove(dir / "r.html");

  // What comes before the first item fails.
  const auto factor = sum(gather(use(Vector<std::int64_t>{5}), use(Vector<double>{1, 2})));
  const auto scaled = [=](auto row) { return map([=](auto x) { return x * the(factor); }, row); };
  CHECK_THROWS_AS(
      stream_out(map_seq(scaled, stream_in(made_items(10))), {.threads = 2, .report = dir / "r.html"}),
      RunError);
  const auto not_begun = PageFile(dir / "r.html").data["run"];
  CHECK(not_begun["backend"] == "cpu");
  CHECK(not_begun["threads"] == 2);
  CHECK(not_begun["error"].get<std::string>().find("index 5") != std::string::npos);
  std::filesystem::remove(dir / "r.html");

  CHECK(read(-1, 10, Backend::interpreter) == 10);
  CHECK(PageFile(dir / "r.html").data["run"]["backend"] == "interpreter");
}

}  // namespace anabranch::testing
