#include "run/backends/device_run.h"
#include "tests/cuda/support/whole_runs.h"

// Whole programs on a simulated GPU, out of core and out of memory.
namespace anabranch::testing {
namespace {

FakeOptions with_memory(std::int64_t bytes, std::uint64_t seed = 0) {
  FakeOptions options = seeded(seed);
  options.memory = bytes;
  return options;
}

}  // namespace

TEST_CASE("run: far more input than the GPU holds, in and out") {
  const Csr a(6000, 3001, 11, 30);
  const std::int64_t x = 3001 * 8 + 64, bound = 64 << 10;
  REQUIRE(a.bytes() > 15 * bound);
  const auto sum_rows = running(multiply(a.source(), numbers(3001, 12)));
  const auto keep_all = running(consume(elements(map_seq(
      [x = use(numbers(3001, 13))](auto row) {
        return map([=](auto e) { return x[cast<std::int64_t>(get<0>(e))] * get<1>(e); }, row);
      },
      stream_in(a.source())))));
  for (const auto& run : {sum_rows, keep_all}) {
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    for (const bool of_gpu : {false, true}) {
      std::uint64_t seed = 0;
      for (const std::string scheduler : {"adaptive", "paper", "fixed:200", "fixed:100000"}) {
        INFO(scheduler << (of_gpu ? ", a small GPU" : ", a bound"));
        const WithFakeGpu gpu(of_gpu ? with_memory(bound, seed++) : seeded(seed++));
        RunReport report;
        CHECK(equal(run({.backend = Backend::cuda, .gpu_memory = of_gpu ? 0 : bound, .scheduler = scheduler},
                        &report),
                    expected));
        CHECK(report.gpu_peak_bytes <= bound);
        CHECK(report.gpu_peak_bytes > bound / 8);
        CHECK(uploads_of(x - 64) == 1);
        check_clean();
      }
    }
  }
}

TEST_CASE("run: arrays that no later kernel of a chunk reads make room for the next ones") {
  const Csr a(200, 1000, 44, 60);
  const auto computation = consume(elements(map_seq(
      [](auto row) {
        Acc<Vector<double>> values = get<1>(unzip(row));
        for (int i = 0; i < 8; ++i) {
          const Exp<double> sum = the(fold(plus, 1.0, values));
          values = map([=](auto v) { return v / sum; }, values);
        }
        return values;
      },
      stream_in(a.source()))));
  const auto run = running(computation);
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  const WithFakeGpu gpu;
  RunReport report;
  CHECK(equal(run({.backend = Backend::cuda, .scheduler = "fixed:100000"}, &report), expected));
  // At most three arrays of a row's values are alive at a time, not nine; the columns are never uploaded.
  const std::int64_t values = a.bytes() / 12 * 8;
  CHECK(report.gpu_peak_bytes > 2 * values);
  CHECK(report.gpu_peak_bytes < 3 * values);
  check_clean();
}

TEST_CASE("run: freed blocks that are kept count, too, where there is a bound") {
  FakeOptions pooled;
  pooled.exact_memory = false;
  const WithFakeGpu gpu(pooled);
  {
    const Csr a(3000, 100, 14, 60);
    const auto computation = multiply(a.source(), numbers(100, 15));
    const auto expected = running(computation)({.backend = Backend::interpreter}, nullptr);
    std::int64_t most = 0;
    const std::int64_t bound = 128 << 10;
    const RunOptions options{.backend = Backend::cuda, .gpu_memory = bound, .progress = [&](const Progress&) {
                               most = std::max(most, gpu->memory_in_use());
                             }};
    CHECK(equal(running(computation)(options, nullptr), expected));
    CHECK(most <= bound + bound / 8);
  }
  check_clean();
}

TEST_CASE("run: under a bound nothing is given back to the driver while there is room") {
  FakeOptions pooled;
  pooled.exact_memory = false;
  const WithFakeGpu gpu(pooled);
  {
    const Csr a(3000, 100, 14, 60);
    const auto program = compile(multiply(a.source(), numbers(100, 15)));
    const RunOptions options{
        .backend = Backend::cuda, .gpu_memory = std::int64_t{64} << 20, .scheduler = "fixed:1000"};
    for (int k = 0; k < 3; ++k) program.run(options);
    CHECK(gpu->calls("mem_alloc") > 0);
    CHECK(gpu->calls("mem_free") == 0);
  }
  check_clean();
}

TEST_CASE("run: a chunk that does not fit is halved, an item that does not fit is refused") {
  std::vector<Vector<double>> rows(40, numbers(100, 16));
  const std::int64_t bound = 30'000;
  {
    const WithFakeGpu gpu;
    const auto run = running(consume(elements(map_seq(sums, stream_in(rows)))));
    RunReport report;
    CHECK(equal(run({.backend = Backend::cuda, .gpu_memory = bound, .scheduler = "fixed:40"}, &report),
                run({.backend = Backend::interpreter}, nullptr)));
    check_clean();
  }
  rows[30] = numbers(10'000, 17);
  for (const std::string scheduler : {"fixed:40", "fixed:1", "adaptive"}) {
    const WithFakeGpu gpu;
    std::int64_t items = 0;
    const RunOptions options{.backend = Backend::cuda,
                             .gpu_memory = bound,
                             .scheduler = scheduler,
                             .progress = [&](const Progress& p) { items = p.items; }};
    const auto computation = consume(elements(map_seq(sums, stream_in(rows))));
    CHECK_THROWS_AS(running(computation)(options, nullptr), ResourceError);
    CHECK_THAT(message_of([&] { running(computation)(options, nullptr); }), Catch::Contains("GPU memory"));
    if (scheduler == "fixed:1") CHECK(items == 30);
    check_clean();
  }
  // The CPU has room for that item, and a GPU beside it gets the others.
  for (const std::string scheduler : {"fixed:40", "fixed:1", "adaptive"}) {
    const WithFakeGpu gpu;
    const auto run = running(consume(elements(map_seq(sums, stream_in(rows)))));
    const RunOptions options{.backend = Backend::cpu_and_cuda, .gpu_memory = bound, .scheduler = scheduler};
    CHECK(equal(run(options, nullptr), run({.backend = Backend::interpreter}, nullptr)));
    check_clean();
  }
  // What is used by all chunks does not fit.
  const WithFakeGpu gpu;
  CHECK_THROWS_AS(running(multiply(Csr(100, 5000, 18).source(), numbers(5000, 19)))(
                      {.backend = Backend::cuda, .gpu_memory = bound}, nullptr),
                  ResourceError);
  CHECK_THROWS_AS(running(map([](auto e) { return e + 1.0; }, use(numbers(5000, 19))))(
                      {.backend = Backend::cuda, .gpu_memory = bound}, nullptr),
                  ResourceError);
  check_clean();
}

TEST_CASE("run: the shapes of items are known when a part of a chunk has come") {
  std::vector<Vector<double>> rows;
  for (std::int64_t i = 0; i < 400; ++i) rows.push_back(numbers(40 + i % 7, static_cast<std::uint64_t>(i)));
  const auto doubled = [](auto row) { return map([](auto v) { return v * 2.0; }, row); };
  const auto run = running(consume(tabulate(map_seq(doubled, stream_in(rows)))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda}) {
    const WithFakeGpu gpu;
    RunReport report;
    const RunOptions options{.backend = backend, .gpu_memory = 60'000, .scheduler = "fixed:100000"};
    CHECK(equal(run(options, &report), expected));
    CHECK(report.gpu_chunks > 0);
    check_clean();
  }
}

TEST_CASE("run: little memory on the host") {
  const io_test::TemporaryDirectory directory;
  const Csr a(10'000, 300, 20, 40);
  a.write(directory / "a.npz");
  const auto source = io::open_csr<std::int32_t, double>(directory / "a.npz", {.memory = 1 << 19});
  const auto file = running(multiply(source, numbers(300, 21)));
  const auto memory = running(multiply(a.source(), numbers(300, 21)));
  for (const auto& run : {file, memory}) {
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda})
      for (const std::string scheduler : {"adaptive", "paper", "fixed:100", "fixed:100000"}) {
        const std::int64_t bound = 3 << 19;
        INFO(scheduler << ", back end " << int(backend));
        const WithFakeGpu gpu(seeded(1));
        RunReport report;
        CHECK(equal(run({.backend = backend, .memory = bound, .scheduler = scheduler}, &report), expected));
        CHECK(report.peak_bytes <= bound);
        check_clean();
      }
  }
}

TEST_CASE("run: inner sequences, whatever memory the host has for what they take and give") {
  const Csr a(40, 300, 22, 30);
  const auto inner = [](auto row) {
    const Acc<Vector<double>> v = get<1>(unzip(row));
    return consume(elements(produce(
        size(v), [=](auto n) { return map([=](auto x) { return x * v[n] + cast<double>(size(v)); }, v); })));
  };
  const auto run = running(consume(elements(map_seq(inner, stream_in(a.source())))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  for (const std::string scheduler : {"adaptive", "fixed:3", "fixed:100000"}) {
    int fit = 0;
    for (std::int64_t bound = 256; fit < 4; bound += bound / 4) {
      INFO(scheduler << ", " << bound << " bytes");
      const WithFakeGpu gpu(seeded(static_cast<std::uint64_t>(bound)));
      try {
        const auto got = run({.backend = Backend::cuda, .memory = bound, .scheduler = scheduler}, nullptr);
        CHECK(equal(got, expected));
        ++fit;
      } catch (const ResourceError&) {
        REQUIRE(bound < 1 << 24);
      }
      check_clean();
    }
  }
}

TEST_CASE("run: items that a state passes through leave the GPU when they have been computed") {
  // Of a source in memory, which lives as long as the run: one by one, and a chunk at once.
  const auto total = [](auto v) { return consume(elements(map_seq([](auto x) { return sum(x); }, v))); };
  const auto m = numbers(2'000 * 64, 5);
  Matrix<double> matrix(Index{2'000, 64});
  for (std::int64_t i = 0; i < m.size(); ++i) matrix.mutable_data()[i] = m.data()[i];
  const auto vectors = running(total(map_accum_seq(
      [](auto state, auto row) {
        const auto moved = zip_with([](auto a, auto b) { return a * 0.5 + b; }, state, row);
        return std::pair(moved, moved);
      },
      use(numbers(64, 6)), rows(use(matrix)))));
  const auto scalars = running(consume(elements(
      map_accum_seq([](auto state, auto x) { return std::pair(unit(the(state) * 0.5 + the(x)), state); },
                    unit(0.25), rows(use(m))))));
  for (const auto& run : {vectors, scalars}) {
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    const WithFakeGpu gpu(seeded(2));
    CHECK(equal(run({.backend = Backend::cuda, .gpu_memory = 256 << 10, .scheduler = "fixed:500"}, nullptr),
                expected));
    check_clean();
  }
}

TEST_CASE("run: after a run the GPU's memory is free for others, but for some that is kept") {
  FakeOptions pooled;
  pooled.exact_memory = false;
  pooled.memory = std::int64_t{2} << 30;
  const WithFakeGpu gpu(pooled);
  const std::int64_t n = std::int64_t{40} << 20;  // 320 MiB
  const auto sum =
      compile(fold(plus, 0.0, map([](Exp<double> e) { return e + 1.0; }, use(Vector<double>(Index{n})))));
  CHECK(*sum.run({.backend = Backend::cuda}).data() == static_cast<double>(n));
  CHECK(gpu->memory_in_use() <= 256 << 20);
}

TEST_CASE("run: partial results of long rows that no memory holds are refused") {
  const std::int64_t length = std::int64_t{1} << 58;                // in 2^46 blocks
  for (const std::int64_t rows : {1, 1 << 17, 1 << 18, 3 << 17}) {  // two, three: more blocks than numbers
    INFO(rows << " rows");
    const auto run = running(consume(elements(produce(
        rows, [=](auto i) { return sum(generate(length, [=](auto k) { return cast<double>(k + i); })); }))));
    for (const Backend backend : {Backend::cpu, Backend::cuda}) {
      const WithFakeGpu gpu;
      CHECK_THROWS_AS(run({.backend = backend, .scheduler = "fixed:100000"}, nullptr), ResourceError);
      check_clean();
    }
  }
}

TEST_CASE("run: memory that a chunk has given back is large enough for what gets it") {
  FakeOptions pooled;
  pooled.exact_memory = false;
  const WithFakeGpu gpu(pooled);
  {
    const auto device = cuda::Device::get();
    const auto executor = scheduler::make_plain_executor(1);
    const std::int64_t small = 81 << 10, large = 86 << 10;  // of one class of sizes, 88 KiB
    REQUIRE(device->usual(small) == device->usual(large));
    // With less than that free a block is no larger than it must be.
    runtime::DeviceRun run(device, {}, device->usual(large) - 1024, *executor, nullptr, {});
    runtime::DeviceStream stream(device, nullptr, 1);
    runtime::StreamMemory memory(run, stream);
    memory.give_back(memory.take("small", small));
    const runtime::DeviceMemory block = memory.take("large", large);
    const std::vector<std::byte> zeros(static_cast<std::size_t>(large));
    stream.upload(block.address(), zeros.data(), large);
    stream.synchronize();
  }
  check_clean();
}

TEST_CASE("run: page-locked memory is made a few times, not for every chunk") {
  FakeOptions pooled;
  pooled.exact_memory = false;
  const Csr a(1000, 100, 42);
  const WithFakeGpu gpu(pooled);
  {
    const auto program = compile(multiply(a.source(), numbers(100, 43)));
    const RunOptions options{.backend = Backend::cuda, .scheduler = "fixed:10"};
    for (int k = 0; k < 5; ++k) program.run(options);
    CHECK(gpu->calls("mem_host_alloc") < 40);
    CHECK(gpu->calls("mem_alloc") < 60);
  }
  check_clean();
}

TEST_CASE("run: page-locked memory grows with the chunks by what is missing, and none is freed") {
  FakeOptions pooled;
  pooled.exact_memory = false;
  constexpr std::int64_t MiB = 1 << 20;
  std::vector<std::int64_t> lengths;
  for (std::int64_t row = 1; row <= 8; ++row) lengths.push_back(row * MiB / 8);  // of 1.5, 3, ... 12 MiB
  const Csr a(lengths, 1000);
  const auto product = multiply(a.source(), numbers(1000, 44));
  const auto expected = running(product)({.backend = Backend::cpu}, nullptr);
  for (const int threads : {1, 4}) {
    INFO(threads << " threads");
    const WithFakeGpu gpu(pooled);
    const auto program = compile(product);
    CHECK(
        equal(arrays_of(program.run({.backend = Backend::cuda, .threads = threads, .scheduler = "fixed:1"})),
              expected));
    // Of several slots at most what the largest four chunks take, and an eighth; they are as many as it pays.
    CHECK(gpu->page_locked_in_use() > 12 * MiB);
    CHECK(gpu->page_locked_in_use() <= 45 * MiB);
    CHECK(gpu->calls("mem_free_host") == 0);
  }
  check_clean();
}

}  // namespace anabranch::testing
