#include <anabranch/anabranch.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <thread>

#include <fmt/format.h>

#include "io/matrix_files.h"
#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"
#include "support/host_arrays.h"

// Whole programs on a simulated GPU, beside the interpreter: out of core, out of memory, out of luck.
namespace anabranch::testing {
namespace {

using gpu_host::fake_gpu;
using gpu_host::FakeOptions;
using gpu_host::LogEntry;
using gpu_host::WithFakeGpu;

constexpr int out_of_memory = 2, illegal_address = 700, launch_failed = 719, device_lost = 46;

FakeOptions seeded(std::uint64_t seed) {
  FakeOptions options;
  options.seed = seed;
  return options;
}
FakeOptions with_memory(std::int64_t bytes, std::uint64_t seed = 0) {
  FakeOptions options = seeded(seed);
  options.memory = bytes;
  return options;
}

void check_clean() {
  cuda::set_platform({});
  CHECK(fake_gpu().leaks() == "");
  CHECK(fake_gpu().violations() == std::vector<std::string>{});
}

Vector<double> numbers(std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Vector<double> v(Index{n});
  for (std::int64_t i = 0; i < n; ++i) v.set(i, std::ldexp(static_cast<double>(engine() >> 11), -53) - 0.5);
  return v;
}

/// A sparse matrix in memory. Some rows are empty, some long.
struct Csr {
  std::int64_t cols = 0;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  Csr(std::int64_t rows, std::int64_t width, std::uint64_t seed, std::int64_t longest = 12) : cols(width) {
    std::mt19937_64 engine(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto n = static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(longest));
      for (std::int64_t k = 0; k < n; ++k) {
        columns.push_back(static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(cols)));
        values.push_back(std::ldexp(static_cast<double>(engine() >> 11), -53) - 0.5);
      }
      offsets.push_back(offsets.back() + n);
    }
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t bytes() const { return 12 * offsets.back(); }
  auto source() const {
    return io::csr_view(rows(), cols, std::span(offsets), std::span(columns), std::span(values));
  }
  void write(const std::string& path) const {
    io::CsrWriter out(path, cols, ScalarType::int32, ScalarType::float64);
    std::vector<std::int64_t> lengths;
    for (std::size_t i = 1; i < offsets.size(); ++i) lengths.push_back(offsets[i] - offsets[i - 1]);
    out.append(std::span<const std::int64_t>(lengths), std::span<const std::int32_t>(columns),
               std::span<const double>(values));
    out.commit();
  }
};

template <class Stream>
auto multiply(const Stream& rows, const Vector<double>& x) {
  return consume(elements(map_seq(
      [x = use(x)](auto row) {
        auto [columns, values] = unzip(row);
        return fold(plus, 0.0, zip_with(times, values, gather(columns, x)));
      },
      stream_in(rows))));
}

using RunWith = std::function<std::vector<HostArray>(const RunOptions&, RunReport*)>;

template <int N, class T>
std::vector<HostArray> arrays_of(const Array<N, T>& array) {
  return {array.erased()};
}
template <class... As>
std::vector<HostArray> arrays_of(const std::tuple<As...>& arrays) {
  return std::apply([](const auto&... a) { return std::vector<HostArray>{a.erased()...}; }, arrays);
}

/// Each call compiles, so that nothing of the device is left behind. For CPU and GPU together it runs on the
/// GPU first: where the kernels are not there yet, all chunks go to the CPU.
template <class R>
RunWith running(const R& computation, bool first_may_fail = true) {
  return [=](const RunOptions& options, RunReport* report) {
    const auto program = compile(computation);
    if (options.backend == Backend::cpu_and_cuda) try {
        program.run({.backend = Backend::cuda, .scheduler = options.scheduler});
      } catch (const Error&) {
        if (!first_may_fail) throw;
      }
    return arrays_of(program.run(options, report));
  };
}

bool equal(const std::vector<HostArray>& a, const std::vector<HostArray>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostArray& x, const HostArray& y) { return same(x, y); });
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

