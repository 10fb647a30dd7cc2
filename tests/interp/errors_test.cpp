// Run-time errors name the operation, the numbers and the user's line.

#include "interp/interpret.h"
#include "ir/make.h"
#include "support/catch.h"
#include "support/functions.h"
#include "support/memory_source.h"

using namespace anabranch;
using namespace anabranch::testing;
using Catch::Matchers::Contains;
using ir::Primitive;
using ir::Ref;
using ir::Type;

namespace {

HostArray run(const Ref& array) { return interp::run({&array, 1})[0]; }

const Ref three = ir::use(vector_of<std::int64_t>({1, 2, 3}));

template <class Matcher>
void check_error(const Ref& array, const Matcher& matcher) {
  CHECK_THROWS_MATCHES(run(array), RunError, Catch::Matchers::Predicate<RunError>([&](const RunError& e) {
                         const bool matches = matcher.match(e.what());
                         if (!matches) UNSCOPED_INFO(e.what());
                         return matches;
                       }));
}

Ref constant_function(int parameters, const Ref& value) {
  return unary(int64s(parameters), [&](const Ref&) { return value; });
}

}  // namespace

TEST_CASE("integer division") {
  const auto quotient = [](Primitive op, auto x, auto y, Place place) {
    return ir::primitive(op, {ir::literal(x), ir::literal(y)}, place);
  };
  check_error(ir::unit(quotient(Primitive::divide, std::int32_t{7}, std::int32_t{0}, at_line(12))),
              Contains("divide") && Contains("division of 7 by zero") && Contains("user.cpp:12"));
  check_error(ir::unit(quotient(Primitive::remainder, std::uint8_t{9}, std::uint8_t{0}, at_line(13))),
              Contains("remainder") && Contains("division of 9 by zero") && Contains("user.cpp:13"));
  check_error(ir::unit(quotient(Primitive::divide, INT64_MIN, std::int64_t{-1}, at_line(14))),
              Contains("-9223372036854775808 by -1 overflows") && Contains("user.cpp:14"));
  check_error(ir::unit(quotient(Primitive::remainder, INT32_MIN, std::int32_t{-1}, at_line(15))),
              Contains("overflows") && Contains("user.cpp:15"));
  // The place of the array operation stands in for one that the primitive does not have.
  check_error(ir::unit(quotient(Primitive::divide, std::int32_t{7}, std::int32_t{0}, {}), at_line(16)),
              Contains("user.cpp:16"));
  CHECK_NOTHROW(run(ir::unit(quotient(Primitive::divide, 1.0, 0.0, {}))));
}

