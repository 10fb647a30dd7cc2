#include <anabranch/anabranch.h>

#include <filesystem>
#include <numeric>
#include <random>

#include "cuda/device.h"
#include "io/matrix_files.h"
#include "run/backends/device_trace.h"
#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"
#include "support/host_arrays.h"
#include "support/trace_file.h"

// Timelines of runs on a simulated GPU, whose clock is simulated, too: what overlaps there is known.
namespace anabranch::testing {

using runtime::DeviceStream;
using runtime::DeviceTrace;
using runtime::RunTrace;

namespace {

using gpu_host::fake_gpu;
using gpu_host::FakeOptions;
using gpu_host::LogEntry;
using gpu_host::WithFakeGpu;
using io_test::TemporaryDirectory;

void check_clean() {
  cuda::set_platform({});
  CHECK(fake_gpu().leaks() == "");
  CHECK(fake_gpu().violations() == std::vector<std::string>{});
}

std::vector<Vector<double>> rows(int count) {
  std::mt19937_64 engine(1);
  std::vector<Vector<double>> out;
  for (int i = 0; i < count; ++i) {
    Vector<double> v(Index{static_cast<std::int64_t>(engine() % 13)});
    for (std::int64_t k = 0; k < v.size(); ++k) v.set(k, static_cast<double>(engine() % 100));
    out.push_back(std::move(v));
  }
  return out;
}

auto row_sums(int count) {
  return consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(rows(count)))));
}

/// Sizes that only the values tell: more than one kernel, and copies between them.
auto repeated(int count) {
  return consume(elements(map_seq(
      [](auto row) { return generate(cast<std::int64_t>(the(sum(row))) % 7, [](auto k) { return k; }); },
      stream_in(rows(count)))));
}

std::vector<std::int64_t> counted(std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// The spans of all rows of the GPU whose names end so, by begin.
std::vector<TraceSpan> all_of(const TraceFile& file, const std::string& end) {
  std::vector<TraceSpan> out;
  for (const auto& [name, spans] : file.rows)
    if (name.starts_with("stream ") && name.ends_with(end)) out.insert(out.end(), spans.begin(), spans.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const TraceSpan& a, const TraceSpan& b) { return a.begin_ns < b.begin_ns; });
  return out;
}

std::int64_t logged(LogEntry::What what) {
  const auto log = fake_gpu().log();
  return std::count_if(log.begin(), log.end(), [&](const LogEntry& e) { return e.done && e.what == what; });
}

/// What the report must say, from the simulated GPU's own book-keeping: with the time that work waits for
/// others of its kind, or without.
timeline::OverlapTimes overlap_of_log(bool with_waiting) {
  timeline::Overlap overlap;
  for (const LogEntry& e : fake_gpu().log()) {
    if (!e.done || e.what == LogEntry::What::synchronize) continue;
    const timeline::Interval when{with_waiting ? e.ready_ns : e.begin_ns, e.end_ns};
    if (e.what == LogEntry::What::upload || e.what == LogEntry::What::download)
      overlap.add_copy(when);
    else
      overlap.add_kernel(when);
  }
  return overlap.times();
}

void check_against_log(const RunReport& report, bool with_waiting) {
  const timeline::OverlapTimes times = overlap_of_log(with_waiting);
  // The driver's figures are floats.
  const auto seconds = [](std::int64_t ns) {
    return Approx(static_cast<double>(ns) * 1e-9).epsilon(1e-3).margin(1e-8);
  };
  CHECK(report.gpu_copy_seconds == seconds(times.copy_ns));
  CHECK(report.gpu_kernel_seconds == seconds(times.kernel_ns));
  CHECK(report.gpu_both_seconds == seconds(times.both_ns));
  CHECK(report.gpu_overlap == Approx(times.share()).epsilon(1e-3).margin(1e-3));
}

}  // namespace

