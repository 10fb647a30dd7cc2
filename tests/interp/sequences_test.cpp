// Sequence programs against results worked out by hand.

#include "interp/interpret.h"
#include "ir/make.h"
#include "support/catch.h"
#include "support/functions.h"
#include "support/memory_source.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::ArrayType;
using ir::Primitive;
using ir::Ref;
using ir::Type;

namespace {

using I64 = std::vector<std::int64_t>;
using Rows = std::vector<I64>;

const ir::Scalars int64 = {ScalarType::int64};

HostArray run(const Ref& array) { return interp::run({&array, 1})[0]; }

Ref plus() { return operation(Primitive::add, ScalarType::int64); }
Ref sum(const Ref& a) { return ir::fold(plus(), a, ir::int64(0)); }

/// sum of each item, over a stream of vectors
Ref sums(const Ref& stream) { return ir::map_seq(on_array({1, int64}, sum), {stream}); }

Ref all_elements(const Ref& s) { return ir::consume(ir::elements(s)); }
Ref stacked(const Ref& s) { return ir::consume(ir::tabulate(s)); }

}  // namespace

TEST_CASE("stream_in, map_seq, elements: empty rows keep their place") {
  const Ref s = ir::stream_in(ragged<std::int64_t>("rows", {{1, 2}, {}, {3}, {4, 5, 6}}));
  CHECK(same(run(all_elements(s)), vector_of<std::int64_t>({1, 2, 3, 4, 5, 6})));
  const Ref again = ir::stream_in(ragged<std::int64_t>("rows", {{1, 2}, {}, {3}, {4, 5, 6}}));
  CHECK(same(run(all_elements(sums(again))), vector_of<std::int64_t>({3, 0, 3, 15})));
}

TEST_CASE("awhile gives the first state of which its condition does not hold") {
  const auto below = [](std::int64_t most) {
    return on_array({1, int64}, [&](const Ref& a) {
      return ir::unit(ir::primitive(Primitive::less, {the(sum(a)), ir::int64(most)}));
    });
  };
  const Ref doubled = on_array({1, int64}, [](const Ref& a) { return ir::map(plus(), {a, a}); });
  const Ref state = ir::use(vector_of<std::int64_t>({1, 2}));
  CHECK(same(run(ir::project_array(ir::awhile(below(3), doubled, {state}), 0)),
             vector_of<std::int64_t>({1, 2})));
  CHECK(same(run(ir::project_array(ir::awhile(below(20), doubled, {state}), 0)),
             vector_of<std::int64_t>({8, 16})));
  CHECK_THROWS_AS(ir::awhile(doubled, doubled, {state}), ProgramError);
  CHECK_THROWS_AS(ir::awhile(below(3), below(3), {state}), ProgramError);
  CHECK_THROWS_AS(ir::awhile(below(3), doubled, {}), ProgramError);
}

TEST_CASE("acond computes the side that is taken") {
  const Ref a = ir::use(vector_of<std::int64_t>({1, 2}));
  const Ref fails = ir::map(
      unary(int64, [](const Ref& x) { return ir::primitive(Primitive::divide, {x, ir::int64(0)}); }), {a});
  const auto side = [](const Ref& array) { return ir::lambda({}, {array}); };
  const auto branch = [](bool holds, const Ref& then, const Ref& otherwise) {
    return ir::project_array(ir::acond(ir::literal(holds), then, otherwise), 0);
  };
  CHECK(same(run(branch(true, side(a), side(fails))), run(a)));
  CHECK(same(run(branch(false, side(fails), side(a))), run(a)));
  CHECK_THROWS_AS(run(branch(true, side(fails), side(a))), RunError);
  CHECK_THROWS_AS(ir::acond(ir::literal(true), side(a), side(sum(a))), ProgramError);
}

TEST_CASE("a stream without items") {
  const Ref s = ir::stream_in(ragged<std::int64_t>("none", {}));
  CHECK(run(all_elements(s))->extents == I64{0});
  CHECK(run(stacked(s))->extents == I64{0, 0});
  CHECK(run(stacked(sums(s)))->extents == I64{0});
}

