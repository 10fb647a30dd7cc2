#include "agree.h"

// More threads than there are processors here: work is cut into more tasks for them.
namespace anabranch::testing {
namespace {

TEST_CASE("64 threads give the bits that one gives", "[once]") {
  const auto a = reshape(Index{600, 500}, use(numbers<double>(300'000)));
  const auto row = flatten(a);
  const auto program =
      compile(std::tuple(sum(row), scanl1(plus, row), sum(a), sum(a, 0), scanl1(plus, a, 0),
                         map([](auto x) { return sqrt(abs(x)); }, transpose(a)), matmul(transpose(a), a)));
  const HostArrays expected = arrays_of(program.run({.threads = 1}));
  const HostArrays got = arrays_of(program.run({.threads = 64}));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) require_same(got[i], expected[i], Loc::current());
}

TEST_CASE("64 threads report the error that one reports", "[once]") {
  auto at = vector_of(300'000, [](std::int64_t i) { return i % 1000; });
  std::int64_t next = 7000;
  for (const std::int64_t i : {170'000, 170'001, 290'000}) at.mutable_data()[i] = next++;
  const auto far = gather(use(at), use(numbers<double>(1000)));
  for (const int threads : {1, 64})
    REQUIRE_THROWS_WITH(run(far, {.threads = threads}), Catch::Contains("index 7000 out of range 0..999"));
}

}  // namespace
}  // namespace anabranch::testing
