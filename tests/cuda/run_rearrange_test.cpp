#include "tests/cuda/support/whole_runs.h"

#include "support/trace_file.h"

// Sorts, filters, histograms and the like: on a simulated GPU, or by the host where it has no primitives.
namespace anabranch::testing {
namespace {

constexpr int launch_failed = 719;

/// Rows of small numbers, some empty, one long.
std::vector<Vector<std::int32_t>> some_rows(int count) {
  std::vector<Vector<std::int32_t>> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    Vector<std::int32_t> row(Index{i == 17 ? 900 : i * i % 7});
    for (std::int64_t k = 0; k < row.size(); ++k)
      row.set(k, static_cast<std::int32_t>((i * 31 + k * 17) % 13));
    rows.push_back(std::move(row));
  }
  return rows;
}

template <class F>
RunWith each_row(F f, const std::vector<Vector<std::int32_t>>& rows) {
  return running(consume(tabulate(map_seq(f, stream_in(rows)))));
}

/// Each operation on the rows of a stream, and its number of steps for a chunk.
std::vector<std::pair<RunWith, int>> streamed(int count) {
  const auto rows = some_rows(count);
  return {
      {each_row([](auto row) { return sort(row); }, rows), 1},
      {each_row([](auto row) { return argsort(map([](auto e) { return e % 3; }, row)); }, rows), 1},
      {each_row([](auto row) { return std::get<0>(filter([](auto e) { return e % 2 == 0; }, row)); }, rows),
       1},
      {each_row([](auto row) { return histogram(13, row); }, rows), 1},
      {each_row([](auto row) { return scatter(row, fill(index_of(13), Exp<std::int32_t>(-1)), row); }, rows),
       1},
      {each_row(
           [](auto row) {
             return permute(
                 plus, fill(index_of(size(row)), Exp<std::int32_t>(0)),
                 [=](auto ix) { return index_of(cast<std::int64_t>(row[ix[0]]) % size(row)); }, row);
           },
           rows),
       1},
      {each_row(
           [](auto row) {
             return permute(
                 plus, fill(index_of(size(row)), 0.5),
                 [=](auto ix) { return index_of(cast<std::int64_t>(row[ix[0]]) % size(row)); },
                 map([](auto e) { return cast<double>(e) / 3.0; }, row));
           },
           rows),
       2},
      {each_row(
           [](auto row) {
             const auto table = generate(index_of(size(row), 2),
                                         [=](auto ix) { return row[ix[0]] - cast<std::int32_t>(ix[1]); });
             return permute(
                 maximum_of, fill(5, Exp<std::int32_t>(-7)),
                 [=](auto ix) { return index_of((ix[0] * 3 + ix[1]) % 5); }, table);
           },
           rows),
       1},
      {each_row([](auto row) { return sort(map([](auto e) { return pack(e % 4, cast<double>(e)); }, row)); },
                rows),
       1},
  };
}

std::vector<RunWith> whole() {
  const auto x = use(numbers(5000, 3));
  const auto keys = map([](auto e) { return cast<std::int32_t>((e + 0.5) * 40.0); }, x);
  const auto table = reshape(Index{50, 100}, x);
  return {running(sort(x)),
          running(argsort(map([](auto e) { return e * 2.0; }, x))),
          running(sort(table, 0)),
          running(std::tuple(sort(table), sum(x))),
          running(filter([](auto e) { return e > 0.25; }, x)),
          running(histogram(40, keys)),
          running(scatter(keys, fill(index_of(60), Exp<double>(-1.0)), x)),
          running(sort_by([](auto e) { return e * e; }, x))};
}

std::int64_t largest(LogEntry::What what) {
  std::int64_t most = 0;
  for (const LogEntry& e : fake_gpu().log())
    if (e.what == what && e.done) most = std::max(most, e.bytes);
  return most;
}

}  // namespace

TEST_CASE("rearrangements: rows of a stream, on the GPU and by the host") {
  for (const auto& [run, steps] : streamed(60)) {
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    for (const bool by_gpu : {true, false})
      for (const std::string scheduler : {"fixed:7", "fixed:60"}) {
        FakeOptions fake = seeded(3);
        fake.primitives = by_gpu;
        const WithFakeGpu gpu(fake);
        RunReport report;
        CHECK(equal(run({.backend = Backend::cuda, .scheduler = scheduler}, &report), expected));
        CHECK(report.gpu_rearrangements == (by_gpu ? steps * report.chunks : 0));
        CHECK(report.gpu_rearrangements_by_host == (by_gpu ? 0 : steps * report.chunks));
        CHECK(report.gpu_rearrangements_reason ==
              (by_gpu ? "" : "cuda: the simulated GPU has no device primitives"));
        check_clean();
      }
    const WithFakeGpu gpu;
    CHECK(equal(run({.backend = Backend::cpu_and_cuda, .scheduler = "fixed:7"}, nullptr), expected));
    check_clean();
  }
}

