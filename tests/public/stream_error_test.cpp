#include <algorithm>
#include <ranges>
#include <sstream>

#include "agree.h"
#include "support/memory_source.h"

// Errors of streams: sources that fail or may not be read again, nested parallelism.
namespace anabranch::testing {
namespace {

std::string line(int below = 0, Loc at = Loc::current()) {
  return "stream_error_test.cpp:" + std::to_string(static_cast<int>(at.line()) + below);
}

const auto sums = [](auto row) { return sum(row); };

/// Vectors of 1, 2, 3, ... elements; the one with number `bad` cannot be made.
auto failing_range(int count, int bad) {
  return std::views::iota(0, count) | std::views::transform([=](int i) {
           if (i == bad) throw std::domain_error("item " + std::to_string(i) + " is not to be had");
           return numbers<double>(i + 1, static_cast<std::uint64_t>(i));
         });
}

TEST_CASE("an exception of a range reaches the caller with its type") {
  for (int bad : {0, 1, 17, 99})
    fails<std::domain_error>(consume(elements(map_seq(sums, stream_in(failing_range(100, bad))))),
                             {"item " + std::to_string(bad) + " is not to be had"});
}

TEST_CASE("stream_out gives what came before the exception, then the exception") {
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    auto s = map_seq(sums, stream_in(failing_range(100, 17)));
    std::int64_t seen = 0;
    try {
      for (const auto& item : stream_out(s, {.backend = backend})) {
        (void)item;
        ++seen;
      }
      FAIL("no exception");
    } catch (const std::domain_error&) {
      REQUIRE(seen <= 17);
    }
  }
}

TEST_CASE("an item of another shape than declared") {
  const std::vector items{Vector<double>{1, 2}, Vector<double>{3, 4}, Vector<double>{5, 6, 7}};
  fails<RunError>(consume(elements(stream_in(regular(Index{2}), items))), {"item 2", "[3]", "[2]", line()});
  const std::vector matrices{Matrix<double>(Index{2, 3}), Matrix<double>(Index{3, 2})};
  fails<RunError>(consume(elements(stream_in(regular(Index{2, 3}), matrices))),
                  {"item 1", "[3, 2]", "[2, 3]"});
}

/// A stream that can be read once.
auto once() { return stream_in(Source<Vector<double>>(ragged<double>("tape", {{1.0}, {2.0, 3.0}}, false))); }

TEST_CASE("a second pass over a single-pass source names both lines") {
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    auto source = Source<Vector<double>>(ragged<double>("tape", {{1.0}, {2.0, 3.0}}, false));
    auto first = consume(elements(map_seq(sums, stream_in(source))));
    const std::string one = line(-1);
    const auto added = [=](auto row) { return map([=](auto x) { return x + the(sum(first)); }, row); };
    auto second = consume(elements(map_seq(added, stream_in(source))));
    const std::string two = line(-1);
    try {
      run(std::tuple(first, second), {.backend = backend});
      FAIL("no error");
    } catch (const RunError& e) {
      INFO(e.what());
      REQUIRE_THAT(e.what(), Catch::Contains("tape"));
      REQUIRE_THAT(e.what(), Catch::Contains(one));
      REQUIRE_THAT(e.what(), Catch::Contains(two));
    }
  }
}

TEST_CASE("running a program over a single-pass source twice") {
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    const auto program = compile(consume(elements(once())));
    require_same(program.run({.backend = backend}), Vector<double>{1.0, 2.0, 3.0});
    REQUIRE_THROWS_AS(program.run({.backend = backend}), RunError);
  }
  // Another program over the same source.
  auto source = Source<Vector<double>>(ragged<double>("tape", {{1.0}, {2.0, 3.0}}, false));
  run(consume(elements(stream_in(source))), {.backend = Backend::cpu});
  REQUIRE_THROWS_AS(run(consume(elements(map_seq(sums, stream_in(source)))), {.backend = Backend::cpu}),
                    RunError);
}

TEST_CASE("a source may be read again when it can be rewound") {
  auto s = stream_in(Source<Vector<double>>(ragged<double>("disk", {{1.0}, {2.0, 3.0}})));
  const auto program = compile(std::tuple(consume(elements(s)), consume(elements(map_seq(sums, s)))));
  for (int k = 0; k < 3; ++k) {
    const auto [all, each] = agree(std::tuple(consume(elements(s)), consume(elements(map_seq(sums, s)))));
    require_same(all, Vector<double>{1.0, 2.0, 3.0});
    require_same(each, Vector<double>{1.0, 5.0});
    require_same(std::get<1>(program()), each);
  }
}