const std::vector<std::string> schedulers{"adaptive", "paper", "fixed:1", "fixed:7", "fixed:100000"};

/// All schedulers, seeds and bounds give the interpreter's bits, in the bound, and leave nothing behind.
void agree(const RunWith& run, const std::vector<std::int64_t>& bounds = {0}) {
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  std::uint64_t seed = 0;
  for (const std::string& scheduler : schedulers)
    for (const std::int64_t bound : bounds)
      for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda}) {
        RunReport report;
        INFO(scheduler << ", bound " << bound << ", seed " << seed << ", back end " << int(backend));
        const WithFakeGpu gpu(seeded(seed++));
        CHECK(
            equal(run({.backend = backend, .gpu_memory = bound, .scheduler = scheduler}, &report), expected));
        if (bound > 0) CHECK(report.gpu_peak_bytes <= bound);
        CHECK(report.backend == (backend == Backend::cuda ? "cuda" : "cpu+cuda"));
        CHECK(report.gpu_chunks >= 0);
        CHECK(report.gpu_chunks <= report.chunks);
        if (backend == Backend::cuda) CHECK(report.gpu_chunks == report.chunks);
        check_clean();
      }
}

/// Bytes of the uploads that were asked for.
std::int64_t uploads_of(std::int64_t bytes) {
  const auto log = fake_gpu().log();
  return std::count_if(log.begin(), log.end(), [&](const LogEntry& e) {
    return e.what == LogEntry::What::upload && !e.done && e.bytes == bytes;
  });
}

/// Sizes that only the values tell: item i has lengths[i] elements from starts[i] on.
auto pieces(std::int64_t items, const Vector<double>& values, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Vector<std::int64_t> starts(Index{items}), lengths(Index{items});
  for (std::int64_t i = 0; i < items; ++i) {
    lengths.set(i, static_cast<std::int64_t>(engine() % 23));
    starts.set(i, static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(values.size() - 23)));
  }
  return produce(items, [s = use(starts), l = use(lengths), v = use(values)](auto i) {
    return generate(l[i], [=](auto k) { return v[s[i] + k]; });
  });
}

/// Numbered items, made when they are read; number `bad` cannot be made.
auto made_items(int count, int bad = -1, const std::function<void(int)>& watch = {}) {
  return std::views::iota(0, count) | std::views::transform([=](int i) {
           if (watch) watch(i);
           if (i == bad) throw std::domain_error("item " + std::to_string(i) + " is not to be had");
           return numbers(i % 17, static_cast<std::uint64_t>(i));
         });
}

const auto sums = [](auto row) { return sum(row); };

}  // namespace

// ---- The same bits

TEST_CASE("run: a sparse matrix in memory, times a vector") {
  const Csr a(700, 300, 1);
  const std::int64_t x = 300 * 8 + 64;
  agree(running(multiply(a.source(), numbers(300, 2))), {0, x + 20'000, x + 6'000});
}

TEST_CASE("run: a sparse matrix in a file, times a vector") {
  const io_test::TemporaryDirectory directory;
  const Csr a(700, 300, 3);
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

// ---- Memory

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

TEST_CASE("run: little memory on the host") {
  const io_test::TemporaryDirectory directory;
  const Csr a(20'000, 300, 20, 40);
  a.write(directory / "a.npz");
  const auto source = io::open_csr<std::int32_t, double>(directory / "a.npz", {.memory = 1 << 20});
  const auto file = running(multiply(source, numbers(300, 21)));
  const auto memory = running(multiply(a.source(), numbers(300, 21)));
  for (const auto& run : {file, memory}) {
    const auto expected = run({.backend = Backend::interpreter}, nullptr);
    for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda})
      for (const std::string scheduler : {"adaptive", "paper", "fixed:100", "fixed:100000"}) {
        const std::int64_t bound = 3 << 20;
        INFO(scheduler << ", back end " << int(backend));
        const WithFakeGpu gpu(seeded(1));
        RunReport report;
        CHECK(equal(run({.backend = backend, .memory = bound, .scheduler = scheduler}, &report), expected));
        CHECK(report.peak_bytes <= bound);
        check_clean();
      }
  }
}