TEST_CASE("rearrangements: arrays outside of streams, which stay on the GPU") {
  for (const RunWith& run : whole()) {
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    for (const bool by_gpu : {true, false}) {
      FakeOptions fake = seeded(5);
      fake.primitives = by_gpu;
      const WithFakeGpu gpu(fake);
      RunReport report;
      CHECK(equal(run({.backend = Backend::cuda}, &report), expected));
      CHECK((report.gpu_rearrangements > 0) == by_gpu);
      CHECK((report.gpu_rearrangements_by_host > 0) == !by_gpu);
      check_clean();
    }
  }
  // What is sorted was computed there, and of what is sorted one number is asked for.
  const auto run = running(sum(sort(map([](auto e) { return e * 3.0; }, use(numbers(5000, 4))))));
  const WithFakeGpu gpu;
  run({.backend = Backend::cuda}, nullptr);
  CHECK(largest(LogEntry::What::upload) == 5000 * 8);
  CHECK(largest(LogEntry::What::download) < 5000);
  check_clean();
}

TEST_CASE("rearrangements: offsets of 32 bits, and parts of a source that begin anywhere") {
  std::vector<std::int32_t> offsets{0, 3, 3, 10, 11}, values(11);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 7 % 5);
  const auto source =
      io::csr_view(4, 100, std::span<const std::int32_t>(offsets), std::span<const std::int32_t>(values),
                   std::span<const std::int32_t>(values));
  const auto run = running(consume(elements(map_seq(
      [](auto row) {
        auto [columns, ignored] = unzip(row);
        return sort(columns);
      },
      stream_in(source)))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  for (const std::string scheduler : {"fixed:1", "fixed:3", "fixed:10"}) {
    const WithFakeGpu gpu;
    CHECK(equal(run({.backend = Backend::cuda, .scheduler = scheduler}, nullptr), expected));
    check_clean();
  }
}

TEST_CASE("rearrangements: rows of items of two dimensions whose sizes differ") {
  std::vector<Matrix<std::int32_t>> matrices;
  for (std::int64_t i = 0; i < 25; ++i) {
    Matrix<std::int32_t> m(Index{i % 4, 1 + i % 5});
    for (std::int64_t k = 0; k < m.size(); ++k)
      m.set(Index{k / m.shape()[1], k % m.shape()[1]}, static_cast<std::int32_t>(k * 11 % 7));
    matrices.push_back(std::move(m));
  }
  const auto run = running(consume(tabulate(map_seq([](auto m) { return sort(m); }, stream_in(matrices)))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  const WithFakeGpu gpu;
  RunReport report;
  CHECK(equal(run({.backend = Backend::cuda, .scheduler = "fixed:9"}, &report), expected));
  CHECK(report.gpu_rearrangements == report.chunks);
  check_clean();
}

TEST_CASE("rearrangements: what cannot be computed is the host's error, word by word") {
  auto rows = some_rows(60);
  rows[37].set(2, 13);
  rows[43].set(0, -1);
  const auto number = use(Vector<std::int64_t>{0});
  const std::vector<RunWith> runs{
      each_row([](auto row) { return histogram(13, row); }, rows),
      each_row([](auto row) { return scatter(row, fill(index_of(13), Exp<std::int32_t>(0)), row); }, rows),
      each_row(
          [](auto row) {
            return permute(
                plus, fill(13, Exp<std::int32_t>(0)),
                [=](auto ix) { return index_of(cast<std::int64_t>(row[ix])); }, row);
          },
          rows),
      // The kernel before it fails in a later item, that behind it in an earlier one.
      each_row([](auto row) { return histogram(13, map([](auto e) { return e + 6 / (e + 1); }, row)); },
               rows),
      each_row(
          [=](auto row) { return map([=](auto e) { return 5 / (e - e) + number[0]; }, histogram(13, row)); },
          rows),
      running(
          histogram(40, map([](auto e) { return cast<std::int32_t>(e * 100.0); }, use(numbers(300, 1)))))};
  for (const RunWith& run : runs)
    for (const std::string scheduler : {"fixed:100", "fixed:40", "fixed:5"}) {
      const auto message = [&](Backend backend) {
        return message_of([&] { run({.backend = backend, .scheduler = scheduler}, nullptr); });
      };
      const std::string expected = message(Backend::cpu);
      CHECK(expected != "");
      const WithFakeGpu gpu;
      CHECK(message(Backend::cuda) == expected);
      check_clean();
    }
}

TEST_CASE("rearrangements: a primitive that fails, and any bound on GPU memory") {
  for (const auto& [run, steps] : streamed(30)) {
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    const RunOptions options{.backend = Backend::cuda, .scheduler = "fixed:10"};
    int kernels = 0;
    {
      const WithFakeGpu gpu;
      run(options, nullptr);
      kernels = gpu->calls("kernel");
      check_clean();
    }
    for (int k = 1; k <= kernels; k += 2) {
      const WithFakeGpu gpu(seeded(static_cast<std::uint64_t>(k)));
      gpu->fail("kernel", k, launch_failed);
      INFO("kernel " << k << " of " << kernels);
      bool failed = false;
      try {
        run(options, nullptr);
      } catch (const RunError&) {
        failed = true;
      }
      // Of a program inside of items sizes of chunks are found, so the last ones are not always there.
      CHECK(failed == (gpu->calls("kernel") >= k));
      CHECK((failed || k > kernels / 2));
      gpu->heal();
      CHECK(equal(run(options, nullptr), expected));
      check_clean();
    }
    int done = 0;
    for (std::int64_t bound = 2'000; bound < 260'000; bound += 13'001) {
      const WithFakeGpu gpu;
      RunReport report;
      try {
        const auto out =
            run({.backend = Backend::cuda, .gpu_memory = bound, .scheduler = "fixed:10"}, &report);
        CHECK(equal(out, expected));
        CHECK(report.gpu_peak_bytes <= bound);
        ++done;
      } catch (const ResourceError&) {
        CHECK(done == 0);
      }
      check_clean();
    }
    CHECK(done > 0);
  }
}

TEST_CASE("rearrangements: while the rows of a chunk are sorted the next one is on its way to the GPU") {
  const auto run = each_row([](auto row) { return sort(row); }, some_rows(200));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  // An upload of another stream between a chunk's own and its first download.
  const auto overlaps = [](const std::vector<LogEntry>& log) {
    int begun = 0;  // the stream
    for (const LogEntry& e : log) {
      if (e.done) continue;
      if (e.what == LogEntry::What::upload && begun != 0 && e.stream != begun) return true;
      if (e.what == LogEntry::What::upload) begun = e.stream;
      if (e.what == LogEntry::What::download && e.stream == begun) begun = 0;
    }
    return false;
  };
  for (const bool by_gpu : {true, false}) {
    // Threads may come too late.
    bool seen = false;
    for (int k = 0; k < 100 && !seen; ++k) {
      FakeOptions fake;
      fake.primitives = by_gpu;
      const WithFakeGpu gpu(fake);
      CHECK(equal(run({.backend = Backend::cuda, .threads = 4, .scheduler = "fixed:10"}, nullptr), expected));
      seen = overlaps(gpu->log());
      check_clean();
    }
    INFO("by the GPU: " << by_gpu);
    CHECK(seen);
  }
}

TEST_CASE("rearrangements: the timeline tells who made them") {
  const io_test::TemporaryDirectory dir;
  const auto run = each_row([](auto row) { return sort(row); }, some_rows(30));
  for (const bool by_gpu : {true, false}) {
    FakeOptions fake;
    fake.primitives = by_gpu;
    const WithFakeGpu gpu(fake);
    run({.backend = Backend::cuda, .scheduler = "fixed:10", .trace = dir / "t.json"}, nullptr);
    const TraceFile file(dir / "t.json");
    int drawn = 0;
    for (const auto& [name, spans] : file.rows)
      for (const TraceSpan& span : spans) drawn += span.name == "rearrangement";
    CHECK(drawn == (by_gpu ? 3 : 0));
    const auto& facts = file.row("run")[0].arguments;
    CHECK(facts.value("rearrangements_by_gpu", 0) == (by_gpu ? 3 : 0));
    CHECK(facts.value("rearrangements_by_host", 0) == (by_gpu ? 0 : 3));
    check_clean();
  }
}

}  // namespace anabranch::testing
