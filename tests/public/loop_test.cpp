#include <anabranch/io.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <sstream>
#include <thread>
#include <tuple>

#include "agree.h"
#include "support/files.h"
#include "support/memory_source.h"

// awhile and acond: rounds, extents that change, streams and loops inside, what is captured, and what does
// not run.
namespace anabranch::testing {
namespace {

using Ints = Vector<std::int64_t>;

Ints counted(std::int64_t n) {
  return vector_of(n, [](std::int64_t i) { return i + 1; });
}

const auto doubled = [](auto v) { return map([](auto x) { return x * 2; }, v); };
/// The sum of a vector is less than a number.
auto sum_below(std::int64_t most) {
  return [=](auto v) { return the(sum(v)) < most; };
}

TEST_CASE("awhile runs until its condition does not hold") {
  require_same(agree(awhile(sum_below(100), doubled, use(counted(4)))), Ints{16, 32, 48, 64});
}

TEST_CASE("awhile asks before the first round") {
  const Ints start = counted(20);
  const auto program = compile(awhile(sum_below(100), doubled, use(start)));
  for (const RunOptions& options : configurations()) {
    Ints result = program.run(options);
    require_same(result, start);
    result.set(0, 1000);  // it has elements of its own
    REQUIRE(start[0] == 1);
  }
}

TEST_CASE("a loop without a round gives what was computed before it") {
  auto state = map([](auto x) { return x + 1; }, use(counted(20)));
  const auto [end, begin] = agree(std::tuple(awhile(sum_below(100), doubled, state), state));
  require_same(end, begin);
}

TEST_CASE("a reduction of what a loop gave is not computed with those the loop needs") {
  // As many arrays before the loop as the tables of any pass have to grow for.
  const Ints numbers = counted(20);
  for (int arrays = 1; arrays <= 70; ++arrays) {
    INFO(arrays);
    const auto v = use(numbers);
    auto start = sum(v);
    for (int i = 0; i < arrays; ++i) start = unit(the(start) + 1);
    const auto factor =
        awhile([](auto x) { return the(x) < 1000; }, [](auto x) { return unit(the(x) * 2); }, start);
    const auto result = run(sum(map([&](auto x) { return x * the(factor); }, v)));
    std::int64_t expected = 210 + arrays;
    while (expected < 1000) expected *= 2;
    REQUIRE(result[0] == 210 * expected);
  }
}

TEST_CASE("the condition may be a scalar array") {
  const auto below = [](auto v) { return map([](auto x) { return x < 50; }, sum(v)); };
  require_same(agree(awhile(below, doubled, use(Ints{7}))), Ints{56});
}

TEST_CASE("a state of several arrays") {
  const auto fibonacci = [](auto v, auto a, auto b) {
    const auto n = extent(v, 0);
    auto longer = generate(n + 1, [=](auto i) { return cond(i < n, v.linear(min(i, n - 1)), the(a)); });
    return std::tuple(longer, b, unit(the(a) + the(b)));
  };
  const auto [all, a, b] =
      agree(awhile([](auto, auto, auto next) { return the(next) < 50; }, fibonacci,
                   std::tuple(use(Ints{0}), unit<std::int64_t>(1), unit<std::int64_t>(1))));
  require_same(all, Ints{0, 1, 1, 2, 3, 5, 8, 13, 21});
  REQUIRE(a[0] == 34);
  REQUIRE(b[0] == 55);
}

TEST_CASE("a state that changes places, and is not computed") {
  const auto swapped = [](auto n, auto v, auto w) { return std::tuple(unit(the(n) - 1), w, v); };
  const auto counting = [](auto n, auto, auto) { return the(n) > 0; };
  const auto program = compile<Scalar<std::int64_t>, Ints, Ints>(
      [=](auto n, auto v, auto w) { return awhile(counting, swapped, std::tuple(n, v, w)); });
  for (std::int64_t rounds : {0, 1, 4}) {
    const auto [n, v, w] = agree_on(program, Scalar<std::int64_t>(rounds), Ints{1, 2}, Ints{3, 4, 5});
    require_same(rounds % 2 == 0 ? v : w, Ints{1, 2});
    require_same(rounds % 2 == 0 ? w : v, Ints{3, 4, 5});
  }
}

TEST_CASE("a branch that gives several arrays, of which one is used") {
  auto v = use(counted(3));
  auto [a, b] =
      acond(extent(v, 0) > 5, std::tuple(v, sum(v)), [=] { return std::tuple(doubled(v), maximum(v)); });
  require_same(agree(a), Ints{2, 4, 6});
  require_same(agree(b), Scalar<std::int64_t>(3));
}

TEST_CASE("iterate applies a function to arrays so many times") {
  const auto prefix_sums = [](auto v) { return scanl1(plus, v); };
  require_same(agree(iterate(3, prefix_sums, use(counted(4)))), Ints{1, 5, 15, 35});
  for (const std::int64_t none : {0, -1})
    require_same(agree(iterate(none, prefix_sums, use(counted(4)))), counted(4));
  // So many as an array says, of a state of two, whose extents change.
  const auto v = use(counted(5));
  const auto [left, dropped] = iterate(
      cast<std::int32_t>(the(minimum(v))) + 1,
      [](auto a, auto s) { return std::tuple(tail(a), zip_with(plus, s, unit(a[0]))); },
      std::tuple(v, unit(std::int64_t{0})));
  const auto [last, first] = agree(std::tuple(left, dropped));
  require_same(last, Ints{3, 4, 5});
  CHECK(first[Index{}] == 3);
  // In the function of a sequence, as often as each item says.
  const auto items = std::vector<Ints>{{3, 1}, {0, 7, 7}, {}, {1, 2, 3}};
  const auto got =
      everywhere([&](auto item) { return iterate(sum(item)[Index{}] / 3, doubled, item); }, items);
  require_same(got[0], Ints{6, 2});
  require_same(got[1], Ints{0, 112, 112});
  require_same(got[2], Ints{});
  require_same(got[3], Ints{4, 8, 12});
}

TEST_CASE("extents change from round to round") {
  const auto halved = [](auto v) {
    return generate(extent(v, 0) / 2, [=](auto i) { return v[2 * i] + v[2 * i + 1]; });
  };
  const auto longer = [](auto v) { return extent(v, 0) > 1; };
  require_same(agree(awhile(longer, halved, use(counted(64)))), Ints{64 * 65 / 2});
  const auto grown = [](auto v) {
    const auto n = extent(v, 0);
    return generate(n + 1, [=](auto i) { return cond(i < n, v.linear(min(i, n - 1)), n * n); });
  };
  require_same(agree(awhile([](auto v) { return extent(v, 0) < 5; }, grown, use(Ints{0}))),
               Ints{0, 1, 4, 9, 16});
}

TEST_CASE("what does not depend on the state is taken from outside") {
  auto weights = map([](auto x) { return x * x; }, use(counted(5)));
  const Exp<std::int64_t> most = the(sum(weights)) * 10;
  auto result = awhile([=](auto v) { return the(sum(v)) < most; },
                       [=](auto v) { return zip_with(plus, v, weights); }, use(Ints{0, 0, 0, 0, 0}));
  require_same(agree(result), Ints{10, 40, 90, 160, 250});
}

TEST_CASE("a loop in a function that is compiled, with its arguments in the bodies") {
  const auto program = compile<Ints, Scalar<std::int64_t>>([](auto step, auto most) {
    return awhile([=](auto v) { return the(maximum(v)) < the(most); },
                  [=](auto v) { return zip_with(plus, v, step); }, step);
  });
  require_same(agree_on(program, Ints{1, 2, 3}, Scalar<std::int64_t>(10)), Ints{4, 8, 12});
  require_same(agree_on(program, Ints{5, -1}, Scalar<std::int64_t>(4)), Ints{5, -1});
}

TEST_CASE("loops in loops, and a loop that does not depend on the outer one") {
  auto constant = awhile([](auto v) { return the(sum(v)) < 10; }, doubled, use(Ints{1}));
  const auto collatz = [](auto v) {
    return awhile([](auto w) { return w[0] % 2 == 0; },
                  [](auto w) { return map([](auto x) { return x / 2; }, w); },
                  map([](auto x) { return x * 3 + 1; }, v));
  };
  const auto round = [=](auto v) {
    return zip_with(plus, collatz(v), map([](auto x) { return x * 0; }, constant));
  };
  require_same(agree(awhile([](auto v) { return v[0] > 1; }, round, use(Ints{27}))), Ints{1});
}

TEST_CASE("a loop whose body consumes a stream") {
  const std::vector<Ints> rows{{0, 1}, {}, {1, 2, 2}, {0}};
  const auto multiplied = [&](auto v) {
    return consume(elements(map_seq([=](auto row) { return sum(gather(row, v)); }, stream_in(rows))));
  };
  // A matrix of 0 and 1 times a vector, again and again.
  auto result = awhile([](auto v) { return the(maximum(v)) < 1000; }, multiplied, use(Ints{1, 1, 1, 1}));
  Ints expected{1, 1, 1, 1};
  while (std::max({expected[0], expected[1], expected[2], expected[3]}) < 1000)
    expected = Ints{expected[0] + expected[1], 0, expected[1] + 2 * expected[2], expected[0]};
  require_same(agree(result), expected);
}

TEST_CASE("streams before, around and after a loop") {
  const std::vector<Ints> rows{{1, 2, 3}, {4}, {}, {5, 6}};
  auto sums = consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(rows))));
  auto end = awhile(sum_below(500), doubled, sums);
  check_items(
      map_seq([=](auto row) { return map([=](auto x) { return x * the(sum(end)); }, row); }, stream_in(rows)),
      {{672, 1344, 2016}, {2688}, {}, {3360, 4032}});
}

