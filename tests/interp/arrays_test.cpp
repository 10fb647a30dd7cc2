// Array programs at every rank against results worked out by hand.

#include <numeric>

#include "interp/interpret.h"
#include "ir/make.h"
#include "support/catch.h"
#include "support/functions.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Primitive;
using ir::Ref;

namespace {

HostArray run(const Ref& array) { return interp::run({&array, 1})[0]; }

std::vector<std::int64_t> iota(std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

using I64 = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("generate at ranks 0 to 4") {
  for (int rank = 0; rank <= 4; ++rank) {
    const I64 extents = I64{2, 3, 1, 4};
    const I64 mine(extents.begin(), extents.begin() + rank);
    const Ref position = unary(int64s(rank), [&](const Ref& ix) {
      std::vector<Ref> extent_nodes;
      std::vector<Ref> ix_nodes;
      for (int d = 0; d < rank; ++d) {
        extent_nodes.push_back(ir::int64(mine[static_cast<std::size_t>(d)]));
        ix_nodes.push_back(ir::component(ix, d));
      }
      return ir::to_linear(extent_nodes, ix_nodes);
    });
    const HostArray out = run(ir::generate(shape_of(mine), position));
    CHECK(out->extents == mine);
    CHECK(values<std::int64_t>(out) == iota(out->size()));
  }
}

TEST_CASE("generate with a zero extent gives no element and calls no function") {
  const Ref fails = unary(int64s(2), [](const Ref& ix) {
    return ir::primitive(Primitive::divide, {ir::component(ix, 0), ir::int64(0)});
  });
  for (const I64& extents : {I64{0, 3}, I64{3, 0}, I64{0, 0}}) {
    const HostArray out = run(ir::generate(shape_of(extents), fails));
    CHECK(out->extents == extents);
    CHECK(out->size() == 0);
  }
}

TEST_CASE("map takes the intersection of the shapes") {
  const Ref a = ir::use(array_of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Ref b = ir::use(array_of<std::int32_t>({3, 2}, {10, 20, 30, 40, 50, 60}));
  const Ref sum = ir::map(operation(Primitive::add, ScalarType::int32), {a, b});
  CHECK(same(run(sum), array_of<std::int32_t>({2, 2}, {11, 22, 34, 45})));
  const Ref none = ir::use(array_of<std::int32_t>({0, 5}, {}));
  CHECK(run(ir::map(operation(Primitive::add, ScalarType::int32), {a, none}))->extents == I64{0, 3});
}

TEST_CASE("map over tuples of arrays, and to a tuple") {
  const Ref a = ir::use(zip({vector_of<std::int32_t>({1, 2, 3}), vector_of<double>({0.5, 1.5, 2.5})}));
  const Ref swap_and_scale = unary({ScalarType::int32, ScalarType::float64}, [](const Ref& e) {
    const Ref wide = ir::cast(ScalarType::float64, ir::component(e, 0));
    return ir::tuple({ir::primitive(Primitive::multiply, {wide, ir::component(e, 1)}), ir::component(e, 0)});
  });
  const HostArray out = run(ir::map(swap_and_scale, {a}));
  CHECK(same(out, zip({vector_of<double>({0.5, 3.0, 7.5}), vector_of<std::int32_t>({1, 2, 3})})));
}

TEST_CASE("fold reduces the innermost dimension; the seed is joined from the left") {
  const Ref a = ir::use(array_of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Ref minus = operation(Primitive::subtract, ScalarType::int32);
  const Ref seed = ir::literal(std::int32_t{100});
  // 100 - ((1 - 2) - 3) and 100 - ((4 - 5) - 6)
  CHECK(same(run(ir::fold(minus, a, seed)), vector_of<std::int32_t>({104, 107})));
  CHECK(same(run(ir::fold(minus, a, Ref())), vector_of<std::int32_t>({-4, -7})));
  const Ref cube = ir::use(array_of<std::int32_t>({2, 1, 2}, {1, 2, 3, 4}));
  CHECK(same(run(ir::fold(operation(Primitive::multiply, ScalarType::int32), cube, Ref())),
             array_of<std::int32_t>({2, 1}, {2, 12})));
}

TEST_CASE("fold of empty rows gives the seed; without rows it gives nothing") {
  const Ref plus = operation(Primitive::add, ScalarType::int32);
  const Ref seed = ir::literal(std::int32_t{7});
  const Ref empty_rows = ir::use(array_of<std::int32_t>({3, 0}, {}));
  CHECK(same(run(ir::fold(plus, empty_rows, seed)), vector_of<std::int32_t>({7, 7, 7})));
  const Ref no_rows = ir::use(array_of<std::int32_t>({0, 0}, {}));
  CHECK(run(ir::fold(plus, no_rows, seed))->extents == I64{0});
  CHECK(run(ir::fold(plus, no_rows, Ref()))->extents == I64{0});
}

TEST_CASE("backpermute: transpose, gather, replicate, to and from rank 0") {
  const Ref a = ir::use(array_of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Ref swapped =
      unary(int64s(2), [](const Ref& ix) { return ir::tuple({ir::component(ix, 1), ir::component(ix, 0)}); });
  CHECK(same(run(ir::backpermute(shape_of({3, 2}), swapped, a, {true, false})),
             array_of<std::int32_t>({3, 2}, {1, 4, 2, 5, 3, 6})));

  const Ref columns = ir::use(vector_of<std::int64_t>({2, 0, 0}));
  const Ref row = ir::use(vector_of<std::int32_t>({10, 20, 30}));
  const Ref at_column = unary(int64s(1), [&](const Ref& ix) { return ir::index(columns, ix); });
  CHECK(same(run(ir::backpermute(ir::shape(columns), at_column, row, {})),
             vector_of<std::int32_t>({30, 10, 10})));

  const Ref one = ir::use(scalar_of<std::int32_t>(9));
  const Ref to_nothing = unary(int64s(2), [](const Ref&) { return ir::tuple({}); });
  CHECK(same(run(ir::backpermute(shape_of({1, 2}), to_nothing, one, {})),
             array_of<std::int32_t>({1, 2}, {9, 9})));
  const Ref at_1_2 = unary(int64s(0), [](const Ref&) { return ir::tuple({ir::int64(1), ir::int64(2)}); });
  CHECK(same(run(ir::backpermute(ir::tuple({}), at_1_2, a, {true, false})), scalar_of<std::int32_t>(6)));
}

TEST_CASE("reshape keeps the elements in row-major order") {
  const Ref a = ir::use(array_of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(same(run(ir::reshape(shape_of({6}), a)), vector_of<std::int32_t>({1, 2, 3, 4, 5, 6})));
  CHECK(same(run(ir::reshape(shape_of({1, 3, 1, 2}), a)),
             array_of<std::int32_t>({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6})));
  const Ref none = ir::use(array_of<std::int32_t>({0, 3}, {}));
  CHECK(run(ir::reshape(shape_of({5, 0}), none))->extents == I64{5, 0});
  const Ref one = ir::use(array_of<std::int32_t>({1, 1}, {4}));
  CHECK(same(run(ir::reshape(ir::tuple({}), one)), scalar_of<std::int32_t>(4)));
}

TEST_CASE("unit, index, linear_index and shape") {
  const Ref a = ir::use(array_of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(same(run(ir::unit(ir::index(a, shape_of({1, 0})))), scalar_of<std::int32_t>(4)));
  CHECK(same(run(ir::unit(ir::linear_index(a, ir::int64(5)))), scalar_of<std::int32_t>(6)));
  CHECK(same(run(ir::unit(ir::shape(a))), zip({scalar_of<std::int64_t>(2), scalar_of<std::int64_t>(3)})));
  CHECK(same(run(ir::unit(ir::index(ir::use(scalar_of(true)), ir::tuple({})))), scalar_of(true)));
}

TEST_CASE("only the taken side of a cond is evaluated") {
  const Ref a = ir::use(vector_of<std::int32_t>({0, 1, 2, 0, 5}));
  const Ref guarded = unary({ScalarType::int32}, [](const Ref& x) {
    const Ref zero = ir::literal(std::int32_t{0});
    const Ref quotient = ir::primitive(Primitive::divide, {ir::literal(std::int32_t{10}), x});
    return ir::cond(ir::primitive(Primitive::equal, {x, zero}), ir::literal(std::int32_t{-1}), quotient);
  });
  CHECK(same(run(ir::map(guarded, {a})), vector_of<std::int32_t>({-1, 10, 5, -1, 2})));
}

TEST_CASE("while_loop: Collatz steps, a loop that never runs, loops inside loops") {
  using enum Primitive;
  const auto i64 = [](std::int64_t x) { return ir::int64(x); };
  const ir::Scalars state = int64s(2);
  const Ref not_one = unary(
      state, [&](const Ref& s) { return ir::primitive(Primitive::less, {i64(1), ir::component(s, 0)}); });
  const Ref collatz = unary(state, [&](const Ref& s) {
    const Ref n = ir::component(s, 0);
    const Ref even = ir::primitive(equal, {ir::primitive(remainder, {n, i64(2)}), i64(0)});
    const Ref odd_next = ir::primitive(add, {ir::primitive(multiply, {n, i64(3)}), i64(1)});
    return ir::tuple({ir::cond(even, ir::primitive(divide, {n, i64(2)}), odd_next),
                      ir::primitive(add, {ir::component(s, 1), i64(1)})});
  });
  const Ref steps = unary(int64s(1), [&](const Ref& n) {
    return ir::component(ir::while_loop(not_one, collatz, ir::tuple({n, i64(0)})), 1);
  });
  const Ref numbers = ir::use(vector_of<std::int64_t>({1, 2, 6, 27, -5}));
  CHECK(same(run(ir::map(steps, {numbers})), vector_of<std::int64_t>({0, 1, 8, 111, 0})));

  // sum over i < n of (sum over j < i of n), with both loops reading outer parameters
  const Ref nested = unary(int64s(1), [&](const Ref& n) {
    const auto loop = [&](const Ref& bound, auto term) {
      const Ref test =
          unary(state, [&](const Ref& s) { return ir::primitive(less, {ir::component(s, 0), bound}); });
      const Ref body = unary(state, [&](const Ref& s) {
        return ir::tuple({ir::primitive(add, {ir::component(s, 0), i64(1)}),
                          ir::primitive(add, {ir::component(s, 1), term(ir::component(s, 0))})});
      });
      return ir::component(ir::while_loop(test, body, ir::tuple({i64(0), i64(0)})), 1);
    };
    return loop(n, [&](const Ref& i) { return loop(i, [&](const Ref&) { return n; }); });
  });
  CHECK(same(run(ir::map(nested, {numbers})), vector_of<std::int64_t>({0, 2, 90, 9477, 0})));
}

TEST_CASE("a shared array is computed once, and several results share work") {
  // 2^60 additions if sharing were lost.
  Ref a = ir::use(vector_of<std::int64_t>({1, 2}));
  for (int i = 0; i < 60; ++i) a = ir::map(operation(Primitive::add, ScalarType::int64), {a, a});
  const std::vector<Ref> both{a, ir::fold(operation(Primitive::bit_or, ScalarType::int64), a, Ref())};
  const auto out = interp::run(both);
  CHECK(same(out[0], vector_of<std::int64_t>({std::int64_t{1} << 60, std::int64_t{1} << 61})));
  CHECK(same(out[1], scalar_of<std::int64_t>(std::int64_t{3} << 60)));
}

TEST_CASE("shared scalar terms are computed once") {
  const Ref doubling = unary(int64s(1), [](Ref x) {
    for (int i = 0; i < 60; ++i) x = ir::primitive(Primitive::add, {x, x});
    return x;
  });
  CHECK(same(run(ir::map(doubling, {ir::use(vector_of<std::int64_t>({1, 3}))})),
             vector_of<std::int64_t>({std::int64_t{1} << 60, std::int64_t{3} << 60})));
}

TEST_CASE("functions that share a parameter, one applied inside the other") {
  // As a pass leaves it that puts an argument into two copies of f x = (s = 1; while (s < 10) s = s + x; s).
  using enum Primitive;
  const Ref s = ir::parameter(ir::Type::element(int64s(1)));
  const Ref small = ir::lambda({s}, {ir::primitive(less, {s, ir::int64(10)})});
  const auto f = [&](const Ref& x) {
    return ir::while_loop(small, ir::lambda({s}, {ir::primitive(add, {s, x})}), ir::int64(1));
  };
  // f 2 = 11, f 3 = 10: the inner loop is first needed in the first step of the outer one.
  const Ref twice = unary(int64s(1), [&](const Ref& x) { return f(f(x)); });
  CHECK(same(run(ir::map(twice, {ir::use(vector_of<std::int64_t>({2, 3}))})),
             vector_of<std::int64_t>({12, 11})));
}

TEST_CASE("programs of 100,000 nodes in a chain") {
  constexpr int length = 100'000;
  SECTION("scalar terms") {
    const Ref chain = unary(int64s(1), [](Ref x) {
      for (int i = 0; i < length; ++i) x = ir::primitive(Primitive::add, {x, ir::int64(1)});
      return x;
    });
    CHECK(same(run(ir::map(chain, {ir::use(vector_of<std::int64_t>({0, 5}))})),
               vector_of<std::int64_t>({length, length + 5})));
  }
  SECTION("conditionals") {
    const Ref chain = unary(int64s(1), [](const Ref& x) {
      Ref y = x;
      const Ref positive = ir::primitive(Primitive::less, {ir::int64(0), x});
      for (int i = 0; i < length / 2; ++i)
        y = ir::cond(positive, ir::primitive(Primitive::add, {y, ir::int64(1)}), y);
      return y;
    });
    CHECK(same(run(ir::map(chain, {ir::use(vector_of<std::int64_t>({0, 5}))})),
               vector_of<std::int64_t>({0, length / 2 + 5})));
  }
  SECTION("loops that read the loop before") {
    Ref y = ir::int64(0);
    for (int i = 0; i < length / 10; ++i) {
      const Ref test =
          unary(int64s(1), [&](const Ref& s) { return ir::primitive(Primitive::less_equal, {s, y}); });
      const Ref body = unary(int64s(1), [&](const Ref& s) {
        return ir::primitive(Primitive::add, {ir::primitive(Primitive::add, {s, y}), ir::int64(1)});
      });
      y = ir::primitive(Primitive::remainder, {ir::while_loop(test, body, ir::int64(0)), ir::int64(1000)});
    }
    CHECK(same(run(ir::unit(y)), scalar_of<std::int64_t>(length / 10 % 1000)));
  }
  SECTION("arrays") {
    Ref a = ir::use(vector_of<std::int64_t>({1}));
    const Ref function =
        unary(int64s(1), [](const Ref& x) { return ir::primitive(Primitive::add, {x, ir::int64(1)}); });
    for (int i = 0; i < length; ++i) a = ir::map(function, {a});
    CHECK(same(run(a), vector_of<std::int64_t>({length + 1})));
  }
  SECTION("arrays captured by functions") {
    Ref a = ir::use(vector_of<std::int64_t>({1}));
    for (int i = 0; i < length / 10; ++i) {
      const Ref function = unary(int64s(1), [&](const Ref& x) {
        return ir::primitive(Primitive::add, {x, ir::index(a, ir::int64(0))});
      });
      a = ir::map(function, {ir::use(vector_of<std::int64_t>({1}))});
    }
    CHECK(same(run(a), vector_of<std::int64_t>({length / 10 + 1})));
  }
}
