// Which functions of map_accum_seq are computed for all items of a chunk at once, and with what.

#include <set>

#include "fuse/accumulate.h"
#include "fuse/passed_states.h"
#include "ir/make.h"
#include "ir/walk.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::ir;

namespace {

/// States and the item, as elements.
using Step = std::vector<Ref> (*)(const std::vector<Ref>&, const Ref&);

constexpr ScalarType int32 = ScalarType::int32, float32 = ScalarType::float32;

/// The collective operations of a step's function over a chunk. What becomes of the item is the sum of the state's components, or,
/// if asked for, the state.
std::set<std::string_view> operations(Step step, const std::vector<ScalarType>& state, ScalarType of_item,
                                      bool gives_state = false) {
  std::vector<Ref> parameters, elements, results;
  for (const ScalarType type : state) {
    parameters.push_back(parameter(Type::array(0, {type})));
    elements.push_back(index(parameters.back(), tuple({})));
  }
  parameters.push_back(parameter(Type::array(0, {of_item})));
  const Ref item = index(parameters.back(), tuple({}));
  for (const Ref& next : step(elements, item)) results.push_back(unit(next));
  if (!gives_state) results.push_back(unit(tuple(elements)));
  for (std::size_t s = 0; gives_state && s < state.size(); ++s) results.push_back(Ref(results[s]));
  const std::optional<Ref> of_chunk = fuse::accumulated_by_chunk(lambda(parameters, results), state.size());
  if (!of_chunk) return {"item by item"};
  std::set<std::string_view> out;
  for (const Node* node : topological((*of_chunk)->results()))
    if (node->op() == Op::scan || node->op() == Op::scan_state || node->op() == Op::generate)
      out.insert(name_of(node->op()));
  return out;
}

Ref add(const Ref& a, const Ref& b) { return primitive(Primitive::add, {a, b}); }
Ref is_positive(const Ref& a) { return primitive(Primitive::less, {constant(a->type().scalars[0], 0), a}); }

using Operations = std::set<std::string_view>;

}  // namespace

TEST_CASE("sums in integers are scans, in floats they go from item to item") {
  const Step sum = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{add(s[0], primitive(Primitive::multiply, {x, x}))};
  };
  CHECK(operations(sum, {int32}, int32) == Operations{"scan"});
  CHECK(operations(sum, {int32}, int32, true) == Operations{"scan"});
  CHECK(operations(sum, {float32}, float32) == Operations{"scan_state"});
  const Step counted = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{cond(is_positive(x), add(add(x, s[0]), literal(1)), s[0])};
  };
  CHECK(operations(counted, {int32}, int32) == Operations{"scan"});
  const Step two_operations = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{primitive(Primitive::minimum, {add(s[0], x), literal(100)})};
  };
  CHECK(operations(two_operations, {int32}, int32) == Operations{"scan_state"});
  const Step least = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{primitive(Primitive::minimum, {s[0], x}),
                       cond(is_positive(x), primitive(Primitive::maximum, {s[1], x}), s[1])};
  };
  CHECK(operations(least, {float32, float32}, float32) == Operations{"scan"});
  // With the operands exchanged it is another zero, and another NaN.
  const Step least_before = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{primitive(Primitive::minimum, {x, s[0]})};
  };
  CHECK(operations(least_before, {int32}, int32) == Operations{"scan"});
  CHECK(operations(least_before, {float32}, float32) == Operations{"scan_state"});
  const Step from_the_left = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{primitive(Primitive::subtract, {x, s[0]})};
  };
  CHECK(operations(from_the_left, {int32}, int32) == Operations{"scan_state"});
  const Step twice = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{add(s[0], add(s[0], x))};
  };
  CHECK(operations(twice, {int32}, int32) == Operations{"scan_state"});
}

TEST_CASE("states that items set are moved, or scans of what was set last") {
  const Step delays = [](const std::vector<Ref>& s, const Ref& x) { return std::vector{x, s[0], s[1]}; };
  CHECK(operations(delays, {float32, float32, float32}, float32) == Operations{"generate"});
  const Step last_positive = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{cond(is_positive(x), x, s[0])};
  };
  CHECK(operations(last_positive, {float32}, float32) == Operations{"scan"});
  const Step run = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{x, cond(is_positive(s[0]), add(s[1], literal(1)), literal(0))};
  };
  CHECK(operations(run, {int32, int32}, int32) == Operations{"generate", "scan"});
  const Step unchanged = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{s[0], add(s[1], x)};
  };
  CHECK(operations(unchanged, {float32, int32}, int32) == Operations{"generate", "scan"});
}

