#include "tests/cuda/support/whole_runs.h"

#include "support/gpu_host/fake_table.h"
#include "support/trace_file.h"

// Offsets of items whose sizes only values tell: made on a simulated GPU, or by the host.
namespace anabranch::testing {
namespace {

constexpr int launch_failed = 719;
constexpr std::int64_t many = INT64_MAX;

/// Items of up to 4 small numbers, the first of which is their count plus one.
std::vector<Vector<std::int64_t>> small_rows(int count) {
  std::vector<Vector<std::int64_t>> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    Vector<std::int64_t> row(Index{1 + i * i % 4});
    for (std::int64_t k = 0; k < row.size(); ++k) row.set(k, k == 0 ? row.size() : (i + k) % 3);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Matrices, each with as many rows and columns as the item's sum and length say.
auto boxes(const std::vector<Vector<std::int64_t>>& rows) {
  return map_seq(
      [](auto row) {
        return generate(index_of(the(sum(row)), size(row)), [](auto ix) { return ix[0] * 10 + ix[1]; });
      },
      stream_in(rows));
}

/// The same with a sum and a product.
auto slabs(const std::vector<Vector<std::int64_t>>& rows) {
  return map_seq(
      [](auto row) {
        return generate(index_of(the(sum(row)), the(product(row)), use(Vector<std::int64_t>{2})[0]),
                        [](auto ix) { return ix[0] * 100 + ix[1] * 10 + ix[2]; });
      },
      stream_in(rows));
}

/// Matrices with other extents than those of their items, which differ in both.
auto turned(int count) {
  std::vector<Matrix<std::int64_t>> matrices;
  for (std::int64_t i = 0; i < count; ++i) {
    Matrix<std::int64_t> m(Index{i % 3, 1 + i % 4});
    for (std::int64_t k = 0; k < m.size(); ++k) m.set(Index{k / m.shape()[1], k % m.shape()[1]}, k % 2);
    matrices.push_back(std::move(m));
  }
  return map_seq(
      [](auto m) {
        return generate(index_of(extent(m, 1), the(fold_all(plus, std::int64_t{1}, m))),
                        [](auto ix) { return ix[0] * 10 + ix[1]; });
      },
      stream_in(matrices));
}

/// Vectors of two lengths for each item.
auto two_shapes(const std::vector<Vector<std::int64_t>>& rows) {
  return map_seq(
      [](auto row) {
        return std::tuple(generate(the(sum(row)), [](auto k) { return k; }),
                          generate(the(product(row)) + 1, [](auto k) { return -k; }));
      },
      stream_in(rows));
}

template <class R>
std::vector<RunWith> of_both_components(const R& sequence) {
  auto [first, second] = unzip_seq(sequence);
  return {running(std::tuple(consume(elements(first)), consume(tabulate(second)))),
          running(std::tuple(consume(tabulate(first)), consume(elements(second))))};
}

cuda::Platform without_code() {
  cuda::Platform platform = gpu_host::fake_platform();
  platform.open_primitives = [] {
    static device::Table table = gpu_host::fake_primitives();
    table.item_offsets = [](const device::ItemOffsets*, device::Temporary*, device::Stream) {
      return device::not_compiled;
    };
    return device::Primitives(table);
  };
  return platform;
}

std::int64_t copies_of(LogEntry::What what, std::int64_t bytes) {
  const auto log = fake_gpu().log();
  return std::count_if(log.begin(), log.end(),
                       [&](const LogEntry& e) { return e.what == what && e.done && e.bytes == bytes; });
}

}  // namespace

TEST_CASE("offsets: every kind of extent, read in every way, on the GPU and by the host") {
  const auto rows = small_rows(40);
  std::vector<RunWith> runs{running(consume(elements(boxes(rows)))), running(consume(tabulate(boxes(rows)))),
                            running(consume(elements(slabs(rows)))), running(consume(tabulate(slabs(rows)))),
                            running(consume(elements(turned(30)))),  running(consume(tabulate(turned(30))))};
  for (const RunWith& run : of_both_components(two_shapes(rows))) runs.push_back(run);
  for (const RunWith& run : runs) {
    agree(run);
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    for (const std::int64_t few : {1, 20, 1000}) {
      FakeOptions options = seeded(static_cast<std::uint64_t>(few));
      options.few_items = few;
      const WithFakeGpu gpu(options);
      RunReport report;
      CHECK(equal(run({.backend = Backend::cuda, .scheduler = "fixed:12"}, &report), expected));
      CHECK(report.gpu_offsets + report.gpu_offsets_by_host >= report.chunks);
      CHECK((report.gpu_offsets > 0) == (few == 1));  // the last chunk is small, and so are all others
      CHECK((report.gpu_offsets_by_host > 0) == (few > 1));
      if (few > 1) CHECK_THAT(report.gpu_offsets_reason, Catch::Contains("items are few"));
      check_clean();
    }
  }
}

TEST_CASE("offsets: items are streamed out in their shapes") {
  const auto rows = small_rows(200);
  const auto read = [&](const RunOptions& options) {
    std::vector<HostArray> items;
    for (const auto& [first, second] : stream_out(two_shapes(rows), options)) {
      items.push_back(first.erased());
      items.push_back(second.erased());
    }
    for (const auto& item : stream_out(slabs(rows), options)) items.push_back(item.erased());
    return items;
  };
  const auto expected = read({.backend = Backend::interpreter});
  for (const std::int64_t bound : {0, 12'000}) {
    const WithFakeGpu gpu(seeded(static_cast<std::uint64_t>(bound)));
    CHECK(equal(read({.backend = Backend::cuda, .gpu_memory = bound}), expected));
    check_clean();
  }
}

TEST_CASE("offsets: only what somebody asks for leaves the GPU") {
  const std::int64_t items = 91;
  const auto values = numbers(200, 5);
  const auto flat = running(consume(elements(pieces(items, values, 6))));
  const auto shaped = running(consume(tabulate(pieces(items, values, 6))));
  const RunOptions options{.backend = Backend::cuda, .scheduler = "fixed:1000"};
  for (const bool by_gpu : {true, false}) {
    FakeOptions fake;
    fake.primitives = by_gpu;
    const WithFakeGpu gpu(fake);
    RunReport report;
    flat(options, &report);
    CHECK(report.gpu_offsets == (by_gpu ? 1 : 0));
    CHECK(report.gpu_offsets_by_host == (by_gpu ? 0 : 1));
    CHECK(copies_of(LogEntry::What::download, items * 8) == (by_gpu ? 0 : 1));
    CHECK(copies_of(LogEntry::What::upload, (items + 1) * 8) == (by_gpu ? 0 : 1));
    gpu->clear_log();
    shaped(options, nullptr);
    CHECK(copies_of(LogEntry::What::download, items * 8) == 1);
    CHECK(copies_of(LogEntry::What::upload, (items + 1) * 8) == (by_gpu ? 0 : 1));
    check_clean();
  }
}

TEST_CASE("offsets: without the device primitives the host makes them, and the report says why") {
  const auto run = running(consume(tabulate(boxes(small_rows(50)))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  const auto reason = [&](const cuda::Platform& platform) {
    cuda::set_platform(platform);
    RunReport report;
    CHECK(equal(run({.backend = Backend::cuda, .scheduler = "fixed:10"}, &report), expected));
    CHECK(report.gpu_offsets == 0);
    CHECK(report.gpu_offsets_by_host == report.chunks);
    check_clean();
    return report.gpu_offsets_reason;
  };
  FakeOptions none;
  none.primitives = false;
  CHECK(reason(gpu_host::fake_platform(none)) == "cuda: the simulated GPU has no device primitives");
  CHECK_THAT(reason(without_code()), Catch::Contains("not compiled"));
  // A GPU that the library has no code for says so when it is asked.
  const cuda::Platform platform = gpu_host::fake_platform();
  fake_gpu().fail("item_offsets", 1, 209);
  CHECK_THAT(reason(platform), Catch::Contains("offsets of items"));
}

TEST_CASE("offsets: nothing to do, and items without elements") {
  const std::vector<Vector<std::int64_t>> none, zeros(40, Vector<std::int64_t>{0}), last = [] {
    std::vector<Vector<std::int64_t>> rows(40, Vector<std::int64_t>{0});
    rows.back() = Vector<std::int64_t>{3};
    return rows;
  }();
  for (const auto& rows : {none, zeros, last}) {
    agree(running(consume(elements(boxes(rows)))));
    agree(running(consume(tabulate(slabs(rows)))));
  }
}

TEST_CASE("offsets: rows longer than a block of the canonical order get their schedule") {
  std::vector<Vector<std::int64_t>> rows(200, Vector<std::int64_t>{5});
  for (const std::int64_t longest : {4096, 4097}) {
    rows[130] = Vector<std::int64_t>{longest};
    const auto run = running(consume(elements(map_seq(
        [](auto row) { return sum(generate(the(sum(row)), [](auto k) { return cast<double>(k) * 0.1; })); },
        stream_in(rows)))));
    agree(run);
    for (const bool by_gpu : {true, false}) {
      FakeOptions fake;
      fake.primitives = by_gpu;
      const WithFakeGpu gpu(fake);
      run({.backend = Backend::cuda, .scheduler = "fixed:1000"}, nullptr);
      const auto log = gpu->log();
      const auto launches = std::count_if(log.begin(), log.end(), [](const LogEntry& e) {
        return e.done && e.what == LogEntry::What::kernel && e.entry.ends_with("_blocks");
      });
      CHECK(launches == (longest > 4096 ? 1 : 0));
      check_clean();
    }
  }
}

TEST_CASE("offsets: few long rows among many short ones are computed as few where the host knows them") {
  std::vector<Vector<double>> rows(500, numbers(100, 1));
  for (const int item : {100, 400}) rows[static_cast<std::size_t>(item)] = numbers(9000, 2);
  const auto run = running(consume(elements(map_seq(sums, stream_in(rows)))));
  agree(run);
  FakeOptions fake;
  fake.multiprocessors = 1;
  const WithFakeGpu gpu(fake);
  run({.backend = Backend::cuda, .scheduler = "fixed:1000"}, nullptr);
  std::vector<unsigned> grids;
  for (const LogEntry& e : gpu->log())
    if (e.done && e.what == LogEntry::What::kernel && e.entry.ends_with("_blocks")) {
      CHECK(e.entry.ends_with("few_blocks"));
      grids.push_back(e.grid);
    }
  CHECK(grids == std::vector<unsigned>{8});  // three blocks a row, and what might be one more of each
  check_clean();
}

TEST_CASE("offsets: sizes that cannot be are the host's errors, word by word") {
  using Rows = std::vector<Vector<std::int64_t>>;
  const auto lengths = [](const Rows& rows) {
    return running(consume(elements(map_seq(
        [](auto row) { return generate(100 / row[0], [](auto k) { return k; }); }, stream_in(rows)))));
  };
  const auto volumes = [](const Rows& rows) {
    return running(consume(elements(map_seq(
        [](auto row) {
          return generate(index_of(row[0] + 0, row[1] + 0, row[2] + 0), [](auto ix) { return ix[0]; });
        },
        stream_in(rows)))));
  };
  const auto with = [](const Vector<std::int64_t>& plain, const Vector<std::int64_t>& bad) {
    Rows rows(100, plain);
    rows[57] = bad;
    return rows;
  };
  const Vector<std::int64_t> one{1, 1, 1};
  const auto check = [&](const RunWith& run, const std::string& what) {
    const auto message = [&](Backend backend, const std::string& scheduler) {
      return message_of([&] { run({.backend = backend, .scheduler = scheduler}, nullptr); });
    };
    const std::string expected = message(Backend::cpu, "fixed:100");
    CHECK_THAT(expected, Catch::Contains(what));
    std::uint64_t seed = 0;
    for (const std::string scheduler : {"fixed:100", "fixed:10", "fixed:1"}) {
      const WithFakeGpu gpu(seeded(seed++));
      CHECK(message(Backend::cuda, scheduler) == expected);
      check_clean();
    }
  };
  check(volumes(with(one, {2, -3, 4})), "negative extent -3");
  check(volumes(with(one, {0, 0, -1})), "negative extent -1");
  check(volumes(with(one, {many, 2, 1})), "has too many elements in item 57 ");
  check(volumes(with(one, {many, 2, 0})), "nothing was thrown");
  check(volumes(with(one, {1, 1, many / 64 + 1})), "the size of a chunk overflows");
  check(lengths(with({7}, {-10})), "negative extent -10");
  // A size that could not be computed comes before what it would have been.
  check(lengths(with({7}, {0})), "zero");
  // Each for itself would do.
  const auto run = volumes(Rows(100, {1, 1, many / 64}));
  const std::string expected =
      message_of([&] { run({.backend = Backend::cpu, .scheduler = "fixed:100"}, nullptr); });
  CHECK_THAT(expected, Catch::Contains("the size of a chunk overflows"));
  const WithFakeGpu gpu;
  CHECK(message_of([&] { run({.backend = Backend::cuda, .scheduler = "fixed:100"}, nullptr); }) == expected);
  check_clean();
}

TEST_CASE("offsets: in any bound on GPU memory, their workspace included") {
  const auto values = numbers(200, 5);
  const std::int64_t held = 200 * 8 + 2 * 90 * 8 + 3 * 64;
  const auto run = running(consume(tabulate(pieces(90, values, 7))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  int done = 0, refused = 0, halved = 0;
  for (std::int64_t bound = held; bound < held + 12'000; bound += 331) {
    INFO("bound " << bound);
    const WithFakeGpu gpu(seeded(static_cast<std::uint64_t>(bound)));
    RunReport report;
    std::vector<HostArray> out;
    try {
      out = run({.backend = Backend::cuda, .gpu_memory = bound, .scheduler = "fixed:90"}, &report);
    } catch (const ResourceError&) {
      CHECK(done == 0);
      ++refused;
      check_clean();
      continue;
    }
    CHECK(equal(out, expected));
    CHECK(report.gpu_peak_bytes <= bound);
    ++done;
    halved += report.gpu_offsets > report.chunks;
    check_clean();
  }
  CHECK(done > 20);
  CHECK(refused > 0);
  CHECK(halved > 0);
}

TEST_CASE("offsets: the primitive fails while it runs") {
  const auto run = running(consume(elements(boxes(small_rows(60)))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  const RunOptions options{.backend = Backend::cuda, .scheduler = "fixed:20"};
  int kernels = 0;
  {
    const WithFakeGpu gpu;
    run(options, nullptr);
    kernels = gpu->calls("kernel");
    const auto log = gpu->log();
    CHECK(std::count_if(log.begin(), log.end(),
                        [](const LogEntry& e) { return e.done && e.entry == "item_offsets"; }) == 3);
    check_clean();
  }
  for (int k = 1; k <= kernels; ++k) {
    const WithFakeGpu gpu(seeded(static_cast<std::uint64_t>(k)));
    gpu->fail("kernel", k, launch_failed);
    CHECK_THROWS_AS(run(options, nullptr), RunError);
    gpu->heal();
    CHECK(equal(run(options, nullptr), expected));
    check_clean();
  }
}

TEST_CASE("offsets: while a chunk waits for its sizes the next one is on its way to the GPU") {
  const auto run = running(consume(elements(boxes(small_rows(200)))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  // An upload of another stream between the request for offsets and the kernel behind them.
  const auto overlaps = [](const std::vector<LogEntry>& log) {
    int waiting = 0;  // the stream
    for (const LogEntry& e : log) {
      if (e.done) continue;
      if (e.what == LogEntry::What::kernel && e.entry == "item_offsets")
        waiting = e.stream;
      else if (e.what == LogEntry::What::kernel && e.stream == waiting)
        waiting = 0;
      else if (e.what == LogEntry::What::upload && waiting != 0 && e.stream != waiting)
        return true;
    }
    return false;
  };
  // Threads may come too late.
  bool seen = false;
  for (int k = 0; k < 100 && !seen; ++k) {
    const WithFakeGpu gpu;
    CHECK(equal(run({.backend = Backend::cuda, .threads = 4, .scheduler = "fixed:10"}, nullptr), expected));
    seen = overlaps(gpu->log());
    check_clean();
  }
  CHECK(seen);
}

TEST_CASE("offsets: the timeline tells who made them") {
  const io_test::TemporaryDirectory dir;
  const auto run = running(consume(elements(boxes(small_rows(60)))));
  const RunOptions options{.backend = Backend::cuda, .scheduler = "fixed:20", .trace = dir / "t.json"};
  for (const bool by_gpu : {true, false}) {
    FakeOptions fake;
    fake.primitives = by_gpu;
    const WithFakeGpu gpu(fake);
    run(options, nullptr);
    const TraceFile file(dir / "t.json");
    int drawn = 0;
    for (const auto& [name, spans] : file.rows)
      for (const TraceSpan& span : spans)
        if (span.name == "offsets") {
          ++drawn;
          CHECK(span.arguments["schedule"] == "a scan of the sizes of 20 items");
        }
    CHECK(drawn == (by_gpu ? 3 : 0));
    const auto& facts = file.row("run")[0].arguments;
    CHECK(facts.value("offsets_by_gpu", 0) == (by_gpu ? 3 : 0));
    CHECK(facts.value("offsets_by_host", 0) == (by_gpu ? 0 : 3));
    CHECK(facts.contains("offsets_by_host_because") == !by_gpu);
    check_clean();
  }
}

}  // namespace anabranch::testing
