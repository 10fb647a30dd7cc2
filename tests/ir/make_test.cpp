// The checked constructors: what they refuse, where they say it is, and what types they give.

#include "ir/make.h"

#include "support/catch.h"
#include "support/functions.h"
#include "support/memory_source.h"

using namespace anabranch;
using namespace anabranch::testing;
using Catch::Matchers::Contains;
using ir::Primitive;
using ir::Ref;
using ir::Scalars;
using ir::Type;

namespace {

const Scalars i64{ScalarType::int64};
const Place here = at_line(17);

Ref vector() { return ir::use(vector_of<std::int64_t>({1, 2, 3})); }
Ref identity(const Scalars& scalars) {
  return unary(scalars, [](const Ref& x) { return x; });
}
Ref sequence() { return ir::stream_in(ragged<std::int64_t>("rows", {{1}, {2, 3}})); }

/// `make` must be refused with a message that says all of this, and our line.
template <class F>
void refused(F&& make, const std::string& part) {
  CHECK_THROWS_AS(make(), ProgramError);
  CHECK_THROWS_WITH(make(), Contains(part) && Contains("user.cpp:17"));
}

}  // namespace

TEST_CASE("types of scalar expressions") {
  using enum ScalarType;
  const Ref x = ir::parameter(Type::element({int32, float64, boolean}));
  CHECK(ir::component(x, 1)->type().is(float64));
  CHECK(ir::project(x, 1, 2)->type() == Type::element({float64, boolean}));
  CHECK(ir::tuple({x, ir::int64(1)})->type() == Type::element({int32, float64, boolean, int64}));
  CHECK(ir::tuple({})->type().components() == 0);
  CHECK(ir::primitive(Primitive::less, {ir::component(x, 1), ir::literal(1.0)})->type().is(boolean));
  CHECK(ir::cast(uint8, ir::component(x, 1))->type().is(uint8));
  CHECK(ir::index(vector(), ir::int64(0))->type().is(int64));
  CHECK(ir::shape(ir::use(array_of<float>({1, 2, 3}, std::vector<float>(6))))->type() ==
        Type::element(int64s(3)));
  CHECK(ir::shape(ir::use(scalar_of(1.0)))->type().components() == 0);
  CHECK(ir::literal(1.0F)->payload().bits == 0x3f800000);
  CHECK(ir::literal(std::int32_t{-1})->payload().bits == 0xffffffff);
}

TEST_CASE("types of array and sequence computations") {
  using enum ScalarType;
  const Ref a = ir::use(zip({vector_of<std::int32_t>({1}), vector_of<double>({2})}));
  CHECK(a->type() == Type::array(1, {int32, float64}));
  CHECK(ir::unit(ir::literal(true))->type() == Type::array(0, {boolean}));
  CHECK(ir::generate(shape_of({1, 2}), identity(int64s(2)))->type() == Type::array(2, int64s(2)));
  CHECK(ir::map(identity({int32, float64}), {a})->type() == Type::array(1, {int32, float64}));
  const Ref matrix = ir::use(array_of<std::int64_t>({1, 1}, {5}));
  CHECK(ir::fold(operation(Primitive::add, int64), matrix, Ref())->type() == Type::array(1, i64));
  CHECK(ir::reshape(shape_of({1, 1, 1, 1}), matrix)->type() == Type::array(4, i64));
  CHECK(ir::backpermute(ir::tuple({}),
                        ir::lambda({ir::parameter(Type::element(Scalars{}))}, {shape_of({0, 0})}), matrix, {})
            ->type() == Type::array(0, i64));
  const Ref s = sequence();
  CHECK(s->type() == Type::sequence({{1, i64}}));
  CHECK(ir::rows(matrix)->type() == Type::sequence({{1, i64}}));
  CHECK(ir::elements(s)->type() == Type::array(1, i64));
  CHECK(ir::consume(ir::tabulate(s))->type() == Type::array(2, i64));
  const Ref p = ir::parameter(Type::array(1, i64));
  const Ref twice = ir::map_seq(ir::lambda({p}, {p, ir::unit(ir::int64(1))}), {s});
  CHECK(twice->type() == Type::sequence({{1, i64}, {0, i64}}));
  CHECK(ir::project_seq(twice, 1, 1)->type() == Type::sequence({{0, i64}}));
}

TEST_CASE("ids grow from children to parents") {
  const Ref x = ir::int64(1);
  const Ref y = ir::primitive(Primitive::negate, {x});
  CHECK(x->id() < y->id());
}

