// Traversal, substitution, rewriting.

#include "ir/walk.h"

#include <algorithm>
#include <random>
#include <set>

#include "ir/simplify.h"

#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::ir;

namespace {
Ref number() { return parameter(Type::element(ScalarType::int64)); }
Ref add(const Ref& a, const Ref& b) { return primitive(Primitive::add, {a, b}); }
}  // namespace

TEST_CASE("topological order lists children before parents, each once") {
  const Ref x = number();
  const Ref twice = add(x, x);
  const Ref root = add(twice, twice);
  const auto order = topological({&root, 1});
  REQUIRE(order.size() == 3);
  CHECK(order[0] == x.get());
  CHECK(order[2] == root.get());
}

TEST_CASE("topological order is that of the ids, whatever their distances and wherever it enters") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Ref> made{number()}, others;
    const std::size_t size = 1 + below(600);
    while (made.size() < size) {
      // Nodes of other programs are made between them: few, or more than there are bits for.
      for (std::size_t gap = below(20) == 0 ? below(4000) : below(3); gap > 0; --gap)
        others.push_back(number());
      const auto any = [&] { return made[below(2) == 0 ? below(made.size()) : made.size() - 1]; };
      made.push_back(below(4) == 0 ? number() : add(any(), any()));
    }
    std::vector<Ref> roots{made.back(), made[below(size)], Ref(), made[below(size)]};
    std::shuffle(roots.begin(), roots.end(), random);
    const Node* const closed = made[below(size)].get();
    std::set<const Node*> reached;
    for (std::vector<Ref> open = roots; !open.empty();) {
      const Ref node = open.back();
      open.pop_back();
      if (!node || !reached.insert(node.get()).second || node.get() == closed) continue;
      open.insert(open.end(), node->children().begin(), node->children().end());
    }
    std::vector<const Node*> expected(reached.begin(), reached.end());
    std::sort(expected.begin(), expected.end(),
              [](const Node* a, const Node* b) { return a->id() < b->id(); });
    CHECK(topological(roots, [&](const Node& node) { return &node != closed; }) == expected);
  }
}

TEST_CASE("substitution reaches into functions that capture, and not into their own parameters") {
  const Ref x = number(), state = number(), state2 = number();
  const Ref below = lambda({state}, {primitive(Primitive::less, {state, x})});
  const Ref step = lambda({state2}, {add(state2, x)});
  const Ref loop = while_loop(below, step, int64(0));
  const Ref replaced = substitute(loop, {&x, 1}, std::vector<Ref>{int64(7)});
  CHECK(replaced->closed());
  CHECK(replaced->child(0)->parameters()[0] == state);
  CHECK(replaced->child(0)->result()->child(1)->payload().bits == 7);
  CHECK(substitute(step, {&state2, 1}, std::vector<Ref>{int64(1)}) == step);
}

TEST_CASE("a node that was a parameter of something else on the way is no new target") {
  // The loop's parameter becomes known while substituting for x; terms over it alone stay as they are.
  const Ref x = number(), state = number();
  const Ref inner = add(state, state);
  const Ref step = lambda({state}, {add(inner, x)});
  const Ref predicate_state = number();
  const Ref predicate = lambda({predicate_state}, {primitive(Primitive::less, {predicate_state, int64(9)})});
  const Ref loop = while_loop(predicate, step, x);
  const Ref replaced = substitute(loop, {&x, 1}, std::vector<Ref>{int64(3)});
  CHECK(replaced->child(1)->result()->child(0) == inner);
}

TEST_CASE("a rewriter leaves alone what it may not enter") {
  const Ref x = number();
  const Ref sum = add(x, int64(1));
  Rewriter all(
      [](const Ref&, const Ref& rebuilt) { return rebuilt->op() == Op::constant ? int64(5) : rebuilt; });
  CHECK(all(sum)->child(1)->payload().bits == 5);
  Rewriter none([](const Ref&, const Ref&) { return int64(5); },
                [](const Node& n) { return n.op() != Op::primitive; });
  CHECK(none(sum) == sum);
}

TEST_CASE("simplifying folds integers and keeps meanings") {
  Simplifier simplify;
  const Ref x = number();
  CHECK(simplify(add(x, int64(0))) == x);
  CHECK(simplify(primitive(Primitive::minimum, {x, x})) == x);
  CHECK(simplify(primitive(Primitive::multiply, {int64(INT64_MAX), int64(2)}))->payload().bits ==
        static_cast<std::uint64_t>(-2));
  CHECK(simplify(cond(literal(false), x, int64(4)))->payload().bits == 4);
  // Floats have no such identities: x + 0 is not x for x = -0.
  const Ref f = parameter(Type::element(ScalarType::float64));
  const Ref sum = add(f, literal(0.0));
  CHECK(simplify(sum)->op() == Op::primitive);
  // A checked read and one that is in bounds are different terms.
  const Ref a = parameter(Type::array(1, {ScalarType::int64}));
  CHECK_FALSE(simplify(index(a, x)) == simplify(index(a, x, {}, true)));
}

TEST_CASE("simplifying tells many arrays apart, and keeps one node of each") {
  Simplifier simplify;
  std::vector<Ref> simplified;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    const auto array = anabranch::detail::allocate_array(Scalars{ScalarType::float64}, {});
    simplified.push_back(simplify(use(array)));
    CHECK(simplify(use(array)) == simplified.back());
  }
  const auto address = [](const Ref& a, const Ref& b) { return a.get() < b.get(); };
  std::sort(simplified.begin(), simplified.end(), address);
  CHECK(std::adjacent_find(simplified.begin(), simplified.end()) == simplified.end());
}

TEST_CASE("simplifying drops no operand that may fail") {
  Simplifier simplify;
  const Ref x = number();
  const Ref a = parameter(Type::array(1, {ScalarType::int64}));
  const Ref state = number(), also = number();
  const Ref loop = while_loop(lambda({state}, {primitive(Primitive::less, {state, x})}),
                              lambda({also}, {add(also, x)}), x);
  const Ref fail[] = {primitive(Primitive::divide, {int64(5), x}), primitive(Primitive::remainder, {x, x}),
                      index(a, x), linear_index(a, x), loop};
  const Ref total[] = {x, add(x, int64(3)), index(a, x, {}, true), extent(a, 0),
                       cond(primitive(Primitive::less, {x, int64(3)}), x, int64(1))};
  for (const Primitive p : {Primitive::subtract, Primitive::equal, Primitive::not_equal, Primitive::less,
                            Primitive::less_equal}) {
    INFO(info(p).name);
    for (const Ref& term : fail) {
      INFO(term->label());
      CHECK(simplify(primitive(p, {term, term}))->op() == Op::primitive);
      const Ref around = add(term, int64(1));
      CHECK(simplify(primitive(p, {around, around}))->op() == Op::primitive);
      const Ref chosen = cond(literal(true), x, term);  // the side that may fail is not evaluated
      CHECK(simplify(primitive(p, {chosen, chosen}))->op() == Op::constant);
    }
    for (const Ref& term : total) {
      INFO(term->label());
      CHECK(simplify(primitive(p, {term, term}))->op() == Op::constant);
    }
  }
}