TEST_CASE("a loop inside the function of a sequence that does not depend on the item") {
  check_items(
      map_seq([](auto row) { return zip_with(plus, row, awhile(sum_below(100), doubled, use(counted(4)))); },
              stream_in(std::vector<Ints>{{1, 1, 1}, {}, {5}})),
      {{17, 33, 49}, {}, {21}});
}

TEST_CASE("reductions beside a loop whose result one of them needs") {
  auto v = use(counted(4));
  auto end = awhile(sum_below(100), doubled, v);
  auto scaled = zip_with(times, v, end);
  const auto [a, b, c] = agree(std::tuple(sum(v), sum(scaled), maximum(end)));
  REQUIRE(a[0] == 10);
  REQUIRE(b[0] == 480);
  REQUIRE(c[0] == 64);
}

TEST_CASE("acond runs one side") {
  const auto program = compile<Ints>([](auto v) {
    return acond(
        extent(v, 0) > 2, [=] { return doubled(v); }, [=] { return map([](auto x) { return 10 / x; }, v); });
  });
  require_same(agree_on(program, Ints{0, 1, 2}), Ints{0, 2, 4});  // 10 / 0 is not computed
  require_same(agree_on(program, Ints{5}), Ints{2});
  require_same(agree_on(program, Ints{}), Ints{});
}

