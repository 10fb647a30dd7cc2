// Contraction: x * y + z inside one function becomes one fma, and nothing else does.

#include "front/contract.h"

#include "front/share.h"
#include "ir/walk.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::ir;

namespace {

int count(const Ref& root, Primitive op) {
  int found = 0;
  for (const Node* node : topological({&root, 1}))
    found += node->op() == Op::primitive && node->payload().primitive == op;
  return found;
}

Ref number(ScalarType type) { return parameter(Type::element(type)); }

/// The function \x y z -> body, after contraction.
template <class Body>
Ref contracted(ScalarType type, Body body) {
  const Ref x = number(type), y = number(type), z = number(type);
  const Ref function = lambda({x, y, z}, {body(x, y, z)});
  return front::contract({&function, 1})[0];
}

Ref add(const Ref& a, const Ref& b) { return primitive(Primitive::add, {a, b}); }
Ref multiply(const Ref& a, const Ref& b) { return primitive(Primitive::multiply, {a, b}); }

}  // namespace

TEST_CASE("a product that is added becomes an fma, on either side") {
  for (const bool left : {true, false}) {
    const Ref f = contracted(ScalarType::float64, [&](auto x, auto y, auto z) {
      return left ? add(multiply(x, y), z) : add(z, multiply(x, y));
    });
    CHECK(count(f, Primitive::fma) == 1);
    CHECK(count(f, Primitive::multiply) == 0);
    CHECK(count(f, Primitive::add) == 0);
  }
}

TEST_CASE("integers, shared products and differences are left alone") {
  const Ref integers =
      contracted(ScalarType::int32, [](auto x, auto y, auto z) { return add(multiply(x, y), z); });
  CHECK(count(integers, Primitive::fma) == 0);
  const Ref shared = contracted(ScalarType::float32, [](auto x, auto y, auto z) {
    const Ref product = multiply(x, y);
    return multiply(add(product, z), product);
  });
  CHECK(count(shared, Primitive::fma) == 0);
  const Ref difference = contracted(ScalarType::float32, [](auto x, auto y, auto z) {
    return primitive(Primitive::subtract, {multiply(x, y), z});
  });
  CHECK(count(difference, Primitive::fma) == 0);
}

TEST_CASE("a product and a sum of two functions are left alone") {
  // \item -> map (\x y -> body), where a is the item's only element
  const auto within = [](auto body) {
    const Ref item = parameter(Type::array(0, {ScalarType::float32}));
    const Ref a = index(item, tuple({})), x = number(ScalarType::float32), y = number(ScalarType::float32);
    const Ref inner = lambda({x, y}, {body(a, x, y)});
    const Ref array = parameter(Type::array(1, {ScalarType::float32}));
    const Ref outer = lambda({item}, {map(inner, {array, array})});
    return count(front::contract({&outer, 1})[0], Primitive::fma);
  };
  const Ref three = literal(3.0F);
  CHECK(within([](auto a, auto x, auto y) { return add(multiply(a, x), y); }) == 1);
  CHECK(within([](auto a, auto x, auto y) { return add(multiply(x, x), add(a, y)); }) == 1);
  CHECK(within([&](auto a, auto x, auto) { return add(multiply(a, three), x); }) == 0);
  CHECK(within([&](auto, auto x, auto) { return add(multiply(three, three), x); }) == 0);
  // One of the outer function within the inner one's body.
  CHECK(within([&](auto a, auto x, auto) { return multiply(add(multiply(a, a), three), x); }) == 1);
  CHECK(within([&](auto a, auto x, auto) { return add(multiply(a, add(multiply(a, three), a)), x); }) == 1);
}

TEST_CASE("sharing makes equal terms one node and folds integer constants") {
  const Ref x = number(ScalarType::int64);
  const Ref twice = tuple({add(x, int64(2)), add(x, add(int64(1), int64(1)))});
  const Ref f = lambda({x}, {twice});
  const Ref shared = front::share({&f, 1})[0];
  CHECK(count(shared, Primitive::add) == 1);
  CHECK(shared->result()->child(0) == shared->result()->child(1));
}

TEST_CASE("sharing keeps what can fail") {
  const Ref x = number(ScalarType::int32);
  const Ref division = primitive(Primitive::divide, {x, literal(std::int32_t{0})});
  const Ref f = lambda({x}, {primitive(Primitive::multiply, {division, literal(std::int32_t{0})})});
  CHECK(count(front::share({&f, 1})[0], Primitive::divide) == 1);
}
