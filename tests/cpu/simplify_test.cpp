#include "ir/simplify.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "support/catch.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/random_kernel.h"

// Simplified terms mean what they meant, to the interpreter and to machine code.

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;

namespace {

void simplify_bodies(kernel::Kernel& kernel) {
  ir::Simplifier simplify(false);
  for (ir::Ref& root : kernel.body) root = simplify(root);
}

/// What a run gives; nothing where it fails.
std::vector<std::byte> outcome(KernelBuilder& k) {
  try {
    return Oracle(k).run();
  } catch (const RunError&) {
    return {};
  }
}

/// Nodes that a body has after it has been simplified.
std::size_t fewer_nodes(unsigned seed) {
  auto before = random_kernel(seed), after = random_kernel(seed);
  const std::size_t nodes = ir::topological(before.kernel().body).size();
  simplify_bodies(after.kernel());
  INFO("seed " << seed);
  const auto expected = outcome(before), got = outcome(after);
  REQUIRE(expected.size() == got.size());
  if (!expected.empty()) REQUIRE(same_values(before, got, expected));
  const std::size_t left = ir::topological(after.kernel().body).size();
  return left < nodes ? nodes - left : 0;
}

}  // namespace

TEST_CASE("random expressions mean the same before and after they are simplified") {
  std::size_t fewer = 0;
  for (unsigned seed = 0; seed < 300; ++seed) fewer += fewer_nodes(seed);
  CHECK(fewer > 1000);
}

TEST_CASE("many random expressions mean the same before and after", "[.long]") {
  for (unsigned seed = 1000; seed < 20'000; ++seed) fewer_nodes(seed);
}

TEMPLATE_TEST_CASE("identities of floats hold for every kind of number", "", float, double) {
  using T = TestType;
  constexpr T inf = std::numeric_limits<T>::infinity(), tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> numbers{T(0),
                               T(-0.0),
                               T(1),
                               T(-1),
                               T(0.1),
                               T(-3.7),
                               inf,
                               -inf,
                               tiny,
                               -tiny,
                               tiny * 7,
                               std::numeric_limits<T>::max(),
                               std::numeric_limits<T>::min(),
                               std::numeric_limits<T>::quiet_NaN()};
  const auto constant = [](double x) { return ir::literal(static_cast<T>(x)); };
  using Make = std::function<ir::Ref(const ir::Ref&)>;
  const auto of = [](Primitive p, const ir::Ref& x, const ir::Ref& y) { return ir::primitive(p, {x, y}); };
  const std::vector<std::pair<Make, bool>> terms{
      {[&](auto x) { return of(Primitive::multiply, x, constant(1)); }, true},
      {[&](auto x) { return of(Primitive::multiply, constant(1), x); }, true},
      {[&](auto x) { return of(Primitive::add, x, constant(-0.0)); }, true},
      {[&](auto x) { return of(Primitive::add, x, constant(0.0)); }, false},
      {[&](auto x) { return of(Primitive::subtract, x, constant(0.0)); }, true},
      {[&](auto x) { return of(Primitive::subtract, x, constant(-0.0)); }, false},
      {[&](auto x) { return of(Primitive::divide, x, constant(1)); }, true},
      {[&](auto x) { return of(Primitive::divide, x, constant(8)); }, true},
      {[&](auto x) { return of(Primitive::divide, x, constant(-0.25)); }, true},
      {[&](auto x) { return of(Primitive::divide, x, constant(3)); }, false},
      {[&](auto x) { return of(Primitive::multiply, x, constant(0)); }, false},
      {[&](auto x) { return of(Primitive::subtract, x, x); }, false},
      {[&](auto x) { return ir::primitive(Primitive::negate, {ir::primitive(Primitive::negate, {x})}); },
       true},
      {[&](auto x) { return of(Primitive::minimum, x, x); }, true},
      {[&](auto x) { return ir::primitive(Primitive::fma, {x, constant(1), constant(0.1)}); }, true},
      {[&](auto x) { return ir::primitive(Primitive::fma, {x, constant(0.3), constant(-0.0)}); }, true},
      {[&](auto x) { return ir::primitive(Primitive::fma, {x, constant(0.3), constant(0.0)}); }, false},
  };
  int number = 0;
  for (const auto& [make, changes] : terms) {
    INFO("term " << number++);
    const auto kernel = [&, make = make] {
      KernelBuilder k(kernel::Map{});
      const auto n = k.uniform_extent(static_cast<std::int64_t>(numbers.size()));
      constexpr ScalarType type = anabranch::detail::scalar_type<T>;
      const ir::Ref a = k.array(kernel::Form::avoided, {type}, {n}, k.buffer(numbers));
      k.output(kernel::Form::avoided, {type}, {n}, static_cast<std::int64_t>(numbers.size()));
      k.kernel().body = {make(ir::index(a, k.kernel().index[0], {}, true))};
      return k;
    };
    auto before = kernel(), after = kernel();
    simplify_bodies(after.kernel());
    CHECK(same_values(before, outcome(before), outcome(after)));
    CHECK(same_values(before, outcome(before), after.run()));
    ir::Simplifier simplify(false);
    const ir::Ref x = ir::parameter(ir::Type::element(anabranch::detail::scalar_type<T>));
    const ir::Ref term = make(x);
    const ir::Ref simple = simplify(term);
    CHECK((simple->op() != term->op() || simple->payload().primitive != term->payload().primitive) ==
          changes);
  }
}

TEST_CASE("sums of constants are one, and terms that are there twice are removed") {
  const ir::Ref x = ir::parameter(ir::Type::element(ScalarType::int64));
  const ir::Ref flag = ir::parameter(ir::Type::element(ScalarType::boolean));
  const auto plus = [](const ir::Ref& a, std::int64_t b) {
    return ir::primitive(Primitive::add, {a, ir::int64(b)});
  };
  const auto minus = [](const ir::Ref& a, std::int64_t b) {
    return ir::primitive(Primitive::subtract, {a, ir::int64(b)});
  };
  const auto text = [](const ir::Ref& term) {
    ir::Simplifier simplify;
    const ir::Ref simple = simplify(term);
    if (simple->op() == ir::Op::parameter) return std::string("x");
    REQUIRE(simple->op() == ir::Op::primitive);
    return fmt::format("x {} {}", ir::info(simple->payload().primitive).name,
                       static_cast<std::int64_t>(simple->child(1)->payload().bits));
  };
  CHECK(text(plus(plus(x, 1), 2)) == "x add 3");
  CHECK(text(minus(plus(x, 1), 1)) == "x");
  CHECK(text(minus(plus(x, 1), 4)) == "x subtract 3");
  CHECK(text(plus(minus(x, 5), 7)) == "x add 2");
  CHECK(text(minus(minus(x, 5), 7)) == "x subtract 12");
  CHECK(text(plus(plus(x, std::numeric_limits<std::int64_t>::max()), 1)) ==
        fmt::format("x add {}", std::numeric_limits<std::int64_t>::min()));
  CHECK(text(ir::cond(flag, x, x)) == "x");
  // The condition may fail: it stays.
  const ir::Ref failing =
      ir::primitive(Primitive::equal, {ir::primitive(Primitive::divide, {ir::int64(5), x}), ir::int64(1)});
  ir::Simplifier simplify;
  CHECK(simplify(ir::cond(failing, x, x))->op() == ir::Op::cond);
}