TEST_CASE("sources of every form give the items they hold") {
  const auto check = [](const ArrayInfo& info, const std::vector<HostArray>& arrays) {
    std::vector<Item> items;
    for (const HostArray& a : arrays) items.push_back({a});
    interp::ItemStream stream(
        ir::stream_in(std::make_shared<MemorySource>("forms", std::vector{info}, items)));
    std::vector<HostArray> item;
    for (const HostArray& wanted : arrays) {
      REQUIRE(stream.next(item));
      REQUIRE(item.size() == 1);
      CHECK(same(item[0], wanted));
    }
    CHECK_FALSE(stream.next(item));
    CHECK_FALSE(stream.next(item));
  };
  const auto i32 = [](I64 extents, int first) {
    HostArray out = detail::allocate_array(std::array{ScalarType::int32}, extents);
    for (std::int64_t i = 0; i < out->size(); ++i)
      static_cast<std::int32_t*>(out->buffers[0].get())[i] = first + static_cast<int>(i);
    return out;
  };
  using O = std::vector<std::optional<std::int64_t>>;
  const ir::Scalars scalars{ScalarType::int32};
  for (OffsetType offsets : {OffsetType::int32, OffsetType::int64}) {
    check(array_info(scalars, {}, 0), {i32({}, 1), i32({}, 2)});
    check(array_info(scalars, O{2, 3}, 0), {i32({2, 3}, 10), i32({2, 3}, 20), i32({2, 3}, 30)});
    check(array_info(scalars, O{0}, 0), {i32({0}, 0), i32({0}, 0)});
    check(array_info(scalars, O{std::nullopt}, 0, offsets), {i32({3}, 1), i32({0}, 0), i32({1}, 9)});
    check(array_info(scalars, O{std::nullopt, 2}, 0, offsets),
          {i32({3, 2}, 1), i32({0, 2}, 0), i32({1, 2}, 9)});
    check(array_info(scalars, O{std::nullopt, std::nullopt}, 0, offsets),
          {i32({3, 2}, 1), i32({2, 0}, 0), i32({1, 5}, 9)});
    check(array_info(scalars, O{2, std::nullopt}, 0, offsets),
          {i32({2, 2}, 1), i32({2, 0}, 0), i32({2, 5}, 9)});
    check(array_info(scalars, O{std::nullopt, 2, std::nullopt}, 0, offsets),
          {i32({1, 2, 3}, 1), i32({0, 2, 7}, 0)});
  }
}

TEST_CASE("the sparse product of one vector") {
  // rows of (column, value)
  const std::vector<std::pair<std::vector<std::int32_t>, std::vector<double>>> matrix{
      {{0, 2}, {1.0, 2.0}}, {{}, {}}, {{1, 1, 0}, {3.0, 4.0, 0.5}}};
  std::vector<Item> items;
  for (const auto& [columns, entries] : matrix)
    items.push_back({zip({vector_of(columns), vector_of(entries)})});
  const ir::Scalars entry{ScalarType::int32, ScalarType::float64};
  const Ref s = ir::stream_in(
      std::make_shared<MemorySource>("matrix", std::vector{array_info(entry, {std::nullopt}, 0)}, items));
  const Ref x = ir::use(vector_of<double>({10.0, 20.0, 30.0}));
  const Ref row = on_array({1, entry}, [&](const Ref& r) {
    const Ref columns = ir::map(
        unary(entry, [](const Ref& e) { return ir::cast(ScalarType::int64, ir::component(e, 0)); }), {r});
    const Ref at = unary(int64s(1), [&](const Ref& ix) { return ir::index(columns, ix); });
    const Ref gathered = ir::backpermute(ir::shape(columns), at, x, {});
    const Ref entries = ir::map(unary(entry, [](const Ref& e) { return ir::component(e, 1); }), {r});
    const Ref products = ir::map(operation(Primitive::multiply, ScalarType::float64), {entries, gathered});
    return ir::fold(operation(Primitive::add, ScalarType::float64), products, ir::literal(0.0));
  });
  CHECK(same(run(all_elements(ir::map_seq(row, {s}))), vector_of<double>({70.0, 0.0, 145.0})));
}

