#include <climits>
#include <map>

#include "tests/cuda/support/whole_runs.h"

// How little a run of next to nothing asks of the driver.
namespace anabranch::testing {
namespace {

/// Times that the host went to sleep for a stream that had nothing left to do.
int sleeps_in_vain() {
  std::map<int, int> left;  // per stream
  int out = 0;
  for (const LogEntry& e : fake_gpu().log())
    if (e.what == LogEntry::What::synchronize)
      out += !e.done && left[e.stream] == 0;
    else
      left[e.stream] += e.done ? -1 : 1;
  return out;
}

int calls_of_driver() {
  int out = 0;
  for (const std::string& entry : gpu_host::FakeGpu::entries()) out += fake_gpu().calls(entry);
  return out;
}

/// What a run costs when there have been others: of many the one that costs the least, as a thread that does not get a
/// processor at once asks and sleeps more often.
struct Costs {
  int sleeps_in_vain = INT_MAX, calls = INT_MAX;
};
Costs costs_of(const std::function<void()>& run) {
  for (int warm = 0; warm < 2; ++warm) run();
  Costs least;
  for (int k = 0; k < 20; ++k) {
    fake_gpu().clear_log();
    const int before = calls_of_driver();
    run();
    least.calls = std::min(least.calls, calls_of_driver() - before);
    least.sleeps_in_vain = std::min(least.sleeps_in_vain, sleeps_in_vain());
  }
  return least;
}

}  // namespace

TEST_CASE("run: of a tiny run nobody sleeps for what is done, and its streams are those of the run before") {
  FakeOptions pooled;
  pooled.exact_memory = false;
  const WithFakeGpu gpu(pooled);
  {
    const auto dot = compile<Vector<double>, Vector<double>>(
        [](auto x, auto y) { return fold(plus, 0.0, zip_with(times, x, y)); });
    const Vector<double> x{1, 2, 3, 4};
    const Costs of_dot = costs_of([&] { CHECK(dot.run({.backend = Backend::cuda}, x, x)[0] == 30); });
    const Csr a(4, 4, 1);
    const auto product = compile(multiply(a.source(), x));
    const Costs of_stream = costs_of([&] { product.run({.backend = Backend::cuda}); });
    CHECK(of_dot.sleeps_in_vain == 0);
    CHECK(of_stream.sleeps_in_vain == 0);
    INFO(of_dot.calls << " calls of the driver, and " << of_stream.calls << " of a stream");
    CHECK(of_dot.calls < 46);
    CHECK(of_stream.calls < 80);
    const int made = gpu->calls("stream_create");
    dot.run({.backend = Backend::cuda}, x, x);
    product.run({.backend = Backend::cuda});
    CHECK(gpu->calls("stream_create") == made);
    CHECK(gpu->calls("event_create") == made);
  }
  check_clean();
}

}  // namespace anabranch::testing
