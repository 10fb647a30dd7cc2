// In-place update at last use: results and memory.
#include "agree.h"

namespace anabranch::testing {
namespace {

constexpr std::int64_t n = 100'000;
constexpr std::int64_t array_bytes = 8 * n;

Vector<double> numbers_below_one(std::int64_t count) {
  return vector_of(count, [](std::int64_t i) { return static_cast<double>(i % 1000) / 1000.0; });
}
const auto step = [](auto v) { return compute(map([](auto x) { return x * 0.5 + 1.0; }, v)); };
const auto prefixes = [](const auto& v) { return scanl1([](auto x, auto y) { return max(x, y); }, v); };
const auto shares = [](const auto& v) {
  const auto total = the(sum(v));
  return map([=](auto x) { return x / total; }, v);
};

bool is_off() {
  const char* off = std::getenv("ANABRANCH_OFF");
  return off && std::string_view(off).find("in_place") != std::string_view::npos;
}
std::int64_t peak_of(const auto& program) {
  RunReport report;
  program.run({.threads = 1}, &report);
  return report.peak_bytes;
}

TEST_CASE("a map over what it is the last to read takes no memory") {
  if (is_off()) return;
  const auto input = use(numbers_below_one(n));
  const auto program = compile(shares(prefixes(input)));
  agree_on(program);
  // The input, and what is written over.
  CHECK(peak_of(program) < 3 * array_bytes);
  // Into memory of the caller's there is no use for it.
  auto into = numbers_below_one(n);
  program.run_into(into, {.threads = 1});
  require_same(into, program());
}

TEST_CASE("the state of a loop is written over, round by round") {
  if (is_off()) return;
  const auto rounds = [](const auto& first) {
    const auto [last, count] = awhile([](auto, auto k) { return the(k) < 20; },
                                      [](auto a, auto k) {
                                        return std::tuple(map([](auto x) { return x * 0.999 + 0.5; }, a),
                                                          map([](auto i) { return i + 1; }, k));
                                      },
                                      std::tuple(first, unit(Exp<std::int32_t>(0))));
    return last;
  };
  const auto input = use(numbers_below_one(n));
  const auto own = compile(sum(rounds(prefixes(input))));
  agree_on(own);
  CHECK(peak_of(own) < 3 * array_bytes);
  const auto given = compile(std::tuple(sum(rounds(input)), sum(input)));
  agree_on(given);
  CHECK(peak_of(given) < 3 * array_bytes);
}

TEST_CASE("arrays that others have stay as they are") {
  const auto input = use(numbers_below_one(1000));
  const auto first = prefixes(input);
  const auto below = [](double most) { return [=](auto a) { return the(sum(a)) < most; }; };
  const auto once = [](auto a) { return map([](auto x) { return x + 1.0; }, a); };
  // A loop without a round, and one with some; a branch that gives what it takes.
  agree(std::tuple(awhile(below(-1.0), once, first), shares(first)));
  agree(std::tuple(awhile(below(5000.0), once, first), shares(first)));
  agree(std::tuple(acond(the(sum(input)) > 0.0, first, [=] { return once(first); }), shares(first)));
  agree(std::tuple(awhile(below(3000.0), once, input), input));
  // From loop to loop, and from branch to loop.
  const auto second = awhile(below(2000.0), once, first);
  agree(std::tuple(awhile(below(4000.0), once, second), awhile(below(3000.0), once, second)));
  const auto chosen = acond(the(sum(input)) > 0.0, first, [=] { return once(first); });
  agree(std::tuple(awhile(below(4000.0), once, chosen), chosen));
  agree(std::tuple(awhile(below(4000.0), once, first), chosen));
  // What a branch of the body gives is the next state's other array.
  agree(awhile([](auto a, auto) { return the(sum(a)) < 1e7; },
               [=](auto a, auto b) {
                 const auto next = compute(map([](auto x) { return x * 2.0; }, a));
                 return std::tuple(next, acond(the(sum(b)) < 5000.0, next, [=] { return once(b); }));
               },
               std::tuple(first, prefixes(once(input)))));
}

TEST_CASE("waves: the state before last is written over") {
  const auto input = use(numbers_below_one(5000));
  const auto wave = [](auto before, auto now) {
    return generate(shape(now), [=](const auto& ix) {
      const auto i = ix[0];
      const auto left = now[max(i - 1, 0)], right = now[min(i + 1, size(now) - 1)];
      return 2.0 * now[i] - before[i] + 0.1 * (left - 2.0 * now[i] + right);
    });
  };
  const auto [last, next, count] =
      awhile([](auto, auto, auto k) { return the(k) < 9; },
             [=](auto before, auto now, auto k) {
               return std::tuple(now, wave(before, now), map([](auto i) { return i + 1; }, k));
             },
             std::tuple(prefixes(input), prefixes(map([](auto x) { return x * 0.5; }, input)),
                        unit(Exp<std::int32_t>(0))));
  agree(std::tuple(last, next));
}

TEST_CASE("in chunks, of items of any shape, and where memory is short") {
  std::vector<Vector<double>> rows;
  for (std::int64_t i = 0; i < 300; ++i) rows.push_back(numbers_below_one(i * 7 % 50));
  const auto total = [](auto row) {
    const auto first = prefixes(row), second = step(shares(first));
    return sum(zip_with(times, second, reverse(step(second))));
  };
  const auto program = compile(consume(elements(map_seq(total, stream_in(rows)))));
  agree_on(program);
  require_same(program.run({.memory = 100'000}), program());
  agree(
      consume(elements(map_seq(total, stream_in(std::vector<Vector<double>>(100, numbers_below_one(60)))))));
  // Loops in items.
  agree(consume(elements(map_seq(
      [](auto row) {
        return awhile([](auto a) { return the(sum(a)) < 100.0; },
                      [](auto a) { return map([](auto x) { return x * 2.0 + 1.0; }, a); },
                      prefixes(map([](auto x) { return x + 1.0; }, row)));
      },
      stream_in(std::vector<Vector<double>>{{1, 2, 3}, {200}, {4, 5}, {0.5}})))));
}

TEST_CASE("a loop whose round fails tells the same error") {
  const auto input = use(Vector<std::int32_t>{5, 4, 3, 2, 8});
  fails<RunError>(awhile([](auto a) { return the(sum(a)) != -1; },
                         [](auto a) { return map([](auto x) { return 100 / (x - 1); }, a); },
                         map([](auto x) { return x + 0; }, input)),
                  {"divi"});
}

TEST_CASE("components of an array outlive a map that reads it last") {
  const auto a = numbers<double>(5000);
  const auto looped = [](auto p) {
    return while_loop([](auto y) { return y < 1.0; }, [](auto y) { return y + 1.0; }, get<0>(p) * get<1>(p));
  };
  const auto sorted = sort(zip(use(a), use(a)));
  agree(std::tuple(std::get<1>(unzip(sorted)), map(looped, sorted)));
}

}  // namespace
}  // namespace anabranch::testing
