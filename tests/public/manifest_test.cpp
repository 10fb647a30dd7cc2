#include <atomic>
#include <chrono>
#include <thread>

#include "shapes.h"

// compute and trace: arrays as they are.
namespace anabranch::testing {
namespace {

using Number = std::int64_t;
using Catch::Matchers::Contains;
using Lines = std::vector<std::string>;

std::vector<Vector<std::int32_t>> rows() {
  std::vector<Vector<std::int32_t>> all;
  for (const Number n : {3, 0, 1, 5})
    all.push_back(vector_of(n, [&](Number i) { return static_cast<std::int32_t>(10 * n + i); }));
  return all;
}

/// The lines that a run prints.
template <class R>
Lines printed(const R& computation, RunOptions options = {}) {
  Lines lines;
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  run(computation, options);
  return lines;
}

TEST_CASE("compute changes nothing, and stores what would be fused") {
  const auto squares = [](auto a) { return map([](auto x) { return x * x; }, a); };
  const auto items = rows();
  const auto with = everywhere([=](auto a) { return sum(compute(squares(a))); }, items);
  const auto without = everywhere([=](auto a) { return sum(squares(a)); }, items);
  for (std::size_t i = 0; i < items.size(); ++i) CHECK(with[i][Index<0>{}] == without[i][Index<0>{}]);

  const auto stored = [&](bool barrier) {
    const auto a = squares(use(items[3]));
    return compile(sum(barrier ? compute(a) : a)).explain();
  };
  CHECK_THAT(stored(true), Contains("stored: asked for by compute"));
  CHECK_THAT(stored(false), !Contains("asked for by compute"));
  // What is stored anyway is not stored twice.
  CHECK_THAT(compile(compute(scanl1(plus, use(items[3])))).explain(), !Contains("compute"));
  CHECK_THAT(compile(compute(compute(squares(use(items[3]))))).explain(), Contains("compute"));
}

TEST_CASE("compute at every rank and of tuples") {
  everywhere([](auto a) { return compute(transpose(a)); }, arrays<2, float>(2));
  everywhere([](auto a) { return compute(map([](auto x) { return pack(x, x > 0); }, a)); },
             arrays<3, Number>(3));
  everywhere([](auto a) { return compute(sum(a)); }, rows());
}

TEST_CASE("trace prints the items in order, and gives them") {
  const auto items = rows();
  const auto traced = [](auto a) { return trace("row", map([](auto x) { return x + 1; }, a)); };
  everywhere(traced, items);
  const Lines expected{"row, item 0 [3]: {31, 32, 33}", "row, item 1 [0]: {}", "row, item 2 [1]: {11}",
                       "row, item 3 [5]: {51, 52, 53, 54, 55}"};
  const auto all = consume(elements(map_seq(traced, stream_in(items))));
  for (const char* scheduler : {"adaptive", "fixed:1", "fixed:3"}) {
    CHECK(printed(all, {.scheduler = scheduler}) == expected);
  }
  CHECK(printed(all, {.backend = Backend::interpreter}) == expected);
}

TEST_CASE("what is traced as it passes from item to item is traced with the item") {
  const auto traced = [](auto x, auto y) { return trace("state", unit(the(x) + the(y))); };
  const auto states =
      consume(elements(scan_seq(traced, unit(std::int64_t{0}), produce(3, [](auto i) { return unit(i); }))));
  const Lines expected{"state, item 0: 0", "state, item 1: 1", "state, item 2: 3"};
  CHECK(printed(states) == expected);
  CHECK(printed(states, {.backend = Backend::interpreter}) == expected);
}

TEST_CASE("what trace prints") {
  const auto line = [](const auto& computation) {
    const Lines lines = printed(computation),
                reference = printed(computation, {.backend = Backend::interpreter});
    CHECK(lines == reference);
    return lines.empty() ? std::string() : lines[0];
  };
  CHECK(line(trace("one", unit(Exp<float>(0.1f)))) == "one: 0.1");
  CHECK(line(trace("", generate(2, [](auto i) { return i == 0; }))) == " [2]: {true, false}");
  CHECK(line(trace("bytes", use(Vector<std::int8_t>{-1, 65}))) == "bytes [2]: {-1, 65}");
  CHECK(line(trace("halves", use(Vector<half>{half(0.5f)}))) == "halves [1]: {0.5}");
  CHECK(line(trace("pairs", generate(Index{2, 1}, [](auto ix) {
                     return pack(ix[0], cast<double>(ix[0]) / 4);
                   }))) == "pairs [2 x 1]: {{(0, 0)}, {(1, 0.25)}}");
  CHECK(line(trace("long", iota(2000))) == "long [2000]: {0, 1, 2, ..., 1997, 1998, 1999}");
  CHECK(line(trace("wide", iota(Index{2, 600}))) ==
        "wide [2 x 600]: {{0, 1, 2, ..., 597, 598, 599}, {600, 601, 602, ..., 1197, 1198, 1199}}");
  CHECK(line(sum(trace("sorted", sort(use(Vector<std::int32_t>{3, 1, 2}))))) == "sorted [3]: {1, 2, 3}");
}

TEST_CASE("trace inside of loops, branches and inner sequences") {
  const auto halved =
      awhile([](auto a) { return size(a) > 1; }, [](auto a) { return trace("round", take(size(a) / 2, a)); },
             use(Vector<Number>{1, 2, 3, 4, 5}));
  const Lines rounds{"round [2]: {1, 2}", "round [1]: {1}"};
  CHECK(printed(halved) == rounds);
  CHECK(printed(halved, {.backend = Backend::interpreter}) == rounds);
  const auto taken = acond(
      size(use(Vector<Number>{1})) > 3, [] { return trace("then", iota(2)); },
      [] { return trace("else", iota(1)); });
  CHECK(printed(taken) == Lines{"else [1]: {0}"});
  // Those of a sequence inside of an item have no number of their own.
  const auto inner = consume(elements(map_seq(
      [](auto matrix) {
        return consume(elements(map_seq([](auto row) { return trace("sum", sum(row)); }, rows(matrix))));
      },
      stream_in(std::vector<Matrix<Number>>{Matrix<Number>(Index{1, 2}, {1, 2}),
                                            Matrix<Number>(Index{2, 1}, {5, 6})}))));
  CHECK(printed(inner) == Lines{"sum: 3", "sum: 5", "sum: 6"});
  // What the items share is printed once.
  const auto shared = trace("shared", iota(3));
  CHECK(printed(consume(elements(map_seq([&](auto a) { return zip_with(plus, a, shared); },
                                         stream_in(std::vector<Vector<Number>>{{1}, {2, 3}}))))) ==
        Lines{"shared [3]: {0, 1, 2}"});
}

TEST_CASE("an exception of `print` reaches the caller, and the next run works") {
  const auto program = compile(trace("x", iota(2)));
  CHECK_THROWS_AS(program.run({.print = [](std::string_view) { throw std::runtime_error("full"); }}),
                  std::runtime_error);
  CHECK(program.run({.print = [](std::string_view) {}}).size() == 2);
}

TEST_CASE("`print` may run programs that print, on any thread", "[once]") {
  for (const int threads : {1, 2}) {
    INFO(threads);
    const auto items = rows();
    std::atomic<int> inner = 0, outer = 0;
    const auto sums = map_seq([](auto row) { return trace("inner", sum(row)); }, stream_in(items));
    const auto print = [&](std::string_view) {
      if (++outer > 1) return;
      // The next items are computed beside, while one is looked at.
      const RunOptions options{.threads = threads, .print = [&](std::string_view) { ++inner; }};
      for (const auto& item : stream_out(sums, options)) {
        CHECK(item.size() == 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      run(consume(elements(sums)), options);
    };
    run(trace("outer", iota(3)), {.threads = threads, .print = print});
    CHECK(outer == 1);
    CHECK(inner == 2 * std::ssize(items));
  }
}

}  // namespace
}  // namespace anabranch::testing
