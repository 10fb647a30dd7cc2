#include "tests/cuda/support/whole_runs.h"

#include <atomic>
#include <thread>

// Whole programs on a simulated GPU, beside the interpreter: the same bits, whoever computes.
namespace anabranch::testing {

// ---- The same bits

TEST_CASE("run: a sparse matrix in memory, times a vector") {
  const Csr a(250, 300, 1);
  const std::int64_t x = 300 * 8 + 64;
  agree(running(multiply(a.source(), numbers(300, 2))), {0, x + 8'000, x + 6'000});
}

TEST_CASE("run: a sparse matrix in a file, times a vector") {
  const io_test::TemporaryDirectory directory;
  const Csr a(250, 300, 3);
  a.write(directory / "a.npz");
  const auto source = [&] { return io::open_csr<std::int32_t, double>(directory / "a.npz"); };
  agree(running(multiply(source(), numbers(300, 4))), {0, 300 * 8 + 64 + 6'000});
}

TEST_CASE("run: sizes that depend on values") {
  const auto values = numbers(200, 5);
  const std::int64_t held = 200 * 8 + 2 * 90 * 8 + 3 * 64;
  agree(running(consume(elements(pieces(90, values, 6)))), {0, held + 6'000});
  agree(running(consume(tabulate(pieces(90, values, 7)))), {0, held + 6'000});
  agree(running(consume(elements(map_seq(
            [](auto row) {
              const auto total = sum(row);
              return map([=](auto e) { return e - the(total); }, row);
            },
            pieces(90, values, 8))))),
        {0, held + 12'000});
}

TEST_CASE("run: several results, several components, several stages, and what is computed once") {
  const std::vector<Vector<double>> rows = [] {
    std::vector<Vector<double>> all;
    for (int i = 0; i < 60; ++i) all.push_back(numbers((i * 7) % 31, static_cast<std::uint64_t>(i)));
    return all;
  }();
  const auto s = stream_in(rows);
  auto pairs = consume(elements(map_seq(
      [](auto row) { return map([](auto e) { return pack(e, cast<std::int32_t>(e * 100.0)); }, row); }, s)));
  auto totals = consume(elements(map_seq(sums, s)));
  auto shifted = map([=](auto e) { return e + 1.0; }, totals);
  auto again = consume(
      elements(map_seq([shifted](auto row) { return fold(plus, 0.0, zip_with(times, row, shifted)); }, s)));
  auto table = consume(tabulate(s));
  agree(running(std::tuple(pairs, totals, shifted, again, table)), {0, 10'000});
}

TEST_CASE("run: nothing to do, and results without elements") {
  const std::vector<Vector<double>> none, empty(50, Vector<double>(Index{0}));
  for (const auto& rows : {none, empty}) {
    agree(running(consume(elements(map_seq(sums, stream_in(rows))))));
    agree(running(consume(
        elements(map_seq([](auto r) { return map([](auto e) { return e * 2.0; }, r); }, stream_in(rows))))));
    agree(running(consume(tabulate(stream_in(rows)))));
  }
  agree(running(consume(elements(produce(0, [](auto i) { return unit(i); })))));
  agree(running(
      consume(elements(produce(20, [](auto i) { return generate(i * 0, [](auto k) { return k; }); })))));
  agree(running(multiply(Csr(40, 10, 1, 1).source(), numbers(10, 1))));
  agree(running(map([](auto e) { return e + 1.0; }, use(Vector<double>(Index{0})))));
  agree(running(sum(use(Vector<double>(Index{0})))));
}

TEST_CASE("run: streaming out") {
  const auto values = numbers(200, 9);
  const auto read = [&](const RunOptions& options) {
    std::vector<HostArray> items;
    for (const auto& [row, total] :
         stream_out(map_seq([](auto r) { return std::tuple(map([](auto e) { return e * 3.0; }, r), sum(r)); },
                            pieces(300, values, 10)),
                    options)) {
      items.push_back(row.erased());
      items.push_back(total.erased());
    }
    return items;
  };
  const auto expected = read({.backend = Backend::interpreter});
  for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda, Backend::automatic})
    for (const std::int64_t bound : {0, 200 * 8 + 2 * 300 * 8 + 3 * 64 + 8'000}) {
      const WithFakeGpu gpu(seeded(static_cast<std::uint64_t>(bound)));
      CHECK(equal(read({.backend = backend, .gpu_memory = bound}), expected));
      check_clean();
    }
  // Read in part only.
  const WithFakeGpu gpu;
  {
    auto out = stream_out(pieces(300, values, 10), {.backend = Backend::cuda});
    CHECK(!(out.begin() == out.end()));
  }
  check_clean();
}

// ---- Who computes

TEST_CASE("run: from several threads on one GPU") {
  for (const std::uint64_t seed : {0, 1, 2}) {
    const WithFakeGpu gpu(seeded(seed));
    {
      const Csr a(300, 50, 37);
      const auto program = compile(multiply(a.source(), numbers(50, 38)));
      const auto other = compile<Vector<double>>([](auto x) {
        return consume(elements(
            produce(100, [=](auto i) { return sum(map([=](auto e) { return e * cast<double>(i); }, x)); })));
      });
      const auto x = numbers(50, 39);
      const auto expected = program.run({.backend = Backend::interpreter}).erased();
      const auto expected_other = other.run({.backend = Backend::interpreter}, x).erased();
      std::atomic<int> good = 0;
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
          for (int k = 0; k < 4; ++k) {
            const RunOptions options{.backend = (t + k) % 2 == 0 ? Backend::cuda : Backend::cpu_and_cuda,
                                     .gpu_memory = k == 1 ? 20'000 : 0,
                                     .scheduler = "fixed:17"};
            good += same(other.run(options, x).erased(), expected_other);
            good += same(compile(multiply(a.source(), numbers(50, 38))).run(options).erased(), expected);
          }
        });
      for (auto& t : threads) t.join();
      CHECK(good == 32);
    }
    check_clean();
  }
}

TEST_CASE("run: the CPU takes what the GPU has no room for, and the other way round") {
  const Csr a(3000, 100, 40);
  for (const int threads : {1, 2, 0}) {
    const WithFakeGpu gpu;
    {
      const auto program = compile(multiply(a.source(), numbers(100, 41)));
      const auto expected = program.run({.backend = Backend::cuda}).erased();
      RunReport report;  // the kernels are there: the GPU has the first chunk
      const RunOptions both{.backend = Backend::cpu_and_cuda, .threads = threads, .scheduler = "fixed:10"};
      CHECK(same(program.run(both, &report).erased(), expected));
      CHECK(same(program.run({.backend = Backend::interpreter}).erased(), expected));
      CHECK(report.gpu_chunks > 0);
      CHECK(report.gpu_chunks <= report.chunks);
      CHECK(report.chunks == 300);
    }
    check_clean();
  }
}

TEST_CASE("run: all threads are there where none were asked for") {
  const WithFakeGpu gpu;
  RunReport cpu, both;
  const auto run = running(consume(elements(map_seq(sums, stream_in(std::vector{numbers(3, 1)})))));
  run({.backend = Backend::cpu}, &cpu);
  run({.backend = Backend::cpu_and_cuda}, &both);
  CHECK(both.threads == std::max(cpu.threads, 3));
  check_clean();
}

TEST_CASE("run: automatic takes what is expected to be quicker, and says why with both figures") {
  const WithFakeGpu gpu;
  RunReport report;
  const auto chosen = [&](const RunWith& run) {
    CHECK(equal(run({.backend = Backend::automatic, .threads = 1}, &report),
                run({.backend = Backend::interpreter}, nullptr)));
    CHECK_THAT(report.backend_reason, Catch::Contains("the GPU (Simulated GPU) would take about ") &&
                                          Catch::Contains("MB over a link of 9.99 GB/s; the CPU about ") &&
                                          Catch::Contains(" million additions by 1 threads"));
    return report.backend;
  };
  // The link is slower than the memory of a thread that adds.
  CHECK(chosen(running(multiply(Csr(20'000, 500, 11).source(), numbers(500, 12)))) == "cpu");
  CHECK(report.gpu_chunks == 0);
  // Much to do for each byte, in a stream and outside of streams.
  CHECK(chosen(running(consume(elements(produce(300, [](auto i) {
          return sum(generate(1000, [=](auto k) { return cast<double>(i * k) * 0.5 + 1.0; }));
        }))))) == "cuda");
  CHECK(report.gpu_chunks == report.chunks);
  const auto x = numbers(600, 14);
  const auto acc = use(x);
  const auto distances = sum(generate(Index{600, 600}, [=](auto at) {
    const auto a = acc[at[0]], b = acc[at[1]];
    return (a - b) * (a - b) / (a * b + 2.0);
  }));
  CHECK(chosen(running(distances)) == "cuda");
  // The link is measured once.
  CHECK(uploads_of(8 << 20) == 3);
  check_clean();
}

TEST_CASE("run: tiles are dealt to as many blocks as the driver says run at a time") {
  const Csr a(2000, 100, 49, 100);
  const auto run = running(multiply(a.source(), numbers(100, 50)));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  const auto grids = [&](int shared_of_kernels) {
    FakeOptions options;
    options.shared_of_kernels = shared_of_kernels;
    const WithFakeGpu gpu(options);
    CHECK(equal(run({.backend = Backend::cuda, .scheduler = "fixed:100000"}, nullptr), expected));
    std::vector<std::int64_t> out;
    for (const LogEntry& e : gpu->log())
      if (e.done && e.what == LogEntry::What::kernel) out.push_back(e.grid);
    check_clean();
    return out;
  };
  const std::int64_t tiles = (a.offsets.back() + 4 * a.rows() + 4095) / 4096;
  REQUIRE(tiles > 16);
  REQUIRE(tiles <= 32);
  CHECK(grids(0) == std::vector<std::int64_t>{tiles});  // eight on each of four multiprocessors
  CHECK(grids(100 << 10) == std::vector<std::int64_t>{8});
}

TEST_CASE("run: for little to do automatic opens no GPU") {
  const WithFakeGpu gpu;
  RunReport report;
  const auto run = running(sum(use(numbers(10, 13))));
  CHECK(
      equal(run({.backend = Backend::automatic}, &report), run({.backend = Backend::interpreter}, nullptr)));
  CHECK(report.backend == "cpu");
  CHECK_THAT(report.backend_reason, Catch::Contains("the launches on a GPU alone"));
  CHECK(gpu->calls("init") == 0);
  check_clean();
}

TEST_CASE("run: automatic takes the CPU where there is no GPU, and says why") {
  const auto run = running(sum(use(numbers(500'000, 2))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  RunReport report;
  FakeOptions none;
  none.gpus = 0;
  const WithFakeGpu gpu(none);
  CHECK(equal(run({.backend = Backend::automatic}, &report), expected));
  CHECK(report.backend == "cpu");
  CHECK_THAT(report.backend_reason, Catch::Contains("the driver finds none"));
  CHECK(report.gpu_chunks == 0);
  CHECK_THROWS_AS(run({.backend = Backend::cuda}, nullptr), BackendUnavailable);
  CHECK_THROWS_AS(run({.backend = Backend::cpu_and_cuda}, nullptr), BackendUnavailable);
  const auto read = [&](Backend backend) {
    std::int64_t seen = 0;
    for (const auto& item : stream_out(pieces(20, numbers(100, 1), 2), {.backend = backend}))
      seen += item.size() >= 0;
    return seen;
  };
  CHECK(read(Backend::automatic) == 20);
  CHECK_THROWS_AS(read(Backend::cuda), BackendUnavailable);
  check_clean();
}

TEST_CASE("run: a GPU that the compiler does not know is none") {
  class TooNew final : public cuda::Compiler {
   public:
    Result compile(const cuda::Unit&, const std::string&, const std::string& architecture) override {
      return static_cast<void>(settings(architecture)), Result();
    }
    std::string version() const override { return "99.0"; }
    std::string settings(const std::string& architecture) const override {
      throw BackendUnavailable("cuda: NVRTC 99.0 does not compile for " + architecture);
    }
  };
  cuda::Platform platform = gpu_host::fake_platform();
  platform.compiler = std::make_shared<TooNew>();
  cuda::set_platform(platform);
  const auto run = running(fold(plus, 0.0, use(numbers(500'000, 1))));
  RunReport report;
  CHECK(
      equal(run({.backend = Backend::automatic}, &report), run({.backend = Backend::interpreter}, nullptr)));
  CHECK(report.backend == "cpu");
  CHECK_THAT(report.backend_reason, Catch::Contains("does not compile for sm_90"));
  CHECK_THROWS_AS(run({.backend = Backend::cuda}, nullptr), BackendUnavailable);
  check_clean();
}

TEST_CASE("run: the caller's context is what it was") {
  const Csr a(200, 100, 48);
  const WithFakeGpu gpu;
  const cuda::DriverApi& driver = *cuda::open_platform().driver;
  const auto current = [&] {
    cuda::Context now = nullptr;
    static_cast<void>(driver.ctx_get_current(&now));
    return now;
  };
  static_cast<void>(cuda::Device::get());  // starts the driver
  for (const cuda::Context mine : {gpu_host::foreign_context(), cuda::Context()}) {
    REQUIRE(driver.ctx_set_current(mine) == cuda::success);
    for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda}) {
      running(multiply(a.source(), numbers(100, 49)))({.backend = backend, .scheduler = "fixed:20"}, nullptr);
      CHECK(current() == mine);
    }
    {
      auto items = stream_out(map_seq([](auto row) { return get<1>(unzip(row)); }, stream_in(a.source())),
                              {.backend = Backend::cuda, .scheduler = "fixed:20"});
      auto item = items.begin();
      for (int k = 0; k < 50; ++k) ++item;
      CHECK(current() == mine);
    }
    CHECK(current() == mine);
  }
  check_clean();
}

}  // namespace anabranch::testing
