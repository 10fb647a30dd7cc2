#include <atomic>
#include <thread>

#include "agree.h"
#include "support/memory_source.h"

// A source serves one run at a time: a second one is an error, never a loss of items.
namespace anabranch::testing {
namespace {

std::string line(int below = 0, Loc at = Loc::current()) {
  return "source_in_use_test.cpp:" + std::to_string(static_cast<int>(at.line()) + below);
}

const auto sums = [](auto row) { return sum(row); };

/// 1000 vectors, enough for several chunks of a stream_out.
std::vector<Vector<double>> rows_of(std::int64_t length) {
  std::vector<Vector<double>> out;
  for (std::uint64_t i = 0; i < 1000; ++i) out.push_back(numbers<double>(length, i));
  return out;
}

template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const RunError& e) {
    return e.what();
  }
  return "no error";
}

constexpr Backend backends[] = {Backend::interpreter, Backend::cpu};

TEST_CASE("a run over a source that is being streamed out is refused and takes nothing from it") {
  const auto items = rows_of(1000);
  for (Backend outer : backends)
    for (Backend inner : backends) {
      auto s = stream_in(items);
      const std::string one = line(-1);
      std::size_t seen = 0;
      for (const auto& item : stream_out(s, {.backend = outer})) {
        require_same(item, items[seen]);
        if (++seen != 10) continue;
        const auto twice = [&] { run(consume(elements(map_seq(sums, s))), {.backend = inner}); };
        const std::string two = line(-1);
        REQUIRE_THAT(message(twice), Catch::Contains("range") && Catch::Contains("another run") &&
                                         Catch::Contains(one) && Catch::Contains(two));
        REQUIRE_THAT(message([&] { stream_out(s, {.backend = inner}); }), Catch::Contains("another run"));
      }
      REQUIRE(seen == items.size());
      REQUIRE(run(consume(elements(map_seq(sums, s))), {.backend = inner}).size() == 1000);
    }
}

TEST_CASE("a range that was read to its end, broken off or failed gives its sources back") {
  const auto items = rows_of(10);
  for (Backend backend : backends) {
    auto s = stream_in(items);
    const auto all = consume(elements(map_seq(sums, s)));
    auto to_the_end = stream_out(s, {.backend = backend});
    for (const auto& item : to_the_end) REQUIRE(item.size() == 10);
    REQUIRE(run(all).size() == 1000);
    REQUIRE_THAT(message([&] { to_the_end.begin(); }), Catch::Contains("its items have been read"));
    for (const auto& item : stream_out(s, {.backend = backend})) {
      REQUIRE(item.size() == 10);
      break;
    }
    REQUIRE(run(all).size() == 1000);
    auto failing = stream_out(map_seq([](auto row) { return unit(row[20]); }, s), {.backend = backend});
    REQUIRE_THROWS_AS(failing.begin(), RunError);
    REQUIRE_THROWS_AS(failing.begin(), RunError);
    REQUIRE(run(all, {.backend = backend}).size() == 1000);
    REQUIRE_THROWS_AS(
        run(consume(elements(map_seq([](auto row) { return unit(row[20]); }, s))), {.backend = backend}),
        RunError);
    REQUIRE(run(all, {.backend = backend}).size() == 1000);
  }
}

TEST_CASE("one program run from several threads gives its result or an error") {
  for (Backend backend : backends) {
    const auto program = compile(consume(elements(map_seq(sums, stream_in(rows_of(20))))));
    const int threads = backend == Backend::interpreter ? 1 : 2;
    const auto expected = program();
    std::atomic<int> wrong = 0, right = 0;
    {
      std::vector<std::jthread> runners;
      for (int t = 0; t < 4; ++t)
        runners.emplace_back([&] {
          for (int k = 0; k < 10; ++k) try {
              const auto got = program.run({.backend = backend, .threads = threads});
              ++(got == expected ? right : wrong);
            } catch (const RunError& e) {
              if (std::string(e.what()).find("another run") == std::string::npos) ++wrong;
            }
        });
    }
    REQUIRE(wrong == 0);
    REQUIRE(right > 0);
    require_same(program.run({.backend = backend}), expected);
  }
}

TEST_CASE("a run that fails before it reads leaves a single-pass source as it was", "[once]") {
  const auto add = [](auto a, auto b) { return zip_with(plus, a, b); };
  for (const bool in_two_places : {false, true}) {
    const Source<Vector<double>> pipe(ragged<double>("pipe", {{1.0}, {2.0, 3.0}, {4.0}}, false));
    const auto program = compile<Vector<std::int64_t>>([&](auto n) {
      const auto some = take_seq(n[0], stream_in(pipe));
      const auto others = in_two_places ? some : take_seq(n[0], stream_in(rows_of(1)));
      return consume(elements(map_seq(sums, zip_with_seq(add, some, others))));
    });
    REQUIRE_THAT(message([&] { program(Vector<std::int64_t>{-1}); }),
                 Catch::Contains("the number of items is -1"));
    REQUIRE(program(Vector<std::int64_t>{3}).size() == 3);
    REQUIRE_THAT(message([&] { program(Vector<std::int64_t>{3}); }),
                 Catch::Contains("gives its items only once"));
  }
}

TEST_CASE("one run may read a source in several stages, and twice in one stage") {
  const auto items = rows_of(3);
  const Source<Vector<double>> source(ragged<double>("disk", {{1.0}, {2.0, 3.0}}));
  auto s = stream_in(source);
  auto total = sum(consume(elements(s)));
  require_same(
      agree(consume(elements(map_seq(
          [=](auto row) { return map([=](auto x) { return x / the(total); }, row); }, stream_in(source))))),
      Vector<double>{1.0 / 6, 2.0 / 6, 0.5});
  const auto add = [](auto a, auto b) { return zip_with(plus, a, b); };
  require_same(agree(consume(elements(zip_with_seq(add, s, stream_in(source))))),
               Vector<double>{2.0, 4.0, 6.0});
}

}  // namespace
}  // namespace anabranch::testing