TEST_CASE("several streams end with the shortest") {
  const auto three = ragged<std::int64_t>("three", {{1}, {2}, {3}});
  const auto five = ragged<std::int64_t>("five", {{10}, {20}, {30}, {40}, {50}});
  const Ref a = ir::parameter(Type::array(1, int64));
  const Ref b = ir::parameter(Type::array(1, int64));
  const Ref c = ir::parameter(Type::array(0, int64));
  const Ref both = ir::map(plus(), {a, b});
  const Ref i = ir::parameter(Type::array(0, int64));
  const Ref numbers = ir::produce(ir::int64(4), ir::lambda({i}, {i}));
  const Ref add_number =
      ir::lambda({a, b, c}, {both, ir::unit(ir::primitive(Primitive::add, {the(c), the(sum(both))}))});
  const Ref zipped = ir::map_seq(add_number, {ir::stream_in(three), ir::stream_in(five), numbers});
  CHECK(same(run(all_elements(ir::project_seq(zipped, 0, 1))), vector_of<std::int64_t>({11, 22, 33})));
  CHECK(same(run(stacked(ir::project_seq(zipped, 1, 1))), vector_of<std::int64_t>({11, 23, 35})));
}

TEST_CASE("a stream joined with itself, and one source named twice, advance together") {
  const auto source = ragged<std::int64_t>("rows", {{1, 2}, {3}}, false);
  const Ref a = ir::parameter(Type::array(1, int64));
  const Ref b = ir::parameter(Type::array(1, int64));
  const Ref add = ir::lambda({a, b}, {ir::map(plus(), {a, b})});
  const Ref once = ir::stream_in(source);
  CHECK(same(run(all_elements(ir::map_seq(add, {once, once}))), vector_of<std::int64_t>({2, 4, 6})));
  const auto other = ragged<std::int64_t>("rows", {{1, 2}, {3}}, false);
  CHECK(same(run(all_elements(ir::map_seq(add, {ir::stream_in(other), ir::stream_in(other)}))),
             vector_of<std::int64_t>({2, 4, 6})));
}

TEST_CASE("produce counts from zero; a function of several results") {
  const Ref i = ir::parameter(Type::array(0, int64));
  // item k: the vector 0 .. k-1, and k squared
  const Ref vector = ir::generate(the(i), unary(int64s(1), [](const Ref& ix) { return ix; }));
  const Ref square = ir::unit(ir::primitive(Primitive::multiply, {the(i), the(i)}));
  const Ref s = ir::produce(ir::int64(4), ir::lambda({i}, {vector, square}));
  CHECK(same(run(all_elements(ir::project_seq(s, 0, 1))), vector_of<std::int64_t>({0, 0, 1, 0, 1, 2})));
  CHECK(same(run(stacked(ir::project_seq(s, 1, 1))), vector_of<std::int64_t>({0, 1, 4, 9})));
  const Ref j = ir::parameter(Type::array(0, int64));
  CHECK(run(all_elements(ir::produce(ir::int64(0), ir::lambda({j}, {j}))))->extents == I64{0});
}