// ---- Order

TEST_CASE("run: what is used is uploaded once") {
  const Csr a(500, 5003, 22);
  for (const std::string& scheduler : schedulers) {
    const WithFakeGpu gpu;
    RunReport report;
    running(multiply(a.source(), numbers(5003, 23)))({.backend = Backend::cuda, .scheduler = scheduler},
                                                     &report);
    CHECK(uploads_of(5003 * 8) == 1);
    if (scheduler == "fixed:1") CHECK(report.chunks == 500);
    check_clean();
  }
}

TEST_CASE("run: page-locked memory is uploaded as it lies, other memory by way of the run's own") {
  const Csr a(300, 500, 45);
  const WithFakeGpu gpu;
  {
    const auto device = cuda::Device::get();
    const cuda::PinnedBlock locked(device, static_cast<std::int64_t>(a.values.size() * sizeof(double)));
    std::memcpy(locked.data(), a.values.data(), a.values.size() * sizeof(double));
    const std::span<const double> values(reinterpret_cast<const double*>(locked.data()), a.values.size());
    const auto x = numbers(500, 46);
    const auto staged = [&](const auto& source) {
      RunReport report;
      const auto out =
          running(multiply(source, x))({.backend = Backend::cuda, .scheduler = "fixed:1000"}, &report);
      CHECK(equal(out, running(multiply(source, x))({.backend = Backend::interpreter}, nullptr)));
      return report.peak_bytes;
    };
    const std::int64_t all = staged(a.source());
    const std::int64_t rest =
        staged(io::csr_view(a.rows(), a.cols, std::span(a.offsets), std::span(a.columns), values));
    CHECK(all - rest >= static_cast<std::int64_t>(values.size_bytes()));
  }
  check_clean();
}