TEST_CASE("scalar type errors") {
  using enum Primitive;
  const Ref one = ir::int64(1);
  refused([&] { return ir::primitive(add, {one, ir::literal(1.0)}, here); }, "add");
  refused([&] { return ir::primitive(add, {one}, here); }, "takes 2 operands, got 1");
  refused([&] { return ir::primitive(add, {ir::literal(true), ir::literal(true)}, here); },
          "not defined on bool");
  refused([&] { return ir::primitive(square_root, {one}, here); }, "not defined on int64");
  refused([&] { return ir::primitive(bit_and, {ir::literal(1.0), ir::literal(1.0)}, here); },
          "not defined on double");
  refused([&] { return ir::primitive(logical_not, {one}, here); }, "not defined on int64");
  refused([&] { return ir::primitive(cast, {one}, here); }, "cast");
  refused([&] { return ir::cast(ScalarType::int32, shape_of({1, 2}), here); }, "takes a scalar");
  refused([&] { return ir::cast(ScalarType::int32, vector(), here); }, "takes a scalar");
  refused([&] { return ir::cond(one, one, one, here); }, "cond");
  refused([&] { return ir::cond(ir::literal(true), one, ir::literal(1.0), here); }, "cond");
  refused([&] { return ir::project(one, 0, 2, here); }, "project");
  refused([&] { return ir::project(one, -1, 1, here); }, "project");
  refused([&] { return ir::tuple({one, vector()}, here); }, "joins elements");
  refused([&] { return ir::index(vector(), ir::literal(std::int32_t{0}), here); }, "indexed by");
  refused([&] { return ir::index(vector(), shape_of({0, 0}), here); }, "indexed by");
  refused([&] { return ir::index(one, one, here); }, "reads an array");
  refused([&] { return ir::linear_index(vector(), ir::literal(0.5), here); }, "linear_index");
  refused([&] { return ir::shape(one, here); }, "shape");
  refused([&] { return ir::while_loop(identity(i64), identity(i64), one, here); }, "while_loop");
  refused([&] { return ir::primitive(add, {one, Ref()}, here); }, "empty handle");
}

TEST_CASE("array and sequence type errors") {
  const Ref plus = operation(Primitive::add, ScalarType::int64);
  refused([&] { return ir::map(plus, {vector()}, here); }, "map");
  refused([&] { return ir::map(identity({ScalarType::float64}), {vector()}, here); }, "map");
  refused([&] { return ir::map(plus, {vector(), ir::use(scalar_of<std::int64_t>(1))}, here); }, "one rank");
  refused([&] { return ir::map(identity(i64), {sequence()}, here); }, "map");
  refused([&] { return ir::generate(ir::literal(1.0), identity({ScalarType::float64}), here); },
          "expects a shape");
  refused([&] { return ir::generate(shape_of({1, 1, 1, 1, 1}), identity(int64s(5)), here); },
          "expects a shape");
  refused([&] { return ir::generate(shape_of({1, 2}), identity(i64), here); }, "generate");
  refused([&] { return ir::fold(plus, ir::use(scalar_of<std::int64_t>(1)), Ref(), here); }, "rank 1 or more");
  refused([&] { return ir::fold(identity(i64), vector(), Ref(), here); }, "fold");
  refused([&] { return ir::fold(plus, vector(), ir::literal(1.0), here, "sum"); }, "sum");
  refused(
      [&] {
        return ir::backpermute(shape_of({1}), identity(i64), ir::use(array_of<float>({1, 1}, {0})), {}, here);
      },
      "an index of its array");
  refused([&] { return ir::reshape(shape_of({1}), ir::int64(1), here); }, "takes an array");
  refused([&] { return ir::consume(sequence(), here); }, "terminal");
  refused([&] { return ir::rows(ir::use(scalar_of<std::int64_t>(1)), here); }, "rank 1 or more");
  refused([&] { return ir::map_seq(identity(i64), {sequence()}, here); }, "map_seq");
  refused([&] { return ir::map_seq(identity(i64), {vector()}, here); }, "works on sequences");
  refused([&] { return ir::produce(ir::literal(std::int32_t{3}), identity(i64), here); }, "produce");
  const Ref p = ir::parameter(Type::array(1, i64));
  const Ref two = ir::map_seq(ir::lambda({p}, {p, p}), {sequence()});
  refused([&] { return ir::elements(two, here); }, "single arrays");
  refused([&] { return ir::project_seq(two, 1, 2, here); }, "project_seq");
  const Ref q = ir::parameter(Type::array(1, i64));
  const Ref deep = ir::map_seq(ir::lambda({q}, {ir::reshape(shape_of({1, 1, 1, 1}), q)}), {sequence()});
  refused([&] { return ir::tabulate(deep, here); }, "rank 4");
}

TEST_CASE("nested parallelism in scalar code is refused, naming both places") {
  const Ref x = ir::parameter(Type::element(i64), at_line(3));
  const auto names_both = [](auto make) {
    CHECK_THROWS_WITH(make(),
                      Contains("user.cpp:3") && Contains("user.cpp:17") && Contains("nested parallelism"));
  };
  names_both([&] { return ir::generate(x, identity(i64), here); });
  names_both([&] { return ir::unit(x, here); });
  names_both([&] {
    return ir::map(unary(i64, [&](const Ref& y) { return ir::primitive(Primitive::add, {x, y}); }),
                   {vector()}, here);
  });
  names_both([&] { return ir::fold(operation(Primitive::add, ScalarType::int64), vector(), x, here); });
  names_both([&] { return ir::reshape(x, vector(), here); });
  names_both([&] {
    const Ref i = ir::parameter(Type::array(0, i64));
    return ir::produce(x, ir::lambda({i}, {i}), here);
  });
  // An array parameter is not a scalar one.
  const Ref a = ir::parameter(Type::array(1, i64));
  CHECK_NOTHROW(ir::map(identity(i64), {a}, here));
  // A function's own parameter does not leave it.
  CHECK_NOTHROW(ir::map(unary(i64, [](const Ref& y) { return y; }), {vector()}, here));
}

