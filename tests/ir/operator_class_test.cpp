// Which operators get the strided order of reduction.

#include "ir/operator_class.h"

#include "support/catch.h"
#include "support/functions.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::fold_order_class;
using ir::Primitive;
using ir::Ref;
using ir::fold_order::OperatorClass;

TEST_CASE("single operations") {
  using enum Primitive;
  for (Primitive op : {add, multiply, minimum, maximum, bit_and, bit_or, bit_xor})
    CHECK(fold_order_class(*operation(op, ScalarType::int32)) == OperatorClass::commutative);
  for (Primitive op : {subtract, divide, remainder})
    CHECK(fold_order_class(*operation(op, ScalarType::int32)) == OperatorClass::ordered);
  CHECK(fold_order_class(*operation(add, ScalarType::float32)) == OperatorClass::commutative);
  CHECK(fold_order_class(*operation(bit_xor, ScalarType::boolean)) == OperatorClass::commutative);
}

TEST_CASE("only left and right themselves, in this order") {
  using enum Primitive;
  const ir::Scalars i64{ScalarType::int64};
  const auto of = [&](auto body) { return fold_order_class(*binary(i64, body)); };
  CHECK(of([](const Ref& x, const Ref& y) { return ir::primitive(add, {y, x}); }) == OperatorClass::ordered);
  CHECK(of([](const Ref& x, const Ref&) { return ir::primitive(add, {x, x}); }) == OperatorClass::ordered);
  CHECK(of([](const Ref& x, const Ref&) { return x; }) == OperatorClass::ordered);
  CHECK(of([](const Ref& x, const Ref& y) {
          return ir::primitive(add, {ir::primitive(add, {x, y}), ir::int64(1)});
        }) == OperatorClass::ordered);
  CHECK(of([](const Ref& x, const Ref& y) { return ir::primitive(add, {ir::primitive(negate, {x}), y}); }) ==
        OperatorClass::ordered);
}

TEST_CASE("products: every component on its own") {
  using enum Primitive;
  const ir::Scalars pair{ScalarType::int64, ScalarType::int64};
  const auto component = [](Primitive op, const Ref& x, int i, const Ref& y, int j) {
    return ir::primitive(op, {ir::component(x, i), ir::component(y, j)});
  };
  const auto of = [&](auto body) { return fold_order_class(*binary(pair, body)); };
  CHECK(of([&](const Ref& x, const Ref& y) {
          return ir::tuple({component(add, x, 0, y, 0), component(maximum, x, 1, y, 1)});
        }) == OperatorClass::commutative);
  CHECK(of([&](const Ref& x, const Ref& y) {
          return ir::tuple({component(add, x, 1, y, 1), component(maximum, x, 0, y, 0)});
        }) == OperatorClass::ordered);
  CHECK(of([&](const Ref& x, const Ref& y) {
          return ir::tuple({component(add, x, 0, y, 0), component(maximum, x, 0, y, 1)});
        }) == OperatorClass::ordered);
  CHECK(of([&](const Ref& x, const Ref& y) {
          return ir::tuple({component(add, x, 0, y, 0), component(subtract, x, 1, y, 1)});
        }) == OperatorClass::ordered);
}