TEST_CASE("GPU trace: uploads, a kernel and downloads for every chunk, in the order of its stream") {
  const TemporaryDirectory dir;
  for (const std::uint64_t seed : {0, 1, 2}) {
    FakeOptions options;
    options.seed = seed;
    const WithFakeGpu gpu(options);
    RunReport report;
    compile(row_sums(500))
        .run({.backend = Backend::cuda, .scheduler = "fixed:10", .trace = dir / "t.json"}, &report);
    CHECK(report.chunks == 50);
    const TraceFile file(dir / "t.json");
    for (const auto& [name, spans] : file.rows)
      if (name != "run") CHECK(!file.overlap_in(name));
    for (const char* stage : {"read", "compute", "write"}) CHECK(file.numbers(stage, "chunk") == counted(50));
    const auto uploads = all_of(file, ": uploads"), kernels = all_of(file, ": kernels"),
               downloads = all_of(file, ": downloads");
    CHECK(static_cast<std::int64_t>(uploads.size()) == logged(LogEntry::What::upload));
    CHECK(static_cast<std::int64_t>(kernels.size()) == logged(LogEntry::What::kernel));
    CHECK(static_cast<std::int64_t>(downloads.size()) == logged(LogEntry::What::download));
    REQUIRE(kernels.size() == 50);
    for (const TraceSpan& kernel : kernels) {
      CHECK(kernel.name.find("trace_test.cpp") != std::string::npos);
      CHECK(kernel.arguments["schedule"].get<std::string>().find("a thread each") != std::string::npos);
      const auto of_chunk = [&](const TraceSpan& s) {
        return s.arguments["chunk"] == kernel.arguments["chunk"];
      };
      CHECK(std::count_if(kernels.begin(), kernels.end(), of_chunk) == 1);
      CHECK(std::count_if(uploads.begin(), uploads.end(), of_chunk) >= 2);
      CHECK(std::count_if(downloads.begin(), downloads.end(), of_chunk) >= 1);
      for (const TraceSpan& s : uploads)
        if (of_chunk(s)) CHECK(s.end_ns <= kernel.begin_ns);
      for (const TraceSpan& s : downloads)
        if (of_chunk(s)) CHECK(s.begin_ns >= kernel.end_ns);
    }
    CHECK(file.row("compiling kernels for the GPU").size() == 1);
    CHECK(file.row("compiling kernels").empty());
    CHECK(file.counters.at("bytes held on the GPU").size() == 100);
    CHECK(file.row("run")[0].arguments["overlap"] == report.gpu_overlap);
    check_clean();
  }
}