TEST_CASE("sides of acond that are computations: what only one mentions does not run") {
  auto v = use(Ints{0, 1, 2});
  auto bad = map([](auto x) { return 10 / x; }, v);
  require_same(agree(acond(the(sum(v)) == 3, v, bad)), Ints{0, 1, 2});
  require_same(agree(acond(the(sum(v)) != 3, bad, doubled(v))), Ints{0, 2, 4});
  fails<RunError>(acond(the(sum(v)) == 3, bad, v), {"divide", "loop_test.cpp"});
  // Mentioned elsewhere, it is needed either way.
  fails<RunError>(std::tuple(acond(the(sum(v)) == 3, v, bad), sum(bad)), {"divide"});
}

TEST_CASE("the stream of a side that is not taken is not read") {
  std::int64_t pulled = 0;
  const auto rows = std::views::iota(0, 3) | std::views::transform([&](int i) {
                      ++pulled;
                      return Ints{i};
                    });
  auto read = [&] { return consume(elements(stream_in(rows))); };
  const auto program = compile<Scalar<bool>>([&](auto c) { return acond(the(c), read, use(Ints{7})); });
  require_same(program.run({.backend = Backend::cpu}, Scalar<bool>(false)), Ints{7});
  REQUIRE(pulled == 0);
  require_same(program.run({.backend = Backend::cpu}, Scalar<bool>(true)), Ints{0, 1, 2});
  REQUIRE(pulled == 3);
}