TEST_CASE("what items become is the state, found in one step or in several") {
  const Step run = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{x, cond(is_positive(s[0]), add(s[1], literal(1)), literal(0))};
  };
  CHECK(operations(run, {int32, int32}, int32, true) == Operations{"generate", "scan"});
  const Step last_positive = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{cond(is_positive(x), x, s[0]), s[1], add(s[2], x)};
  };
  CHECK(operations(last_positive, {int32, int32, int32}, int32, true) == Operations{"generate", "scan"});
}

TEST_CASE("a chain of 100,000 additions to a state") {
  const Step chain = [](const std::vector<Ref>& s, const Ref& x) {
    Ref sum = s[0];
    for (int i = 0; i < 100'000; ++i) sum = add(sum, x);
    return std::vector{sum};
  };
  CHECK(operations(chain, {int32}, int32) == Operations{"scan"});
}

TEST_CASE("loops whose rounds differ stay one by one") {
  const Step halved = [](const std::vector<Ref>& s, const Ref& x) {
    const Ref p = parameter(x->type()), b = parameter(x->type());
    const Ref predicate = lambda({p}, {primitive(Primitive::less, {literal(7), p})});
    const Ref body = lambda({b}, {primitive(Primitive::subtract, {b, literal(3)})});
    return std::vector{add(s[0], while_loop(predicate, body, x))};
  };
  CHECK(operations(halved, {int32}, int32) == Operations{"scan_state"});
}

TEST_CASE("dear terms of the item that several terms take are computed once") {
  const Step logarithms = [](const std::vector<Ref>& s, const Ref& x) {
    const Ref dear = primitive(Primitive::log, {primitive(Primitive::exp, {x})});
    return std::vector{dear, add(s[1], cast(int32, dear)), cond(is_positive(dear), cast(int32, x), s[2])};
  };
  std::vector<Ref> elements, items{parameter(Type::array(1, {float32}))};
  fuse::StateStep step;
  for (const ScalarType type : {float32, int32, int32})
    step.state.push_back(parameter(Type::element({type})));
  step.item.push_back(parameter(Type::element({float32})));
  step.next = logarithms(step.state, step.item[0]);
  std::vector<Ref> results{step.next[0]};
  fuse::store_shared_terms(step, items, results, {});
  REQUIRE(items.size() == 2);
  CHECK(topological({&items[1], 1}).size() > 4);
  CHECK(results[0] == step.item[1]);
  CHECK(step.next[0] == step.item[1]);
  for (const Node* node : topological(step.next))
    CHECK((node->op() != Op::primitive || node->payload().primitive != Primitive::log));
}

TEST_CASE("what terms take only where a condition says so is computed where they do, unless it is cheap") {
  const auto stored = [](int logarithms, bool also_always) {
    const Ref x = parameter(Type::element({float32}));
    Ref term = x;
    for (int k = 0; k < logarithms; ++k) term = primitive(Primitive::log, {term});
    std::vector<Ref> items{parameter(Type::array(1, {float32}))}, results;
    fuse::StateStep step;
    step.item = {x};
    for (int k = 0; k < 2; ++k) {
      step.state.push_back(parameter(Type::element({float32})));
      step.next.push_back(cond(is_positive(x), add(step.state.back(), term), step.state.back()));
    }
    if (also_always) results.push_back(term);
    fuse::store_shared_terms(step, items, results, {});
    return items.size() == 2;
  };
  CHECK(stored(1, false));
  CHECK(!stored(20, false));
  CHECK(stored(20, true));
}

TEST_CASE("a loop that several terms take is not computed apart, as it may not end") {
  const Ref x = parameter(Type::element({int32})), p = parameter(x->type()), b = parameter(x->type());
  const Ref is_large = lambda({p}, {primitive(Primitive::less, {literal(7), p})});
  Ref less = b;
  for (int i = 0; i < 20; ++i)
    less = primitive(Primitive::subtract, {less, primitive(Primitive::multiply, {x, less})});
  const Ref loop = while_loop(is_large, lambda({b}, {less}), x);
  std::vector<Ref> items{parameter(Type::array(1, {int32}))};
  fuse::StateStep step;
  for (int c = 0; c < 2; ++c) step.state.push_back(parameter(Type::element({int32})));
  step.item.push_back(x);
  step.next = {add(step.state[0], loop), primitive(Primitive::minimum, {step.state[1], loop})};
  std::vector<Ref> results;
  fuse::store_shared_terms(step, items, results, {});
  CHECK(items.size() == 1);
}

TEST_CASE("states that depend on each other, or decide about themselves, go from item to item") {
  const Step each_other = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{add(s[1], x), add(s[0], x)};
  };
  CHECK(operations(each_other, {int32, int32}, int32) == Operations{"scan_state"});
  const Step decides = [](const std::vector<Ref>& s, const Ref& x) {
    return std::vector{cond(is_positive(s[0]), add(s[0], x), x)};
  };
  CHECK(operations(decides, {int32}, int32) == Operations{"scan_state"});
}
