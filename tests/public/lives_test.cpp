// How long the arrays of a run live.
#include "agree.h"

namespace anabranch::testing {
namespace {

constexpr std::int64_t n = 100'000;
constexpr std::int64_t array_bytes = 8 * n;

Vector<double> numbers_below_one(std::int64_t count) {
  return vector_of(count, [](std::int64_t i) { return static_cast<double>(i % 1000) / 1000.0; });
}
/// Nothing in place: it reads the other end.
const auto step = [](auto v) { return compute(map([](auto x) { return x * 0.5 + 1.0; }, reverse(v))); };

std::int64_t peak_of(const auto& program) {
  RunReport report;
  program.run({.threads = 1}, &report);
  return report.peak_bytes;
}

TEST_CASE("an array of a run is given back after its last use") {
  const auto input = use(numbers_below_one(n));
  Acc<Vector<double>> v = input;
  for (int i = 0; i < 10; ++i) v = step(v);
  const auto program = compile(sum(v));
  agree_on(program);
  // The input, what is read, and what is written.
  CHECK(peak_of(program) < 4 * array_bytes);

  // One of them is needed to the end.
  const auto first = step(input);
  v = first;
  for (int i = 0; i < 10; ++i) v = step(v);
  const auto longer = compile(sum(zip_with(times, v, reverse(first))));
  agree_on(longer);
  CHECK(peak_of(longer) < 5 * array_bytes);
  CHECK(peak_of(longer) >= 4 * array_bytes);
}

TEST_CASE("what a number, a stream, a loop or a branch still needs is there") {
  const auto input = use(numbers_below_one(500));
  const auto v = step(input), w = step(v);
  const Exp<std::int64_t> length = cast<std::int64_t>(the(sum(v))) % 7 + 3;
  const auto rows = map_seq([=](auto row) { return unit(the(sum(row)) * v[length]); },
                            stream_in(std::vector<Vector<double>>{{1, 2}, {}, {3}}));
  const auto late = consume(elements(rows));
  const auto looped = awhile([=](auto x) { return the(sum(x)) < the(sum(w)); },
                             [=](auto x) { return zip_with(plus, x, take(size(x), w)); }, late);
  const auto chosen = acond(the(sum(looped)) > 0, take(length, v), [=] { return take(length, w); });
  const auto [a, b, c] =
      agree(std::tuple(chosen, generate(length, [=](auto i) { return w[i] + 1; }), looped));
  REQUIRE(a.size() == b.size());
  REQUIRE(c.size() == 3);
}

}  // namespace
}  // namespace anabranch::testing