TEST_CASE("free parameters") {
  const Ref x = ir::parameter(Type::element(i64));
  const Ref y = ir::parameter(Type::element(i64));
  const Ref sum = ir::primitive(Primitive::add, {y, x});
  CHECK(ir::int64(1)->closed());
  CHECK(x->free() == std::vector<const ir::Node*>{x.get()});
  CHECK(sum->free() == std::vector<const ir::Node*>{x.get(), y.get()});
  const Ref of_x = ir::lambda({x}, {sum});
  CHECK(of_x->free() == std::vector<const ir::Node*>{y.get()});
  CHECK(ir::lambda({y, x}, {sum})->closed());
  CHECK(ir::primitive(Primitive::negate, {sum})->shared_free() == sum->shared_free());
  const Ref a = ir::parameter(Type::array(1, i64));
  CHECK(ir::shape(a)->free() == std::vector<const ir::Node*>{a.get()});
}

TEST_CASE("project looks through tuples and projections") {
  const Ref x = ir::parameter(Type::element(int64s(3)));
  const Ref y = ir::parameter(Type::element(int64s(2)));
  const Ref both = ir::tuple({x, y});
  CHECK(ir::project(both, 0, 3) == x);
  CHECK(ir::project(both, 3, 2) == y);
  CHECK(ir::component(both, 1)->child(0) == x);
  CHECK(ir::component(ir::project(x, 1, 2), 1)->payload().first == 2);
  const Ref across = ir::project(both, 2, 2);
  CHECK(across->type().components() == 2);
  CHECK(across->op() == ir::Op::tuple);
  CHECK(ir::project(x, 1, 0)->type().components() == 0);
}

TEST_CASE("rebuild keeps what is not changed") {
  const Ref x = ir::int64(1);
  const Ref y = ir::int64(2);
  const Ref sum = ir::primitive(Primitive::add, {x, y}, here);
  CHECK(ir::rebuild(sum, {x, y}) == sum);
  const Ref other = ir::rebuild(sum, {y, y});
  CHECK(other->place().line == 17);
  CHECK(other->child(0) == y);
  const Ref plus = operation(Primitive::add, ScalarType::int64);
  const Ref fold = ir::fold(plus, vector(), Ref(), here, "sum");
  const Ref again = ir::rebuild(fold, {plus, vector()});
  CHECK(std::string(again->label()) == "sum");
  CHECK(again->type() == fold->type());
}

TEST_CASE("chains of 100,000 nodes are built and destroyed") {
  constexpr int length = 100'000;
  SECTION("scalar") {
    Ref x = ir::parameter(Type::element(i64));
    for (int i = 0; i < length; ++i) x = ir::primitive(Primitive::add, {x, ir::int64(1)});
    CHECK(x->free().size() == 1);
  }
  SECTION("nested tuples, taken apart") {
    Ref x = ir::tuple({ir::int64(1), ir::int64(2)});
    for (int i = 0; i < length; ++i) x = ir::tuple({ir::component(x, 1), ir::component(x, 0)});
    CHECK(ir::component(x, 0)->op() == ir::Op::constant);
  }
  SECTION("arrays with functions") {
    Ref a = vector();
    for (int i = 0; i < length; ++i) a = ir::map(identity(i64), {a});
    CHECK(a->closed());
  }
  SECTION("sequences") {
    Ref s = sequence();
    for (int i = 0; i < length; ++i) {
      const Ref p = ir::parameter(Type::array(1, i64));
      s = ir::map_seq(ir::lambda({p}, {p}), {s});
    }
    CHECK(s->closed());
  }
}

TEST_CASE("printing types") {
  using enum ScalarType;
  CHECK(ir::to_string(Type::element(float64)) == "double");
  CHECK(ir::to_string(Type::element({int32, float64})) == "(int32, double)");
  CHECK(ir::to_string(Type::element(Scalars{})) == "()");
  CHECK(ir::to_string(Type::array(1, {int32, float64})) == "Vector (int32, double)");
  CHECK(ir::to_string(Type::array(0, {boolean})) == "Scalar bool");
  CHECK(ir::to_string(Type::array(3, {float32})) == "Array<3> float");
  CHECK(ir::to_string(Type::sequence({{1, {int32}}, {0, {float64}}})) == "Seq (Vector int32, Scalar double)");
}