TEST_CASE("rows of a matrix and of a cube") {
  const Ref matrix = ir::use(array_of<std::int64_t>({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK(same(run(all_elements(sums(ir::rows(matrix)))), vector_of<std::int64_t>({3, 7, 11})));
  const Ref cube = ir::use(array_of<std::int64_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(same(run(stacked(ir::rows(cube))), array_of<std::int64_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})));
  CHECK(same(run(all_elements(ir::rows(ir::use(vector_of<std::int64_t>({4, 5}))))),
             vector_of<std::int64_t>({4, 5})));
  CHECK(run(stacked(ir::rows(ir::use(array_of<std::int64_t>({0, 3}, {})))))->extents == I64{0, 0});
  CHECK(run(stacked(ir::rows(ir::use(array_of<std::int64_t>({2, 0}, {})))))->extents == I64{2, 0});
}

TEST_CASE("tabulate trims every extent to the smallest of the whole stream") {
  const Ref s = ir::stream_in(ragged<std::int64_t>("rows", {{1, 2, 3}, {4, 5}, {6, 7, 8, 9}}));
  CHECK(same(run(stacked(s)), array_of<std::int64_t>({3, 2}, {1, 2, 4, 5, 6, 7})));

  std::vector<Item> items{{array_of<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6})},
                          {array_of<std::int64_t>({3, 2}, {10, 20, 30, 40, 50, 60})}};
  const auto irregular = array_info(int64, {std::nullopt, std::nullopt}, 0);
  const Ref matrices =
      ir::stream_in(std::make_shared<MemorySource>("matrices", std::vector{irregular}, items));
  CHECK(same(run(stacked(matrices)), array_of<std::int64_t>({2, 2, 2}, {1, 2, 4, 5, 10, 20, 30, 40})));
  items.push_back({array_of<std::int64_t>({0, 5}, {})});
  const Ref with_empty =
      ir::stream_in(std::make_shared<MemorySource>("matrices", std::vector{irregular}, items));
  CHECK(run(stacked(with_empty))->extents == I64{3, 0, 2});
}

TEST_CASE("what does not depend on the item is computed once, and item by item what does") {
  const auto source = ragged<std::int64_t>("counted", {{1}, {2}, {3}, {4}});
  const auto inner = ragged<std::int64_t>("inner", {{100}, {200}});
  const Ref captured = all_elements(ir::stream_in(inner));
  const Ref body = on_array({1, int64}, [&](const Ref& a) {
    const Ref offset = ir::linear_index(captured, ir::int64(1));
    return ir::map(unary(int64s(1), [&](const Ref& x) { return ir::primitive(Primitive::add, {x, offset}); }),
                   {a});
  });
  CHECK(same(run(all_elements(ir::map_seq(body, {ir::stream_in(source)}))),
             vector_of<std::int64_t>({201, 202, 203, 204})));
  CHECK(source->chunks_given == 4);
  CHECK(inner->chunks_given == 2);
}

TEST_CASE("a stream inside the function of a stream") {
  // for each row: the sum over its elements x of the sum of 0 .. x-1
  const Ref body = on_array({1, int64}, [&](const Ref& row) {
    const Ref inner = on_array({0, int64}, [&](const Ref& x) {
      return sum(ir::generate(the(x), unary(int64s(1), [](const Ref& ix) { return ix; })));
    });
    return sum(all_elements(ir::map_seq(inner, {ir::rows(row)})));
  });
  const Ref s = ir::stream_in(ragged<std::int64_t>("rows", {{1, 2, 3}, {}, {5}}));
  CHECK(same(run(all_elements(ir::map_seq(body, {s}))), vector_of<std::int64_t>({4, 0, 10})));
}

TEST_CASE("sequence functions that share a parameter, one inside the other") {
  const Ref v = ir::parameter(Type::array(0, int64));
  const Ref twice = ir::lambda({v}, {ir::unit(ir::primitive(Primitive::add, {the(v), the(v)}))});
  // item v: v + (the sum of 2 i for i < v) + v
  const Ref iota = ir::generate(the(v), unary(int64s(1), [](const Ref& ix) { return ix; }));
  const Ref inner = the(sum(all_elements(ir::map_seq(twice, {ir::rows(iota)}))));
  const Ref before = ir::unit(ir::primitive(Primitive::add, {the(v), inner}));
  const Ref body = ir::lambda({v}, {ir::unit(ir::primitive(Primitive::add, {the(before), the(v)}))});
  const Ref numbers = ir::rows(ir::use(vector_of<std::int64_t>({0, 1, 5})));
  CHECK(same(run(all_elements(ir::map_seq(body, {numbers}))), vector_of<std::int64_t>({0, 2, 30})));
}