TEST_CASE("run: large arrays outside streams go to the GPU and back in pieces") {
  const std::int64_t n = 3 * (1 << 20) + 5;  // 24 MiB and some
  const Vector<double> x = numbers(n, 47);
  const auto doubled = map([](Exp<double> e) { return e * 2.0; }, use(x));
  const WithFakeGpu gpu;
  const auto y = run(doubled, {.backend = Backend::cuda});
  bool right = y.size() == n;
  for (std::int64_t i = 0; right && i < n; ++i) right = y.data()[i] == 2 * x.data()[i];
  CHECK(right);
  CHECK(uploads_of(8 << 20) == 3);
  CHECK(uploads_of(40) == 1);
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

TEST_CASE("run: the next chunk is on its way before the last one is waited for") {
  const Csr a(1000, 100, 24);
  const WithFakeGpu gpu;
  const auto run = running(multiply(a.source(), numbers(100, 25)));
  for (const int threads : {1, 2, 0}) {
    fake_gpu().clear_log();
    run({.backend = Backend::cuda, .threads = threads, .scheduler = "fixed:50"}, nullptr);
    // Per wait that had something to wait for: did another stream have work that was not waited for yet?
    std::map<int, bool> waiting;
    int waits = 0, overlapping = 0;
    for (const LogEntry& e : gpu->log()) {
      if (e.done) continue;
      if (e.what != LogEntry::What::synchronize) {
        waiting[e.stream] = true;
        continue;
      }
      if (!waiting[e.stream]) continue;
      waiting[e.stream] = false;
      ++waits;
      overlapping += std::any_of(waiting.begin(), waiting.end(), [](const auto& w) { return w.second; });
    }
    INFO(threads << " threads: " << overlapping << " of " << waits << " waits");
    CHECK(waits >= 20);
    CHECK(overlapping >= 1);
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

// ---- Failures

namespace {

/// Every entry fails at its k-th call, for every k (thinned out where there are many).
void all_failures(const RunWith& run, const RunOptions& options, const std::vector<int>& results) {
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  std::map<std::string, int> calls;
  {
    const WithFakeGpu gpu;
    REQUIRE(equal(run(options, nullptr), expected));
    for (const std::string& entry : gpu_host::FakeGpu::entries()) calls[entry] = gpu->calls(entry);
    calls["kernel"] = gpu->calls("kernel");
    check_clean();
  }
  REQUIRE(calls["memcpy_htod_async"] >= 4);
  std::uint64_t seed = 0;
  for (const auto& [entry, most] : calls)
    for (int k = 1; k <= most; k = k < 12 ? k + 1 : k + 1 + most / 9)
      for (const int result : results) {
        INFO(entry << " call " << k << " of " << most << " answers " << result);
        const WithFakeGpu gpu(seeded(seed++ % 3));
        gpu->fail(entry, k, result);
        std::string what = "done";
        bool right = true;
        try {
          right = equal(run(options, nullptr), expected);
        } catch (const BackendUnavailable&) {
          what = "unavailable";
        } catch (const ResourceError& e) {
          what = "resource";
          CHECK(result == out_of_memory);
        } catch (const RunError& e) {
          what = "run";
          CHECK_THAT(e.what(), Catch::StartsWith("cuda: "));
          CHECK(result != out_of_memory);
        }
        INFO(what);
        CHECK(right);
        const bool memory = entry == "mem_alloc" || entry == "mem_host_alloc";
        if (memory && result == out_of_memory && options.scheduler != "adaptive") CHECK(what == "done");
        if (what == "unavailable") CHECK(k <= 3);  // while it is opened
        // The driver said no to one of these: nothing to be done but to say so. (How often a chunk is tried
        // again for lack of memory, and whether CPU or GPU computes it, depends on the moment.)
        const bool happened = gpu->calls(entry) >= k;
        for (const char* fatal :
             {"launch_kernel", "memcpy_htod_async", "memcpy_dtoh_async", "stream_create", "kernel"})
          if (entry == fatal && result != out_of_memory && happened) CHECK(what == "run");
        gpu->heal();
        CHECK(equal(run(options, nullptr), expected));
        check_clean();
      }
}

}  // namespace

TEST_CASE("run: every entry of the driver fails once, with chunks on their way") {
  const Csr a(160, 40, 26);
  all_failures(running(multiply(a.source(), numbers(40, 27))),
               {.backend = Backend::cuda, .scheduler = "fixed:20"},
               {out_of_memory, illegal_address, device_lost});
}

TEST_CASE("run: every entry of the driver fails once, with sizes that depend on values, in little memory") {
  all_failures(running(consume(elements(pieces(60, numbers(100, 28), 29)))),
               {.backend = Backend::cuda,
                .gpu_memory = 100 * 8 + 2 * 60 * 8 + 3 * 64 + 6'000,
                .scheduler = "fixed:20"},
               {out_of_memory, launch_failed});
}

TEST_CASE("run: every entry of the driver fails once, without a stream") {
  const auto x = numbers(3000, 30);
  auto shifted = map([](auto e) { return e + 1.0; }, use(x));
  const auto total = sum(shifted);
  std::vector<RunWith> runs{running(std::tuple(total, map([=](auto e) { return e * the(total); }, shifted),
                                               map([=](auto e) { return e - the(total); }, use(x)),
                                               sum(map([=](auto e) { return e / the(total); }, use(x)))))};
  all_failures(runs[0], {.backend = Backend::cuda}, {out_of_memory, launch_failed});
}

TEST_CASE("run: every entry of the driver fails once, with CPU and GPU, and while streaming out") {
  const Csr a(100, 40, 31);
  all_failures(running(multiply(a.source(), numbers(40, 32)), false),
               {.backend = Backend::cpu_and_cuda, .scheduler = "fixed:10"}, {illegal_address});
  const auto values = numbers(100, 33);
  const RunWith read = [&](const RunOptions& options, RunReport*) {
    std::vector<HostArray> items;
    for (const auto& row : stream_out(pieces(60, values, 34), options)) items.push_back(row.erased());
    return items;
  };
  all_failures(read, {.backend = Backend::cuda}, {out_of_memory, launch_failed});
}

TEST_CASE("run: a failing check is the interpreter's error, and comes in its turn") {
  const Vector<double> x = numbers(50, 35);
  Csr a(100, 60, 36);
  for (auto& c : a.columns) c %= 50;
  a.columns[static_cast<std::size_t>(a.offsets[55])] = 57;
  a.columns[static_cast<std::size_t>(a.offsets[78])] = 58;
  std::vector<Vector<std::int64_t>> divisors(100, Vector<std::int64_t>{7, 3, -2});
  divisors[56] = Vector<std::int64_t>{5, 0, 0};
  divisors[81] = Vector<std::int64_t>{0};
  std::vector<Vector<std::int64_t>> sizes(100, Vector<std::int64_t>{2, 1});
  sizes[57] = Vector<std::int64_t>{2, -6};
  sizes[91] = Vector<std::int64_t>{-8};
  auto gathered = map_seq(
      [x = use(x)](auto row) {
        auto [columns, values] = unzip(row);
        return fold(plus, 0.0, zip_with(times, values, gather(columns, x)));
      },
      stream_in(a.source()));
  auto divided = map_seq([](auto row) { return map([](auto e) { return Exp(std::int64_t{100}) / e; }, row); },
                         stream_in(divisors));
  auto sized =
      map_seq([](auto row) { return generate(the(sum(row)), [](auto k) { return k; }); }, stream_in(sizes));
  const auto check = [&](const auto& sequence, const std::string& what) {
    const auto run = running(consume(elements(sequence)));
    // The words differ a little from the interpreter's; numbers and place do not.
    const std::string interpreter = message_of([&] { run({.backend = Backend::interpreter}, nullptr); });
    const std::string expected = message_of([&] { run({.backend = Backend::cpu}, nullptr); });
    INFO(expected);
    const auto place = [](const std::string& message) {
      return message.substr(std::min(message.find("(run_test.cpp:"), message.size()));
    };
    for (const std::string& message : {interpreter, expected}) CHECK_THAT(message, Catch::Contains(what));
    CHECK(place(expected) != "");
    CHECK(place(expected) == place(interpreter));
    std::uint64_t seed = 0;
    for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda})
      for (const std::string scheduler : {"fixed:10", "fixed:1", "fixed:100", "adaptive"}) {
        const WithFakeGpu gpu(seeded(seed++));
        std::int64_t items = 0;
        const RunOptions options{.backend = backend,
                                 .scheduler = scheduler,
                                 .progress = [&](const Progress& p) { items = p.items; }};
        CHECK_THROWS_AS(run(options, nullptr), RunError);
        CHECK(message_of([&] { run(options, nullptr); }) == expected);
        if (scheduler == "fixed:10") CHECK(items == 50);
        check_clean();
      }
    const WithFakeGpu gpu;
    // Chunks of a stream that is read are large; a bound makes them small.
    std::int64_t seen = 0;
    const RunOptions options{.backend = Backend::cuda, .memory = 24 << 10};
    try {
      for (const auto& item : stream_out(sequence, options)) seen += item.size() >= 0;
      FAIL("no error");
    } catch (const RunError& e) {
      CHECK(e.what() == expected);
    }
    CHECK(seen <= 57);
    check_clean();
  };
  check(gathered, "57");
  check(divided, "zero");
  check(sized, "-4");
}

TEST_CASE("run: what came before an error is streamed out") {
  const WithFakeGpu gpu;
  {
    const std::int64_t count = 1'000'000;  // several chunks
    auto items = produce(count, [](auto i) { return unit(Exp(std::int64_t{1000}) / (i - 800'000)); });
    std::int64_t seen = 0;
    try {
      for (const auto& item : stream_out(items, {.backend = Backend::cuda})) {
        if (item[Index{}] != 1000 / (seen - 800'000)) FAIL("item " << seen);
        ++seen;
      }
      FAIL("no error");
    } catch (const RunError&) {
      CHECK(seen > 500'000);
      CHECK(seen <= 800'000);
    }
  }
  check_clean();
}

TEST_CASE("run: cancelled in the middle") {
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda}) {
      const WithFakeGpu gpu(seeded(seed));
      {
        std::stop_source stop;
        const auto watch = [&](int i) {
          if (i == 50 + static_cast<int>(seed) * 7) stop.request_stop();
        };
        const auto program =
            compile(consume(elements(map_seq(sums, stream_in(made_items(1000, -1, watch))))));
        CHECK_THROWS_AS(program.run({.backend = backend, .scheduler = "fixed:10", .stop = stop.get_token()}),
                        Cancelled);
        // From the callback, while chunks are on the GPU.
        std::stop_source later;
        const Csr a(500, 20, seed);
        CHECK_THROWS_AS(compile(multiply(a.source(), numbers(20, 1)))
                            .run({.backend = backend,
                                  .scheduler = "fixed:5",
                                  .stop = later.get_token(),
                                  .progress =
                                      [&](const Progress& p) {
                                        if (p.chunks == 4) later.request_stop();
                                      }}),
                        Cancelled);
      }
      check_clean();
    }
  const WithFakeGpu gpu;
  {
    std::stop_source stop;
    auto out = stream_out(map_seq(sums, stream_in(made_items(1 << 20))),
                          {.backend = Backend::cuda, .stop = stop.get_token()});
    std::int64_t seen = 0;
    const auto read = [&] {
      for (auto it = out.begin(); it != out.end(); ++it)
        if (++seen == 10) stop.request_stop();
    };
    CHECK_THROWS_AS(read(), Cancelled);
  }
  check_clean();
}

TEST_CASE("run: exceptions of the user's code in the middle") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const WithFakeGpu gpu(seeded(seed));
    for (const std::string scheduler : {"fixed:10", "fixed:1", "adaptive"}) {
      std::int64_t items = 0;
      const RunOptions options{.backend = Backend::cuda,
                               .scheduler = scheduler,
                               .progress = [&](const Progress& p) { items = p.items; }};
      CHECK_THROWS_AS(run(consume(elements(map_seq(sums, stream_in(made_items(200, 117))))), options),
                      std::domain_error);
      if (scheduler != "adaptive") CHECK(items == (scheduler == "fixed:10" ? 110 : 117));
      const RunOptions thrower{
          .backend = Backend::cuda, .scheduler = scheduler, .progress = [](const Progress& p) {
            if (p.items > 60) throw std::out_of_range("enough");
          }};
      CHECK_THROWS_AS(run(consume(elements(map_seq(sums, stream_in(made_items(200))))), thrower),
                      std::out_of_range);
    }
    check_clean();
  }
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

TEST_CASE("run: automatic takes the GPU where there is one, and says why") {
  const auto run =
      running(consume(elements(map_seq(sums, stream_in(std::vector{numbers(3, 1), numbers(5, 2)})))));
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  RunReport report;
  {
    const WithFakeGpu gpu;
    CHECK(equal(run({.backend = Backend::automatic}, &report), expected));
    CHECK(report.backend == "cuda");
    CHECK_THAT(report.backend_reason, Catch::Contains("Simulated GPU"));
    CHECK(report.gpu_chunks == report.chunks);
    check_clean();
  }
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
    Result compile(const cuda::Unit&, const std::string&, const std::string&) override { return {}; }
    std::string version() const override { return "99.0"; }
    std::string settings(const std::string& architecture) const override {
      throw BackendUnavailable("cuda: NVRTC 99.0 does not compile for " + architecture);
    }
  };
  cuda::Platform platform = gpu_host::fake_platform();
  platform.compiler = std::make_shared<TooNew>();
  cuda::set_platform(platform);
  const auto run = running(fold(plus, 0.0, use(numbers(10, 1))));
  RunReport report;
  CHECK(
      equal(run({.backend = Backend::automatic}, &report), run({.backend = Backend::interpreter}, nullptr)));
  CHECK(report.backend == "cpu");
  CHECK_THAT(report.backend_reason, Catch::Contains("does not compile for sm_90"));
  CHECK_THROWS_AS(run({.backend = Backend::cuda}, nullptr), BackendUnavailable);
  check_clean();
}

}  // namespace anabranch::testing
