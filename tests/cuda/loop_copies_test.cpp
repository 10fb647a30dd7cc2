#include <cstring>

#include "tests/cuda/support/whole_runs.h"

// What loops, branches and steps of the host copy between host and a simulated GPU. Host memory of arrays that are on the
// GPU only is overwritten there (Device::spoils_stale_copies): results would be wrong where a copy is missing.
namespace anabranch::testing {
namespace {

/// Bytes of the copies in this direction, one by one.
std::vector<std::int64_t> copied(LogEntry::What what) {
  std::vector<std::int64_t> out;
  for (const LogEntry& e : fake_gpu().log())
    if (e.what == what && e.done) out.push_back(e.bytes);
  return out;
}
std::int64_t count(const std::vector<std::int64_t>& all, std::int64_t bytes) {
  return std::count(all.begin(), all.end(), bytes);
}

void agree_on_gpu(const RunWith& run) {
  const auto expected = run({.backend = Backend::interpreter}, nullptr);
  for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda})
    for (const std::uint64_t seed : {0, 1, 2}) {
      const WithFakeGpu gpu(seeded(seed));
      CHECK(equal(run({.backend = backend}, nullptr), expected));
      check_clean();
    }
}

}  // namespace

TEST_CASE("loop copies: a round of awhile brings back one byte, the condition") {
  constexpr std::int64_t n = 1000;
  const auto looped =
      awhile([](auto v) { return the(sum(v)) < 5000.0; },
             [](auto v) { return map([](auto e) { return e + 0.25; }, v); }, use(numbers(n, 1)));
  agree_on_gpu(running(looped));
  const WithFakeGpu gpu;
  RunReport report;
  running(looped)({.backend = Backend::cuda}, &report);
  const auto up = copied(LogEntry::What::upload), down = copied(LogEntry::What::download);
  // Up goes the state before the first round, and an empty error record; down come a byte each time that the
  // condition is asked for, and the result.
  CHECK(count(up, n * 8) == 1);
  CHECK(up.size() <= 2);
  CHECK(count(down, 1) >= 20);
  CHECK(count(down, n * 8) == 1);
  CHECK(down.size() == static_cast<std::size_t>(count(down, 1)) + 1);
  check_clean();
}

TEST_CASE("loop copies: a state of several arrays and components, of which some are passed on") {
  const auto looped =
      awhile([](auto, auto, auto k) { return the(k) < 12; },
             [](auto pairs, auto v, auto k) {
               return std::tuple(map([](auto p) { return pack(get<1>(p), get<0>(p) + 1.0); }, pairs), v,
                                 map([](auto i) { return i + 1; }, k));
             },
             std::tuple(map([](auto e) { return pack(e, e * 2.0); }, use(numbers(700, 2))),
                        use(numbers(300, 3)), unit(Exp<std::int64_t>(0))));
  const auto run = running(looped);
  agree_on_gpu(run);
  const WithFakeGpu gpu;
  run({.backend = Backend::cuda}, nullptr);
  CHECK(count(copied(LogEntry::What::upload), 700 * 8) == 1);
  CHECK(count(copied(LogEntry::What::upload), 300 * 8) <= 1);
  CHECK(count(copied(LogEntry::What::download), 700 * 8) <= 2);
  check_clean();
}

TEST_CASE("loop copies: whatever the host reads it gets") {
  const auto x = numbers(400, 4);
  const auto shifted = map([](auto e) { return e + 1.0; }, use(x));
  // Sorts, extents that values tell, streams of rows and of elements, branches, sinks that apply a function.
  agree_on_gpu(running(sort(shifted)));
  agree_on_gpu(
      running(map([](auto e) { return e * 2.0; }, sort(map([](auto e) { return -e; }, sort(shifted))))));
  agree_on_gpu(running(std::tuple(shifted, sort(shifted), sum(shifted))));
  const auto length = cast<std::int64_t>(the(sum(map([](auto e) { return e * 0.0 + 1.0; }, use(x)))));
  agree_on_gpu(running(generate(length, [](auto k) { return k * k; })));
  agree_on_gpu(running(
      consume(elements(map_seq([=](auto row) { return map([=](auto e) { return e * shifted[0]; }, row); },
                               rows(reshape(Index{20, 20}, shifted)))))));
  agree_on_gpu(running(acond(
      the(sum(shifted)) > 0.0, [&] { return map([](auto e) { return e - 3.0; }, shifted); },
      [&] { return shifted; })));
  // A sort in every round: the host overwrites what is on the GPU, and the other way round.
  agree_on_gpu(running(awhile([](auto v) { return the(sum(v)) < 900.0; },
                              [](auto v) {
                                return map([](auto e) { return e + 0.5; },
                                           sort(map([](auto e) { return e + 0.25; }, v)));
                              },
                              use(x))));
}

TEST_CASE("loop copies: a check that fails in a round is an error, and a lost GPU, too") {
  const auto looped = awhile([](auto v) { return the(sum(v)) < 1000.0; },
                             [](auto v) {
                               return generate(size(v), [=](auto k) {
                                 return v[k] + v[k + cast<std::int64_t>(the(sum(v)) * 0.01)];
                               });
                             },
                             map([](auto e) { return e + 1.0; }, use(numbers(100, 5))));
  const RunWith run = running(looped);
  std::string expected;
  try {
    run({.backend = Backend::interpreter}, nullptr);
  } catch (const RunError& e) {
    expected = e.what();
  }
  REQUIRE(!expected.empty());
  const WithFakeGpu gpu;
  CHECK_THROWS_WITH(run({.backend = Backend::cuda}, nullptr), expected);
  for (const int k : {1, 2, 3, 5, 8}) {
    gpu->fail("kernel", k, 719);
    CHECK_THROWS_AS(run({.backend = Backend::cuda}, nullptr), RunError);
    gpu->heal();
  }
  check_clean();
}

}  // namespace anabranch::testing