TEST_CASE("a chain of 10,000 sequences") {
  Ref s = ir::stream_in(ragged<std::int64_t>("rows", {{1, 2}, {}, {3}}));
  const Ref next = on_array({1, int64}, [](const Ref& a) {
    return ir::map(
        unary(int64s(1), [](const Ref& x) { return ir::primitive(Primitive::add, {x, ir::int64(1)}); }), {a});
  });
  for (int i = 0; i < 10'000; ++i) s = ir::map_seq(next, {s});
  CHECK(same(run(all_elements(s)), vector_of<std::int64_t>({10'001, 10'002, 10'003})));
}

TEST_CASE("each terminal makes its own pass; a terminal used twice makes one") {
  const auto source = ragged<std::int64_t>("rows", {{1, 2}, {3}});
  const Ref s = ir::stream_in(source);
  const Ref all = all_elements(s);
  const Ref per_row = all_elements(sums(s));
  const std::vector<Ref> roots{all, per_row, all, ir::map(plus(), {all, all})};
  const auto out = interp::run(roots);
  CHECK(same(out[0], vector_of<std::int64_t>({1, 2, 3})));
  CHECK(same(out[1], vector_of<std::int64_t>({3, 3})));
  CHECK(same(out[2], out[0]));
  CHECK(same(out[3], vector_of<std::int64_t>({2, 4, 6})));
  CHECK(source->chunks_given == 4);
}

TEST_CASE("ItemStream gives items as they are asked for") {
  const auto source = ragged<std::int64_t>("rows", {{1, 2}, {}, {3}});
  interp::ItemStream stream(sums(ir::stream_in(source)));
  std::vector<HostArray> item;
  CHECK(source->chunks_given == 0);
  REQUIRE(stream.next(item));
  CHECK(same(item[0], scalar_of<std::int64_t>(3)));
  CHECK(source->chunks_given == 1);
  REQUIRE(stream.next(item));
  CHECK(same(item[0], scalar_of<std::int64_t>(0)));
  REQUIRE(stream.next(item));
  CHECK_FALSE(stream.next(item));
}

TEST_CASE("a run can be stopped") {
  std::stop_source stop;
  stop.request_stop();
  const Ref a = sum(ir::use(vector_of<std::int64_t>({1})));
  CHECK_THROWS_AS(interp::run({&a, 1}, stop.get_token()), Cancelled);
}

TEST_CASE("take_seq ends all that advances with it, and asks no source for more") {
  const auto source = ragged<std::int64_t>("rows", {{1, 2}, {3}, {4, 5, 6}});
  const auto other = ragged<std::int64_t>("other", {{10}, {20}, {30}});
  const Ref s = ir::stream_in(source);
  const Ref t = ir::stream_in(other);
  CHECK(same(run(all_elements(ir::take_seq(ir::int64(2), s))), vector_of<std::int64_t>({1, 2, 3})));
  CHECK(source->chunks_given == 2);
  CHECK(same(run(all_elements(ir::take_seq(ir::int64(4), s))), vector_of<std::int64_t>({1, 2, 3, 4, 5, 6})));
  CHECK(run(all_elements(ir::take_seq(ir::int64(0), s)))->extents == I64{0});
  const Ref a = ir::parameter(Type::array(1, int64));
  const Ref b = ir::parameter(Type::array(1, int64));
  const Ref zipped =
      ir::map_seq(ir::lambda({a, b}, {ir::map(plus(), {a, b})}), {s, ir::take_seq(ir::int64(1), t)});
  source->chunks_given = other->chunks_given = 0;
  CHECK(same(run(all_elements(zipped)), vector_of<std::int64_t>({11})));
  CHECK(source->chunks_given == 1);
  CHECK(other->chunks_given == 1);
  const Ref nested = ir::take_seq(ir::int64(3), sums(ir::take_seq(ir::int64(2), s)));
  CHECK(same(run(all_elements(nested)), vector_of<std::int64_t>({3, 3})));
}
