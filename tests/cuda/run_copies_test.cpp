#include "tests/cuda/support/whole_runs.h"

#include <cstring>
#include <map>
#include <vector>

#include "run/backends/staged_copy.h"

// What whole programs copy to a simulated GPU and back, by which way, and when.
namespace anabranch::testing {

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

TEST_CASE("run: what is read is read into page-locked memory, from which it is uploaded") {
  const io_test::TemporaryDirectory dir;
  const Csr a(3000, 500, 45, 40);
  a.write(dir / "a.npz");
  const auto file = io::open_csr<std::int32_t, double>(dir / "a.npz");
  const auto x = numbers(500, 46);
  const auto expected = running(multiply(file, x))({.backend = Backend::interpreter}, nullptr);
  const auto peak = [&](const auto& source) {
    RunReport report;
    CHECK(equal(running(multiply(source, x))({.backend = Backend::cuda, .scheduler = "fixed:10000"}, &report),
                expected));
    return report.peak_bytes;
  };
  const WithFakeGpu gpu;
  // One copy of the matrix is held: that of which the GPU has been given one, or that which was read.
  const std::int64_t in_memory = peak(a.source()), read = peak(file);
  CHECK(in_memory >= a.bytes());
  CHECK(read >= a.bytes());
  CHECK(read < in_memory + a.bytes() / 2);
  // Where no memory can be locked for the offsets, columns or values, it is any other, which is copied once more. (The
  // first that is locked is the stop word's.)
  for (const int k : {2, 3, 4}) {
    INFO("call " << k);
    gpu->fail("mem_host_alloc", k, 2);
    const std::int64_t other = peak(file);
    CHECK(gpu->calls("mem_host_alloc") >= k);
    if (k > 2) CHECK(other >= read + 4 * a.offsets.back());
    gpu->heal();
  }
  CHECK(equal(running(multiply(file, x))({.backend = Backend::cpu}, nullptr), expected));
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

TEST_CASE("run: arrays of which some is page-locked go to the GPU, of any size") {
  for (const std::int64_t n : {std::int64_t{1000}, std::int64_t{100'000}, std::int64_t{3 << 20}}) {
    INFO(n << " numbers");
    const Vector<double> x = numbers(n, 49);
    const auto doubled = map([](Exp<double> e) { return e * 2.0; }, use(x));
    const auto expected = run(doubled, {.backend = Backend::interpreter});
    const WithFakeGpu gpu;
    // One in the midst; then one beside it.
    const auto third = static_cast<std::size_t>(n / 3);
    gpu->page_lock(x.data() + third, third * sizeof(double));
    CHECK(same(run(doubled, {.backend = Backend::cuda}).erased(), expected.erased()));
    gpu->page_lock(x.data(), third * sizeof(double));
    CHECK(same(run(doubled, {.backend = Backend::cuda}).erased(), expected.erased()));
    check_clean();
  }
}

TEST_CASE("staged copies bring what they are given, whatever of it is page-locked, on any threads") {
  constexpr std::int64_t MiB = 1 << 20;
  const auto executor = scheduler::make_plain_executor(2);
  for (const std::int64_t bytes : {std::int64_t{1}, MiB - 3, 8 * MiB, 8 * MiB + 1, 25 * MiB + 7})
    for (const bool threads : {false, true}) {
      INFO(bytes << " bytes, threads " << threads);
      const auto size = static_cast<std::size_t>(bytes);
      std::vector<std::byte> from(size), to(size);
      for (std::size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 1000);
      const WithFakeGpu gpu;
      {
        const auto device = cuda::Device::get();
        const cuda::DeviceBlock block = device->allocate(bytes);
        runtime::DeviceStream stream(device, nullptr, 0);
        scheduler::Executor* const on = threads ? executor.get() : nullptr;
        gpu->page_lock(from.data() + size / 2, size - size / 2);
        gpu->page_lock(to.data(), size / 2);
        runtime::upload_staged(device, stream, on, block.address(), from.data(), bytes);
        runtime::download_staged(device, stream, on, to.data(), block.address(), bytes);
        CHECK(to == from);
        CHECK(uploads_of(8 << 20) == bytes / (8 * MiB));
      }
      check_clean();
    }
}

TEST_CASE("staged copies take one page-locked range as it lies") {
  const WithFakeGpu gpu;
  {
    const auto device = cuda::Device::get();
    constexpr std::int64_t bytes = std::int64_t{20} << 20;
    const cuda::PinnedBlock locked(device, bytes);
    std::memset(locked.data(), 3, static_cast<std::size_t>(bytes));
    const cuda::DeviceBlock block = device->allocate(bytes);
    runtime::DeviceStream stream(device, nullptr, 0);
    runtime::upload_staged(device, stream, nullptr, block.address(), locked.data(), bytes);
    CHECK(uploads_of(bytes) == 1);
  }
  check_clean();
}

TEST_CASE("run: large chunks go to the GPU in pieces") {
  const Csr a(std::vector<std::int64_t>(36, 1 << 17), 1000);  // 18 MiB of columns, 36 MiB of values
  const auto run = running(multiply(a.source(), numbers(1000, 48)));
  const auto expected = run({.backend = Backend::cpu}, nullptr);
  const WithFakeGpu gpu;
  RunReport report;
  CHECK(equal(run({.backend = Backend::cuda, .scheduler = "fixed:36"}, &report), expected));
  CHECK(report.chunks == 1);
  // One copy goes on where the one before it ends: 8, 8 and 2 MiB, then 6, 8, 8, 8 and 6.
  CHECK(uploads_of(8 << 20) == 5);
  check_clean();
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

}  // namespace anabranch::testing