TEST_CASE("GPU trace: the report's overlap is what the simulated GPU did") {
  const TemporaryDirectory dir;
  // Copies much longer than kernels, about as long, much shorter.
  for (const std::int64_t kernel_ns : {1'000, 15'000, 300'000})
    for (const char* scheduler : {"fixed:20", "fixed:1", "adaptive"}) {
      INFO(kernel_ns << " ns a kernel, " << scheduler);
      FakeOptions options;
      options.times.kernel_ns = kernel_ns;
      const WithFakeGpu gpu(options);
      RunReport report;
      compile(row_sums(300))
          .run({.backend = Backend::cuda, .scheduler = scheduler, .trace = dir / "t.json"}, &report);
      // Who waits, waits while another one is busy: that counts once.
      check_against_log(report, true);
      check_against_log(report, false);
      check_clean();
    }
  for (const char* scheduler : {"fixed:20", "fixed:1"}) {
    const WithFakeGpu gpu;
    RunReport report;
    compile(repeated(200))
        .run({.backend = Backend::cuda, .scheduler = scheduler, .trace = dir / "t.json"}, &report);
    check_against_log(report, true);
    CHECK(report.gpu_overlap < 1);
    check_clean();
  }
  // One chunk: one thing after the other.
  const WithFakeGpu gpu;
  RunReport report;
  compile(row_sums(300))
      .run({.backend = Backend::cuda, .scheduler = "fixed:1000", .trace = dir / "t.json"}, &report);
  CHECK(report.gpu_copy_seconds > 0);
  CHECK(report.gpu_kernel_seconds > 0);
  CHECK(report.gpu_both_seconds == 0);
  CHECK(report.gpu_overlap == 0);
  check_clean();
}

TEST_CASE("GPU trace: a known overlap, and rows of the time it happened") {
  const TemporaryDirectory dir;
  FakeOptions options;
  options.times = {.copy_ns = 0, .copy_ns_per_byte = 1, .kernel_ns = 3'000'000};
  const WithFakeGpu gpu(options);
  {
    const auto device = cuda::Device::get();
    RunTrace run(dir / "t.json", 0);
    DeviceTrace trace(run, device);
    const std::int64_t bytes = 2'000'000;
    std::vector<char> host(bytes);
    const auto block = device->allocate(bytes), other = device->allocate(bytes);
    DeviceStream a(device, &trace, 1), b(device, &trace, 2);
    const auto kernel = [&](cuda::Stream& s) { s.fill_zero(block.address(), 1); };
    // Upload 0..2 ms, kernel 2..5 on a; on b upload 2..4, as there is one engine, kernel 5..8, download 8..9.
    a.upload(block.address(), host.data(), bytes);
    a.kernel("first", "because", kernel);
    b.upload(other.address(), host.data(), bytes);
    b.kernel("second", "because", kernel);
    b.download(host.data(), other.address(), bytes / 2);
    a.synchronize();
    b.synchronize();
    const timeline::OverlapTimes times = trace.overlap();
    CHECK(times.copy_ns == 5'000'000);
    CHECK(times.kernel_ns == 6'000'000);
    CHECK(times.both_ns == 2'000'000);
    CHECK(times.share() == Approx(0.4));
    run.finish();
  }
  const TraceFile file(dir / "t.json");
  const std::int64_t zero = file.row("stream 1: uploads")[0].begin_ns;
  const auto check = [&](const char* row, std::int64_t begin, std::int64_t end) {
    INFO(row);
    REQUIRE(file.row(row).size() == 1);
    CHECK(file.row(row)[0].begin_ns - zero == begin * 1'000'000);
    CHECK(file.row(row)[0].end_ns - zero == end * 1'000'000);
  };
  check("stream 1: uploads", 0, 2);
  check("stream 1: kernels", 2, 5);
  check("stream 2: uploads", 0, 4);  // with the time it waited for the engine
  check("stream 2: kernels", 4, 8);
  check("stream 2: downloads", 8, 9);
  check_clean();
}

TEST_CASE("GPU trace: times stay exact however long the run is") {
  const TemporaryDirectory dir;
  FakeOptions options;
  options.times = {.copy_ns = 700'000'001, .copy_ns_per_byte = 0, .kernel_ns = 1};
  const WithFakeGpu gpu(options);
  {
    const auto device = cuda::Device::get();
    RunTrace run(dir / "t.json", 0);
    DeviceTrace trace(run, device);
    char byte = 0;
    const auto block = device->allocate(1);
    DeviceStream stream(device, &trace, 1);
    // 700 s, where a float of milliseconds has steps of 60 us.
    for (int k = 0; k < 1000; ++k) {
      stream.upload(block.address(), &byte, 1);
      stream.synchronize();
    }
    CHECK(std::abs(trace.overlap().copy_ns - 1000 * 700'000'001LL) < 1000 * 60);
    run.finish();
  }
  const TraceFile file(dir / "t.json");
  for (const TraceSpan& s : file.row("stream 1: uploads")) REQUIRE(std::abs(s.length() - 700'000'001) <= 60);
  check_clean();
}

TEST_CASE("GPU trace: without one, events are for waiting only") {
  const WithFakeGpu gpu;
  compile(row_sums(300)).run({.backend = Backend::cuda, .scheduler = "fixed:10"});
  compile(repeated(100)).run({.backend = Backend::cpu_and_cuda, .scheduler = "fixed:10"});
  CHECK(gpu->calls("event_create") == gpu->calls("stream_create"));
  CHECK(gpu->calls("event_elapsed_time") == 0);
  const TemporaryDirectory dir;
  compile(row_sums(300)).run({.backend = Backend::cuda, .scheduler = "fixed:1", .trace = dir / "t.json"});
  // Events are used again and again: 300 chunks took many more than were made.
  CHECK(gpu->calls("event_record") > 300 * 2 * 4);
  CHECK(gpu->calls("event_create") < 200);
  check_clean();
}

TEST_CASE("GPU trace: what is held whole, several stages, chunks in halves, CPU and GPU, streaming out") {
  const TemporaryDirectory dir;
  const auto trace = dir / "t.json";
  {
    const WithFakeGpu gpu;
    const Vector<double> x{1, 2, 3};
    auto total = sum(map([](auto e) { return e * 2.0; }, use(x)));
    auto s = stream_in(rows(100));
    auto first = consume(elements(
        map_seq([=](auto row) { return map([=](auto e) { return e + the(total); }, sum(row)); }, s)));
    auto second = consume(elements(map_seq(
        [t = sum(first)](auto row) { return map([=](auto e) { return e + the(t); }, sum(row)); }, s)));
    compile(second).run({.backend = Backend::cuda, .scheduler = "fixed:10", .trace = trace});
    const TraceFile file(trace);
    CHECK(!file.row("stream 0: uploads").empty());
    CHECK(!file.row("stream 0: kernels").empty());
    CHECK(!file.row("stream 0: uploads")[0].arguments.contains("chunk"));
    for (const int stage : {0, 1}) {
      std::vector<bool> seen(10);
      for (const TraceSpan& k : all_of(file, ": kernels"))
        if (k.arguments.contains("stage") && k.arguments["stage"] == stage)
          seen.at(k.arguments["chunk"]) = true;
      CHECK(seen == std::vector<bool>(10, true));
    }
    check_clean();
  }
  {
    const WithFakeGpu gpu;
    RunReport report;
    compile(row_sums(300))
        .run({.backend = Backend::cuda, .gpu_memory = 4'000, .scheduler = "fixed:100", .trace = trace},
             &report);
    const TraceFile file(trace);
    CHECK(all_of(file, ": kernels").size() > 3);  // of three chunks
    std::int64_t bytes = 0;
    for (const TraceSpan& d : all_of(file, ": downloads")) bytes += d.arguments["bytes"].get<std::int64_t>();
    CHECK(bytes >= 300 * 8);
    check_against_log(report, true);
    check_clean();
  }
  {
    const WithFakeGpu gpu;
    const auto program = compile(row_sums(300));
    program.run({.backend = Backend::cuda});
    RunReport report;
    program.run({.backend = Backend::cpu_and_cuda, .scheduler = "fixed:10", .trace = trace}, &report);
    const TraceFile file(trace);
    CHECK(file.numbers("compute", "chunk") == counted(30));
    CHECK(static_cast<std::int64_t>(all_of(file, ": kernels").size()) == report.gpu_chunks);
    // The host may have computed the first items of a chunk whose others are the GPU's.
    CHECK(static_cast<std::int64_t>(file.row("kernels").size()) >= 30 - report.gpu_chunks);
  }
  check_clean();
  {
    const WithFakeGpu gpu;
    {
      std::int64_t seen = 0;
      for (const auto& total : stream_out(map_seq([](auto row) { return sum(row); }, stream_in(rows(300))),
                                          {.backend = Backend::cuda, .trace = trace}))
        seen += total.size();
      CHECK(seen == 300);
    }
    const TraceFile file(trace);
    CHECK(file.row("compute").size() == 1);
    CHECK(file.row("stream 1: kernels").size() == 1);
    CHECK(file.row("run")[0].arguments["overlap"] == 0);
    check_clean();
  }
}

TEST_CASE("GPU trace: every call for events fails once; nothing is left behind, and the file is whole") {
  const TemporaryDirectory dir;
  const auto expected = compile(row_sums(100)).run({.backend = Backend::interpreter}).erased();
  for (const char* entry : {"event_create", "event_record", "event_synchronize", "event_elapsed_time",
                            "event_destroy", "memcpy_htod_async", "kernel"})
    for (const int result : {2, 700})
      for (int k = 1; k <= 40; k = k < 6 ? k + 1 : k + 7) {
        INFO(entry << " call " << k << " answers " << result);
        const WithFakeGpu gpu;
        gpu->fail(entry, k, result);
        const RunOptions options{.backend = Backend::cuda, .scheduler = "fixed:25", .trace = dir / "t.json"};
        bool right = true;
        try {
          right = same(compile(row_sums(100)).run(options).erased(), expected);
        } catch (const RunError& e) {
          CHECK_THAT(e.what(), Catch::StartsWith("cuda: "));
        } catch (const ResourceError&) {
          CHECK(result == 2);
        }
        CHECK(right);
        CHECK(TraceFile(dir / "t.json").row("run").size() >= 1);
        std::filesystem::remove(dir / "t.json");
        gpu->heal();
        CHECK(same(compile(row_sums(100)).run(options).erased(), expected));
        check_clean();
      }
}

}  // namespace anabranch::testing