TEST_CASE("branches in loops, and a shared term of both sides") {
  auto v = use(counted(3));
  auto squares = map([](auto x) { return x * x; }, v);
  const auto step = [=](auto w) {
    return acond(
        w[0] % 2 == 0, [=] { return map([](auto x) { return x / 2; }, w); },
        [=] { return zip_with(plus, w, squares); });
  };
  require_same(agree(awhile([](auto w) { return the(sum(w)) < 100 && w[0] < 2; }, step, v)), Ints{2, 6, 12});
  require_same(agree(acond(extent(v, 0) == 3, squares, zip_with(plus, squares, v))), Ints{1, 4, 9});
}

TEST_CASE("a failing check in a round names its place") {
  const auto round = [](auto v) { return map([=](auto x) { return v[x + 1]; }, v); };
  fails<RunError>(awhile([](auto) { return Exp<bool>(true); }, round, use(Ints{0, 1, 2})),
                  {"loop_test.cpp", "3"});
  const auto shrunk = [](auto v) { return generate(extent(v, 0) - 2, [](auto i) { return i; }); };
  fails<RunError>(awhile([](auto) { return Exp<bool>(true); }, shrunk, use(Ints{0, 1, 2})),
                  {"loop_test.cpp", "-1"});
}

TEST_CASE("a source is read once in every round, if it can be") {
  const std::vector<Ints> rows{{1}, {2}};
  const auto sums = [](auto source) {
    return [=](auto v) {
      return consume(
          elements(map_seq([=](auto row) { return map([=](auto x) { return x + v[0]; }, row); }, source)));
    };
  };
  const auto below = [](auto v) { return v[0] < 3; };
  require_same(agree(awhile(below, sums(stream_in(rows)), use(Ints{0}))), Ints{3, 4});
}

TEST_CASE("a stop request ends a loop") {
  for (const RunOptions& each : configurations()) {
    RunOptions options = each;
    std::stop_source stop;
    options.stop = stop.get_token();
    const auto program = compile(awhile([](auto) { return Exp<bool>(true); }, doubled, use(Ints{1})));
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop.request_stop();
    });
    REQUIRE_THROWS_AS(program.run(options), Cancelled);
  }
  std::stop_source stopped;
  stopped.request_stop();
  REQUIRE_THROWS_AS(run(awhile([](auto) { return Exp<bool>(true); }, doubled, use(Ints{1})),
                        {.backend = Backend::interpreter, .stop = stopped.get_token()}),
                    Cancelled);
}

TEST_CASE("what depends on the item of a sequence runs for each item") {
  const std::vector<Ints> rows{{1}, {2, 70}, {200}, {}};
  everywhere([](auto row) { return awhile(sum_below(100), doubled, concat(row, fill(1, std::int64_t{1}))); },
             rows);
  everywhere([](auto row) { return acond(the(sum(row)) > 1, row, doubled(row)); }, rows);
}

TEST_CASE("memory of a round is given back") {
  constexpr std::int64_t n = 1 << 16;
  const auto counter = [](auto v) { return v[0] < 200; };
  const auto round = [](auto v) { return map([](auto x) { return x + 1; }, v); };
  const auto program = compile(awhile(counter, round, use(Ints{Index{n}})));
  RunReport report;
  const Ints result = program.run({.backend = Backend::cpu, .memory = 4 * n * 8}, &report);
  REQUIRE(result[n - 1] == 200);
  REQUIRE(report.peak_bytes <= 3 * n * 8 + 4096);
}