/// A source that does not keep its word.
class Liar : public SourceBase {
 public:
  explicit Liar(int lie) : lie_(lie) {
    info_.name = "liar";
    info_.arrays = {array_info({ScalarType::float64}, {std::nullopt}, 0)};
    info_.rewindable = true;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit&, SourceChunk& chunk) override {
    if (done_) return false;
    done_ = true;
    chunk = {};
    chunk.items = lie_ == 0 ? 0 : lie_ == 1 ? 1000000000 : 1;
    ArrayChunk array;
    array.data.push_back(detail::allocate_aligned(64));
    auto offsets = std::static_pointer_cast<std::int64_t>(detail::allocate_aligned(64));
    offsets.get()[0] = 0;
    offsets.get()[1] = 1;
    array.offsets = offsets;
    chunk.arrays.push_back(array);
    if (lie_ == 2) chunk.arrays.push_back(array);
    if (lie_ == 3) chunk.arrays.clear();
    if (lie_ == 4) offsets.get()[0] = 2;  // and fall to 1
    if (lie_ == 5) chunk.bytes = -8;
    if (lie_ == 6) chunk.work = -1;
    return true;
  }
  void rewind() override { done_ = false; }

 private:
  SourceInfo info_;
  int lie_;
  bool done_ = false;
};

TEST_CASE("a source that lies is found out") {
  for (int lie : {0, 1, 2, 3, 4, 5, 6}) {
    INFO("lie " << lie);
    const auto program =
        compile(consume(elements(stream_in(Source<Vector<double>>(std::make_shared<Liar>(lie))))));
    for (const char* scheduler : {"fixed:1", "fixed:100", "adaptive"})
      REQUIRE_THROWS_WITH(program.run({.backend = Backend::cpu, .scheduler = scheduler}),
                          Catch::Contains("liar"));
    if (lie < 4) REQUIRE_THROWS_WITH(program.run({.backend = Backend::interpreter}), Catch::Contains("liar"));
  }
}

TEST_CASE("an array computation that depends on an element is refused, with both lines") {
  auto v = use(Vector<double>{1.0, 2.0});
  const auto outer = [&](auto inner) { return map(inner, v); };
  const std::string introduced = line(-1);
  std::string depends;
  const auto build = [&] {
    return outer([&](auto x) {
      depends = line(1);
      return the(sum(map([=](auto y) { return x * y; }, v)));
    });
  };
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    try {
      run(build(), {.backend = backend});
      FAIL("accepted");
    } catch (const ProgramError& e) {
      REQUIRE_THAT(e.what(), Catch::Contains(introduced) && Catch::Contains(depends));
    }
  }
}

TEST_CASE("a stream that would be read for each item of another sequence is refused, with both lines") {
  const std::vector items{Vector<double>{1.0, 2.0}, Vector<double>{3.0}};
  auto s = stream_in(items);
  const std::string introduced = line(-1);
  const auto outer = [&](auto inner) { return map_seq(inner, s); };
  std::string depends;
  const auto build = [&] {
    return outer([&](auto row) {
      auto sums_with = map_seq([=](auto other) { return unit(row[0] + other[0]); }, s);
      depends = line(1);
      return sum(consume(elements(sums_with)));
    });
  };
  for (Backend backend : {Backend::automatic, Backend::cpu}) {
    try {
      run(consume(elements(build())), {.backend = backend});
      FAIL("accepted");
    } catch (const ProgramError& e) {
      REQUIRE_THAT(e.what(), Catch::Contains(introduced) && Catch::Contains(depends));
    }
  }
}

TEST_CASE("a value kept from inside a function is refused outside of it") {
  Exp<double> escaped = 0.0;
  auto v = use(Vector<double>{1.0});
  auto m = map(
      [&](auto x) {
        escaped = x;
        return x;
      },
      v);
  REQUIRE_THROWS_AS(run(unit(escaped)), ProgramError);
  REQUIRE(run(m)[0] == 1.0);
}

}  // namespace
}  // namespace anabranch::testing
