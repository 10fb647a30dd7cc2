#include "tests/cuda/support/whole_runs.h"

#include <chrono>
#include <stop_token>
#include <thread>

// Loops that never end are stopped from outside, on every back end. Where they are not, these cases run into their
// time limit.
namespace anabranch::testing {
namespace {

/// Runs round and round below 1,000.
Exp<std::int64_t> endless(const Exp<std::int64_t>& x) {
  return while_loop([](auto n) { return n >= 0; }, [](auto n) { return (abs(n) * 7 + 1) % 1000; }, x);
}
/// The same, where x is not negative; else it ends at once.
const auto perhaps_endless = [](auto x) { return endless(x); };

void stops(const RunWith& run) {
  for (const Backend backend : {Backend::cpu, Backend::interpreter, Backend::cuda, Backend::cpu_and_cuda}) {
    INFO("back end " << int(backend));
    const WithFakeGpu gpu;
    {
      std::stop_source source;
      const std::jthread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        source.request_stop();
      });
      const int threads = backend == Backend::interpreter ? 1 : 2;
      CHECK_THROWS_AS(run({.backend = backend, .threads = threads, .stop = source.get_token()}, nullptr),
                      Cancelled);
    }
    check_clean();
  }
}

template <class R>
RunWith just_run(const R& computation) {
  return [=](const RunOptions& options, RunReport* report) {
    return arrays_of(compile(computation).run(options, report));
  };
}

TEST_CASE("stop: an endless loop of every element") {
  stops(just_run(map(perhaps_endless, use(Vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))));
}

TEST_CASE("stop: an endless loop of one element among many") {
  Vector<std::int64_t> x(Index{500});
  for (std::int64_t i = 0; i < 500; ++i) x.set(i, i == 333 ? 1 : -1);
  stops(just_run(map(perhaps_endless, use(x))));
}

TEST_CASE("stop: an endless loop that all elements share, and one in a size") {
  const Vector<std::int64_t> x{1, 2, 3};
  stops(just_run(map([x = use(x)](auto e) { return endless(x[Exp<std::int64_t>(0)]) + e; }, use(x))));
  stops(just_run(generate(endless(Exp<std::int64_t>(1)), [](auto k) { return k; })));
}

TEST_CASE("stop: an endless loop inside another, and in the operator of a fold") {
  const Vector<std::int64_t> x{1, 2, 3};
  const auto nested = [](auto e) {
    return while_loop([](auto n) { return n >= 0; },
                      [](auto n) {
                        return while_loop([](auto m) { return m < 20; }, [](auto m) { return m + 1; },
                                          n % 10);
                      },
                      e);
  };
  stops(just_run(map(nested, use(x))));
  stops(just_run(fold([](auto a, auto b) { return endless(a + b); }, Exp<std::int64_t>(0), use(x))));
}

TEST_CASE("stop: an endless loop in an item of a stream") {
  std::vector<Vector<std::int64_t>> rows(300, Vector<std::int64_t>{-1, -2, -3});
  rows[200] = Vector<std::int64_t>{-1, 1};
  stops(just_run(
      consume(elements(map_seq([](auto row) { return map(perhaps_endless, row); }, stream_in(rows))))));
  stops(just_run(
      consume(elements(map_seq([](auto row) { return sum(map(perhaps_endless, row)); }, stream_in(rows))))));
}

TEST_CASE("stop: very many loops that end soon") {
  const auto some_rounds = [](auto i) {
    return while_loop([](auto n) { return n > 0; }, [](auto n) { return n - 1; }, i % 2 + 1000);
  };
  const std::int64_t years = std::int64_t{1} << 40;
  const auto program = just_run(sum(generate(years, some_rounds)));
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    std::stop_source source;
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      source.request_stop();
    });
    try {
      program({.backend = backend, .stop = source.get_token()}, nullptr);
      FAIL("it cannot have ended");
    } catch (const Cancelled&) {
    } catch (const ResourceError&) {  // partial results, or all elements
    }
  }
}

TEST_CASE("stop: a program that was stopped can be run again") {
  const auto x = Vector<std::int64_t>{1, -2, 3};
  const auto program = compile<Vector<std::int64_t>>([](auto v) { return map(perhaps_endless, v); });
  for (const Backend backend : {Backend::cpu, Backend::interpreter, Backend::cuda}) {
    const WithFakeGpu gpu;
    std::stop_source source;
    source.request_stop();
    CHECK_THROWS_AS(program.run({.backend = backend, .stop = source.get_token()}, x), Cancelled);
    const auto y = program.run({.backend = backend}, Vector<std::int64_t>{-7, -8});
    CHECK(same(y.erased(), Vector<std::int64_t>{-7, -8}.erased()));
  }
}

}  // namespace
}  // namespace anabranch::testing