TEST_CASE("bodies are explained") {
  const auto program = compile(awhile(sum_below(100), doubled, use(counted(4))));
  const std::string text = program.explain();
  INFO(text);
  REQUIRE_THAT(text, Catch::Matchers::Contains("awhile"));
  REQUIRE_THAT(text, Catch::Matchers::Contains("predicate of awhile"));
  REQUIRE_THAT(text, Catch::Matchers::Contains("body of awhile"));
}

// What both sides need is computed before: else each stage would have the whole chain before it twice.
TEST_CASE("chains of branches are compiled once") {
  const auto on = use(Scalar<bool>(true)), off = use(Scalar<bool>(false));
  const auto chain = [&](auto a, int stages, bool both) {
    for (int i = 0; i < stages; ++i) {
      const auto more = [=] { return map([=](auto x) { return x + i; }, a); };
      const auto less = [=] { return map([=](auto x) { return x - 1; }, a); };
      a = both ? acond(the(i % 3 == 0 ? off : on), more, less) : acond(the(i % 3 == 0 ? off : on), more, a);
    }
    return a;
  };
  const Vector<std::int64_t> some{1, 2, 3};
  require_same(agree(chain(use(some), 30, false)), Vector<std::int64_t>{301, 302, 303});
  require_same(agree(chain(use(some), 30, true)), Vector<std::int64_t>{291, 292, 293});
  const auto matrix = use(Matrix<std::int64_t>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  require_same(
      agree(consume(elements(map_seq([&](auto row) { return chain(row, 14, true); }, rows(matrix))))),
      Vector<std::int64_t>{57, 58, 59, 60, 61, 62});
  // A condition of an item; a loop that both sides read.
  const auto by_item = [&](auto row) {
    auto a = row;
    for (int i = 0; i < 10; ++i) {
      const auto twice = awhile([](auto s) { return unit(the(sum(s)) < 100); },
                                [](auto s) { return map([](auto x) { return 2 * x; }, s); }, a);
      a = acond(
          row[0] > i, [=] { return map([](auto x) { return x % 7; }, twice); },
          [=] { return map([](auto x) { return x % 5 + 1; }, twice); });
    }
    return a;
  };
  std::vector<std::int64_t> expected;
  for (const std::int64_t first : {1, 4}) {
    std::vector<std::int64_t> row{first, first + 1, first + 2};
    for (int i = 0; i < 10; ++i) {
      while (row[0] + row[1] + row[2] < 100)
        for (auto& x : row) x *= 2;
      for (auto& x : row) x = first > i ? x % 7 : x % 5 + 1;
    }
    expected.insert(expected.end(), row.begin(), row.end());
  }
  require_same(agree(consume(elements(map_seq(by_item, rows(matrix))))),
               Vector<std::int64_t>(Index{6}, expected));
  // Two arrays, of which each side needs other ones.
  Acc<Vector<std::int64_t>> a = use(some), b = use(some);
  for (int i = 0; i < 24; ++i)
    std::tie(a, b) = acond(
        the(i % 2 == 0 ? on : off),
        [=] { return std::tuple(zip_with([](auto x, auto y) { return (x + y) % 1000; }, a, b), b); },
        [=] {
          return std::tuple(map([](auto x) { return x + 1; }, b), map([](auto x) { return x + 2; }, b));
        });
  agree(std::tuple(a, b));
}

TEST_CASE("what both sides of a branch need is computed before its condition") {
  const Vector<std::int64_t> some{1, 2, 3};
  const auto v = use(some);
  const auto fails_at = [&](std::int64_t i) {
    return acond(the(sum(v)) > 0, [=] { return map([=](auto x) { return x + v[i]; }, v); }, v);
  };
  const auto both = [&](const auto& condition, const auto& x) {
    return acond(
        condition, [=] { return map([](auto y) { return y + 1; }, x); },
        [=] { return map([](auto y) { return y + 2; }, x); });
  };
  // Which error is told; and where there are no items.
  fails<RunError>(both(v[9] > 0, fails_at(7)), {"index 7 out of range 0..2"});
  fails<RunError>(both(v[9] > 0, v), {"index 9 out of range 0..2"});
  const auto none = use(Matrix<std::int64_t>(Index{0, 3}, {}));
  const auto closed = fails_at(7);
  const auto in_items = consume(elements(map_seq(
      [=](auto row) {
        return acond(
            row[0] > 3, [=] { return zip_with([](auto x, auto y) { return x + y; }, row, closed); },
            [=] { return zip_with([](auto x, auto y) { return x - y; }, row, closed); });
      },
      rows(none))));
  fails<RunError>(in_items, {"index 7 out of range 0..2"});
  const auto of_items = consume(elements(map_seq(
      [=](auto row) {
        return both(row[0] > 3,
                    acond(row[0] > 1, row, [=] { return map([=](auto x) { return x / (x - x); }, row); }));
      },
      rows(none))));
  CHECK(agree(of_items).size() == 0);
}

TEST_CASE("streams that sides of branches read") {
  const std::vector<Vector<double>> items{{1, 2}, {3}};
  const auto v = use(Vector<double>{1, 2, 3});
  const auto add = [](auto x, auto y) { return x + y; };
  for (const bool first : {true, false}) {
    // Of one side only, and of another result.
    const auto taken = the(use(Scalar<bool>(first)));
    const auto a = consume(elements(stream_in(items)));
    const auto b = acond(taken, [=] { return zip_with(add, a, v); }, v);
    const auto [x, y] = agree(std::tuple(b, a));
    CHECK(x[2] == (first ? 6 : 3));
    CHECK(y[2] == 3);
    const auto [z, w] = agree(std::tuple(a, b));
    CHECK(z[2] == 3);
    CHECK(w[2] == (first ? 6 : 3));
    // A stream that can be read once, by what both sides need and by what one needs: in one pass.
    std::istringstream text("1 2 3 4");
    const auto once = stream_in(std::views::istream<double>(text) |
                                std::views::transform([](double value) { return Scalar<double>(value); }));
    const auto total =
        consume(fold_seq([](auto l, auto r) { return unit(the(l) + the(r)); }, unit(0.0), once));
    const auto looped =
        awhile([](auto s) { return unit(the(s) < 100.0); }, [](auto s) { return unit(the(s) * 2.0); }, total);
    const auto all_of_it = consume(elements(once));
    const auto result = acond(
        taken, [=] { return map([=](auto value) { return value + the(looped); }, all_of_it); },
        [=] { return map([=](auto value) { return value - the(looped); }, all_of_it); });
    CHECK(run(result)[0] == (first ? 161 : -159));
  }
  const TemporaryDirectory folder;
  const auto looped =
      awhile([](auto s) { return unit(the(s) < 100); }, [](auto s) { return unit(the(s) * 2 + 1); },
             consume(write(stream_in(items), io::write_ragged(folder / "out"))));
  CHECK_THROWS_AS(compile(acond(
                      the(use(Scalar<bool>(true))), [=] { return unit(the(looped) + 1); },
                      [=] { return unit(the(looped) + 2); })),
                  ProgramError);
}

TEST_CASE("branches inside of branches inside of branches") {
  const auto chain = [](int length) {
    Acc<Ints> all = use(Ints{1, 2, 3});
    for (int k = 0; k < length; ++k)
      all = acond(
          the(use(Scalar<bool>(true))), [=] { return map([](auto x) { return x + 1; }, all); }, use(Ints{0}));
    return all;
  };
  require_same(agree(chain(40)), Ints{41, 42, 43});
  for (const Backend backend : {Backend::interpreter, Backend::cpu})
    CHECK_THROWS_WITH(
        run(chain(300), {.backend = backend}),
        Catch::Contains("more than 200 loops, branches and functions of sequences are inside each other") &&
            Catch::Contains("loop_test.cpp"));
}

TEST_CASE("a stream that only a side mentions is read once, before the loop or the items") {
  const auto once = [] {
    return consume(elements(stream_in(Source<Ints>(ragged<std::int64_t>("once", {{1}, {2, 3}}, false)))));
  };
  std::vector<Ints> rows;
  for (std::int64_t i = 0; i < 40; ++i) rows.push_back({i, 0, 0});
  const auto odd = [](auto row) { return row[0] % 2 != 0; };
  const auto added = [=](auto row, auto table) {
    return acond(odd(row), [=] { return zip_with(plus, row, table); }, row);
  };
  for (const RunOptions& options :
       {RunOptions{.backend = Backend::interpreter}, RunOptions{.threads = 1, .scheduler = "fixed:1"},
        RunOptions{.threads = 2, .scheduler = "fixed:2"}, RunOptions{.threads = 2}}) {
    INFO(to_string(options));
    const auto table = once();
    const auto step = [=](auto s) { return acond(s[0] < 100, [=] { return zip_with(plus, s, table); }, s); };
    require_same(run(iterate(3, step, use(Ints{0, 0, 0})), options), Ints{3, 6, 9});
    // Of some items of a sequence; of branches in branches, and in loops that run for each item.
    const auto other = once();
    const auto sums = map_seq([=](auto row) { return sum(added(row, other)); }, stream_in(rows));
    const Ints got = run(consume(elements(sums)), options);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(got[i] == (i % 2 == 0 ? i : i + 6));
    const auto third = once();
    const auto looped = map_seq(
        [=](auto row) {
          return acond(
              row[0] > 10, [=] { return sum(iterate(2, [=](auto s) { return added(s, third); }, row)); },
              unit(std::int64_t(0)));
        },
        stream_in(rows));
    const Ints rounds = run(consume(elements(looped)), options);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(rounds[i] == (i <= 10 ? 0 : i % 2 == 0 ? i : i + 6));
  }
  // Beside what others read of it, in one pass.
  const auto stream = stream_in(Source<Ints>(ragged<std::int64_t>("once", {{1}, {2, 3}}, false)));
  const auto table = consume(elements(stream));
  const auto total = consume(fold_seq([](auto l, auto r) { return zip_with(plus, l, r); }, use(Ints{0, 0, 0}),
                                      map_seq([](auto) { return use(Ints{1, 1, 1}); }, stream)));
  const auto [a, b] = run(std::tuple(
      consume(elements(map_seq([=](auto row) { return added(row, table); }, stream_in(rows)))), total));
  CHECK(a.size() == 120);
  CHECK(a[3] == 2);
  CHECK(b[0] == 2);
  // A file is written by the program, or not at all.
  const TemporaryDirectory folder;
  for (const bool in_sequence : {false, true}) {
    const auto written = [&](auto s) {
      return acond(
          s[0] > 1000,
          [&] {
            return generate(3, [=, n = consume(write(stream_in(rows), io::write_ragged(folder / "out")))](
                                   auto) { return the(n); });
          },
          s);
    };
    if (in_sequence)
      CHECK_THROWS_AS(compile(consume(elements(map_seq(written, stream_in(rows))))), ProgramError);
    else
      CHECK_THROWS_AS(compile(iterate(3, written, use(Ints{0, 0, 0}))), ProgramError);
  }
  // Be the side never taken: what fails there fails.
  const auto failing =
      consume(elements(map_seq([](auto row) { return map([](auto x) { return 1 / (x - x); }, row); },
                               stream_in(std::vector<Ints>{{1}, {2, 3}}))));
  const auto never = [=](auto row) {
    return acond(row[0] < 0, [=] { return zip_with(plus, row, failing); }, row);
  };
  fails<RunError>(iterate(3, never, use(Ints{1, 2, 3})), {"divide", "loop_test.cpp"});
  fails<RunError>(consume(elements(map_seq(never, stream_in(rows)))), {"divide", "loop_test.cpp"});
  // What depends on the item cannot be.
  const auto scaled = [&](auto row) {
    return acond(
        odd(row),
        [=] {
          return consume(elements(map_seq(
              [=](auto one) { return map([=](auto x) { return x * row[0]; }, one); }, stream_in(rows))));
        },
        row);
  };
  CHECK_THROWS_WITH(compile(consume(elements(map_seq(scaled, stream_in(rows))))),
                    Catch::Contains("would be read once for each item of another sequence"));
}

}  // namespace
}  // namespace anabranch::testing