TEST_CASE("indices out of range") {
  for (std::int64_t i : {std::int64_t{3}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    check_error(ir::unit(ir::index(three, ir::int64(i), at_line(20))),
                Contains("index " + std::to_string(i) + " out of range 0..2") && Contains("user.cpp:20"));
    check_error(ir::unit(ir::linear_index(three, ir::int64(i), at_line(21))),
                Contains("index " + std::to_string(i) + " out of range 0..2") && Contains("user.cpp:21"));
    check_error(
        ir::backpermute(shape_of({2}), constant_function(1, ir::int64(i)), three, {}, at_line(22), "gather"),
        Contains("gather: index " + std::to_string(i) + " out of range 0..2") && Contains("user.cpp:22"));
  }
  const Ref matrix = ir::use(array_of<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  // In range as a position, but not in its column.
  check_error(ir::unit(ir::index(matrix, shape_of({0, 3}), at_line(23))),
              Contains("index 3 out of range 0..2"));
}

TEST_CASE("shapes that are none") {
  check_error(ir::generate(shape_of({2, -1}), constant_function(2, ir::int64(0)), at_line(30)),
              Contains("generate: negative extent -1") && Contains("user.cpp:30"));
  check_error(ir::generate(shape_of({INT64_MAX, 3}), constant_function(2, ir::int64(0)), at_line(31)),
              Contains("too many elements") && Contains("user.cpp:31"));
  check_error(ir::backpermute(shape_of({-5}), constant_function(1, ir::int64(0)), three, {}, at_line(32)),
              Contains("backpermute") && Contains("negative") && Contains("user.cpp:32"));
  for (const auto& [shape, wrong] : std::vector<std::pair<std::vector<std::int64_t>, std::string>>{
           {{4}, "1 more element than"},
           {{2, 2}, "1 more element than"},
           {{1}, "2 fewer elements than"},
           {{-1, -3}, "negative extent -1"},
           {{-3}, "negative extent -3"},
           {{INT64_MAX, INT64_MAX, 3}, "too many elements"}})
    check_error(ir::reshape(shape_of(shape), three, at_line(33)),
                Contains("reshape") && Contains(wrong) && Contains("user.cpp:33"));
}

TEST_CASE("a fold without a seed has no value for an empty row") {
  const Ref plus = operation(Primitive::add, ScalarType::int64);
  const Ref empty = ir::use(array_of<std::int64_t>({2, 0}, {}));
  check_error(ir::fold(plus, empty, Ref(), at_line(40), "minimum"),
              Contains("minimum") && Contains("no elements") && Contains("user.cpp:40"));
}

TEST_CASE("a second pass over a source that can be read once names both readers") {
  const Ref s = ir::stream_in(ragged<std::int64_t>("pipe", {{1}, {2}}, false), at_line(49));
  const Ref all = ir::consume(ir::elements(s, at_line(50)));
  const Ref body = on_array({1, int64s(1)}, [&](const Ref& row) {
    return ir::map(operation(Primitive::add, ScalarType::int64), {row, all});
  });
  const std::vector<Ref> roots{all, ir::consume(ir::elements(ir::map_seq(body, {s}), at_line(51)))};
  CHECK_THROWS_WITH(interp::run(roots), Contains("pipe") && Contains("user.cpp:50") &&
                                            Contains("user.cpp:51") && Contains("only once"));
}

TEST_CASE("readers of a source that can be read once which do not need each other make one pass") {
  const Ref s = ir::stream_in(ragged<std::int64_t>("pipe", {{1}, {2}}, false), at_line(49));
  const std::vector<Ref> roots{ir::consume(ir::elements(s, at_line(50))),
                               ir::consume(ir::tabulate(s, at_line(51)))};
  const auto results = interp::run(roots);
  CHECK(results[0]->extents == std::vector<std::int64_t>{2});
  CHECK(results[1]->extents == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("a source cannot be streamed inside its own stream") {
  const auto source = ragged<std::int64_t>("rows", {{1}, {2}});
  const Ref body = on_array({1, int64s(1)}, [&](const Ref& row) {
    const Ref i = ir::parameter(Type::array(1, int64s(1)));
    const Ref inner =
        ir::map_seq(ir::lambda({i}, {ir::map(operation(Primitive::add, ScalarType::int64), {i, row})}),
                    {ir::stream_in(source)});
    return ir::consume(ir::elements(inner, at_line(60)));
  });
  const Ref outer = ir::consume(ir::elements(ir::map_seq(body, {ir::stream_in(source)}), at_line(61)));
  check_error(outer, Contains("rows") && Contains("user.cpp:60") && Contains("user.cpp:61"));
}

TEST_CASE("a negative number of items") {
  const Ref i = ir::parameter(Type::array(0, int64s(1)));
  check_error(ir::consume(ir::elements(ir::produce(ir::int64(-2), ir::lambda({i}, {i}), at_line(65)))),
              Contains("produce") && Contains("-2") && Contains("user.cpp:65"));
}

TEST_CASE("an error in an item, and what a source throws, end the run") {
  const Ref body = on_array({1, int64s(1)}, [](const Ref& a) {
    const Ref inverse = unary(int64s(1), [](const Ref& x) {
      return ir::primitive(Primitive::divide, {ir::int64(12), x}, at_line(70));
    });
    return ir::map(inverse, {a});
  });
  const Ref s = ir::map_seq(body, {ir::stream_in(ragged<std::int64_t>("rows", {{1, 2}, {3, 0}}))});
  check_error(ir::consume(ir::elements(s)), Contains("by zero") && Contains("user.cpp:70"));
  interp::ItemStream items(s);
  std::vector<HostArray> item;
  CHECK(items.next(item));
  CHECK_THROWS_AS(items.next(item), RunError);

  struct Broken : MemorySource {
    using MemorySource::MemorySource;
    bool next(const Limit& limit, SourceChunk& chunk) override {
      if (chunks_given == 1) throw DataError("file.mtx: line 3: bad number");
      return MemorySource::next(limit, chunk);
    }
  };
  const auto info = array_info(int64s(1), {std::nullopt}, 0);
  const auto broken = std::make_shared<Broken>(
      "broken", std::vector{info},
      std::vector<Item>{{vector_of<std::int64_t>({1})}, {vector_of<std::int64_t>({2})}});
  const Ref all = ir::consume(ir::elements(ir::stream_in(broken)));
  CHECK_THROWS_AS(run(all), DataError);
}

TEST_CASE("a source that does not keep to its description") {
  struct Liar : MemorySource {
    using MemorySource::MemorySource;
    bool next(const Limit& limit, SourceChunk& chunk) override {
      const bool more = MemorySource::next(limit, chunk);
      chunk.arrays.clear();
      return more;
    }
  };
  const auto info = array_info(int64s(1), {std::nullopt}, 0);
  const auto liar =
      std::make_shared<Liar>("liar", std::vector{info}, std::vector<Item>{{vector_of<std::int64_t>({1})}});
  check_error(ir::consume(ir::elements(ir::stream_in(liar, at_line(80)))),
              Contains("liar") && Contains("user.cpp:80"));
}

TEST_CASE("arrays are strict: what a function mentions is computed, even for no element") {
  const Ref bad = ir::fold(operation(Primitive::add, ScalarType::int64), ir::use(vector_of<std::int64_t>({})),
                           Ref(), at_line(90));
  const Ref mentions =
      unary(int64s(1), [&](const Ref& x) { return ir::cond(ir::literal(true), x, the(bad)); });
  check_error(ir::map(mentions, {three}), Contains("user.cpp:90"));
}

TEST_CASE("a program with an open parameter is refused") {
  const Ref a = ir::parameter(Type::array(1, int64s(1)), at_line(95));
  CHECK_THROWS_WITH(run(ir::map(unary(int64s(1), [](const Ref& x) { return x; }), {a})),
                    Contains("user.cpp:95"));
}

TEST_CASE("places and elements that are accumulated differ in number") {
  const Ref two = ir::use(vector_of<std::int64_t>({0, 1}));
  check_error(ir::accumulate(Primitive::add, ir::tuple({ir::int64(3)}), two, three, false, {}, "meeting"),
              Contains("meeting") && Contains("1 fewer element"));
  check_error(ir::accumulate(Primitive::add, ir::tuple({ir::int64(3)}), three, three, true),
              Contains("3") && Contains("0..2"));
}
