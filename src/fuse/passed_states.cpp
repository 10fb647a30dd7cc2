#include "fuse/passed_states.h"

#include <algorithm>
#include <functional>

#include "ir/cost.h"
#include "ir/node_map.h"
#include "ir/op_info.h"
#include "ir/simplify.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

bool depends_on(const Ref& term, const Ref& parameter) { return mentions(*term, {&parameter, 1}); }

/// What a step does to a component of the state: sets it to `value`, or joins it with `value` from the right.
struct Change {
  Ref is_set;  ///< a condition, which items decide
  Ref value;   ///< where an item leaves the component: the operation's neutral element
};

bool is_bool(const Ref& term, bool value) {
  return term->op() == Op::constant && term->type().scalars[0] == ScalarType::boolean &&
         term->payload().bits == (value ? 1u : 0u);
}

/// A component's next value, as a change by one operation.
class Changes {
 public:
  /// `operation`: none where it is left or set only.
  Changes(Ref state, std::optional<Primitive> operation) : state_(std::move(state)), operation_(operation) {
    const ScalarType type = state_->type().scalars[0];
    const auto identity = operation_ ? info(*operation_).identity : nullptr;
    neutral_ = constant(type, identity ? scalar_info(type).identities.*identity : 0);
  }

  std::optional<Change> of(const Ref& next) {
    const auto enter = [&](const Node& node) {
      return (node.op() == Op::cond || node.op() == Op::primitive) && mentions(node, {&state_, 1});
    };
    for (const Node* node : topological({&next, 1}, enter)) known_.emplace(node, find(Ref(node)));
    return known_.at(next.get());
  }

 private:
  /// What its operands are is known.
  std::optional<Change> find(const Ref& next) const {
    if (next == state_) return Change{literal(false), neutral_};
    if (!depends_on(next, state_)) {
      if (next->type() != state_->type()) return std::nullopt;
      return Change{literal(true), next};
    }
    if (next->op() == Op::cond) return of_branches(Cond(next));
    if (next->op() != Op::primitive || !operation_) return std::nullopt;
    return of_operation(PrimitiveTerm(next), next->payload().primitive);
  }

  std::optional<Change> of_branches(const Cond& branches) const {
    if (branches.condition() == state_) return of_logic(branches);
    if (depends_on(branches.condition(), state_)) return std::nullopt;
    const std::optional<Change>& then = known_.at(branches.then().get());
    const std::optional<Change>& otherwise = known_.at(branches.otherwise().get());
    if (!then || !otherwise) return std::nullopt;
    return Change{cond(branches.condition(), then->is_set, otherwise->is_set),
                  cond(branches.condition(), then->value, otherwise->value)};
  }

  /// state || p and state && p, where p may be evaluated in any case.
  std::optional<Change> of_logic(const Cond& branches) const {
    const bool is_or = is_bool(branches.then(), true) && operation_ == Primitive::bit_or;
    const bool is_and = is_bool(branches.otherwise(), false) && operation_ == Primitive::bit_and;
    if (!is_or && !is_and) return std::nullopt;
    const Ref& other = is_or ? branches.otherwise() : branches.then();
    if (depends_on(other, state_) || may_fail(other)) return std::nullopt;
    return Change{literal(false), other};
  }

  std::optional<Change> of_operation(const PrimitiveTerm& term, Primitive primitive) const {
    const auto operands = term.operands();
    if (primitive == Primitive::logical_not && operation_ == Primitive::bit_xor)
      return joined(known_.at(operands[0].get()), Primitive::bit_xor, literal(true));
    const bool takes_away = primitive == Primitive::subtract && operation_ == Primitive::add;
    const bool differs = primitive == Primitive::not_equal && operation_ == Primitive::bit_xor &&
                         term.operand_type() == ScalarType::boolean;
    if (primitive != operation_ && !takes_away && !differs) return std::nullopt;
    const bool left = depends_on(operands[0], state_);
    // The minimum of floats is the first NaN, else the last of what is least, of which a zero may be either.
    const bool is_ordered = takes_away || scalar_info(term.operand_type()).kind == ScalarKind::floating;
    if (left == depends_on(operands[1], state_) || (is_ordered && !left)) return std::nullopt;
    return joined(known_.at(operands[left ? 0 : 1].get()), differs ? Primitive::bit_xor : primitive,
                  operands[left ? 1 : 0]);
  }

  static std::optional<Change> joined(const std::optional<Change>& inner, Primitive primitive,
                                      const Ref& other) {
    if (!inner) return std::nullopt;
    return Change{inner->is_set, ir::primitive(primitive, {inner->value, other})};
  }

  Ref state_, neutral_;
  std::optional<Primitive> operation_;
  NodeMap<std::optional<Change>> known_;
};

/// How a component passes through the items as a scan.
struct Way {
  std::size_t component;
  Change change;
  std::optional<Primitive> operation;

  bool is_ever_set() const { return !is_bool(change.is_set, false); }
};

std::optional<Way> way_of(std::size_t component, const Ref& state, const Ref& next) {
  using enum Primitive;
  const auto by = [&](std::optional<Primitive> operation) -> std::optional<Way> {
    std::optional<Change> change = Changes(state, operation).of(next);
    if (!change) return std::nullopt;
    change->is_set = Simplifier()(change->is_set);
    return Way{component, *std::move(change), operation};
  };
  if (auto way = by(std::nullopt)) return way;
  const ScalarType type = state->type().scalars[0];
  const bool is_float = scalar_info(type).kind == ScalarKind::floating;
  for (const Primitive operation : {add, multiply, minimum, maximum, bit_and, bit_or, bit_xor}) {
    if (!accepts(info(operation).operands, type)) continue;
    if (is_float && operation != minimum && operation != maximum) continue;  // sums depend on the order
    if (auto way = by(operation)) return way;
  }
  return std::nullopt;
}

class Solver {
 public:
  Solver(const StateStep& step, std::span<const Ref> items, std::span<const Ref> start, Place place)
      : step_(step), items_(items), start_(start), place_(place) {
    found_.before.resize(step.state.size());
    found_.end.resize(step.state.size());
  }

  std::optional<PassedStates> solve(bool wants_after) {
    for (bool first = true; is_left(); first = false) {
      std::vector<Way> ways;
      std::vector<std::size_t> moved;
      for (std::size_t c = 0; c < step_.state.size(); ++c) {
        if (found_.before[c] || waits(c)) continue;
        if (!depends_on(step_.next[c], step_.state[c])) {
          moved.push_back(c);
          continue;
        }
        std::optional<Way> way = way_of(c, step_.state[c], step_.next[c]);
        if (!way) return std::nullopt;
        ways.push_back(*std::move(way));
      }
      if (ways.empty() && moved.empty()) return std::nullopt;  // they depend on each other in a circle
      const bool after = wants_after && first && ways.size() == step_.state.size();
      add_scans(ways, after ? Prefixes::inclusive : Prefixes::exclusive);
      for (const std::size_t c : moved) move(c);
      if (after) {
        std::swap(found_.before, found_.after);
        break;
      }
    }
    return std::move(found_);
  }

 private:
  bool is_left() const { return std::count(found_.before.begin(), found_.before.end(), Ref()) > 0; }

  /// Does it depend on others that are not found yet?
  bool waits(std::size_t c) const {
    for (std::size_t other = 0; other < step_.state.size(); ++other)
      if (other != c && !found_.before[other] && depends_on(step_.next[c], step_.state[other])) return true;
    return false;
  }

  Ref mapped(const Ref& term) const { return over_items(step_, items_, found_.before, term, place_); }

  void move(std::size_t c) {
    Ref next = mapped(step_.next[c]);
    // An item's error appears whoever reads what it made.
    if (may_fail(step_.next[c])) next = compute(next, place_);
    const auto state_before = [&](const Ref& i) {
      const Ref is_later = primitive(Primitive::less, {int64(0), i}, place_);
      const Ref previous = primitive(Primitive::subtract, {i, int64(1)}, place_);
      return cond(is_later, index(next, previous, place_, true), start_[c], place_);
    };
    const Ref ix = parameter(Type::element(ScalarType::int64), place_);
    found_.before[c] = generate(shape(items_[0]), lambda({ix}, {state_before(ix)}, place_), place_);
    found_.end[c] = state_before(extent(items_[0], 0));
  }

  void leave(std::size_t c) {
    const Ref ix = parameter(Type::element(ScalarType::int64), place_);
    found_.before[c] = generate(shape(items_[0]), lambda({ix}, {start_[c]}, place_), place_);
    found_.end[c] = start_[c];
  }

  void add_scans(const std::vector<Way>& ways, Prefixes prefixes) {
    std::vector<Way> joined, set;
    for (const Way& way : ways) {
      if (way.is_ever_set())
        set.push_back(way);
      else if (way.operation)
        joined.push_back(way);
      else
        leave(way.component);
    }
    const auto in_groups = [&](std::span<const Way> all, std::size_t width) {
      while (!all.empty()) {
        const std::size_t count = std::min(all.size(), most_components / width);
        add_scan(all.first(count), width == 2, prefixes);
        all = all.subspan(count);
      }
    };
    in_groups(joined, 1);
    in_groups(set, 2);
  }

  /// `segmented`: of pairs, whether these items set the component, and what it is then; else what they join with it. A pair joined
  /// with one that sets is that one, else its value is joined: that is associative where the operation is.
  void add_scan(std::span<const Way> ways, bool segmented, Prefixes prefixes) {
    std::vector<Ref> changes, start;
    for (const Way& way : ways) {
      if (segmented) changes.push_back(way.change.is_set);
      if (segmented) start.push_back(literal(false));
      changes.push_back(way.change.value);
      start.push_back(start_[way.component]);
    }
    const Type type = as_one(changes)->type();
    const Ref left = parameter(type, place_), right = parameter(type, place_);
    std::vector<Ref> both;
    int at = 0;
    for (const Way& way : ways) {
      Ref is_set;
      if (segmented) {
        is_set = component(right, at);
        both.push_back(primitive(Primitive::bit_or, {component(left, at), is_set}, place_));
        ++at;
      }
      const Ref before = component(left, at), value = component(right, at);
      const Ref next = way.operation ? primitive(*way.operation, {before, value}, place_) : before;
      both.push_back(segmented ? cond(is_set, value, next, place_) : next);
      ++at;
    }
    const Ref prefixes_and_last = scan(lambda({left, right}, {as_one(both)}, place_), mapped(as_one(changes)),
                                       as_one(start), {prefixes}, 0, place_, "map_accum_seq");
    const Ref all = project_array(prefixes_and_last, 0, place_);
    const Ref last = index(project_array(prefixes_and_last, 1, place_), tuple({}), place_, true);
    at = segmented ? 1 : 0;
    for (const Way& way : ways) {
      const Ref prefix = parameter(type, place_);
      found_.before[way.component] = map(lambda({prefix}, {component(prefix, at)}, place_), {all}, place_);
      found_.end[way.component] = component(last, at);
      at += segmented ? 2 : 1;
    }
  }

  static constexpr std::size_t most_components = 8;  ///< of the elements of one scan

  const StateStep& step_;
  std::span<const Ref> items_, start_;
  Place place_;
  PassedStates found_;
};

/// Which terms of a root are evaluated whatever its conditions are. Nodes where `enter` is false are not looked into.
NodeSet unconditional(const Ref& root, const std::function<bool(const Node&)>& enter) {
  NodeSet seen;
  std::vector<Ref> open{root};
  while (!open.empty()) {
    const Ref node = std::move(open.back());
    open.pop_back();
    if (!seen.insert(node.get()).second || !enter(*node)) continue;
    each_operand(*node, [&](const Operand& how, const Ref& operand) {
      if (how.access != Access::if_taken) open.push_back(operand);
    });
  }
  return seen;
}

/// Terms that items alone decide, and that several of the roots take. What is only needed where a condition says so has to be
/// cheap: it is evaluated for all items then.
std::vector<Ref> shared_terms(const StateStep& step, std::span<const Ref> roots) {
  const auto is_of_items = [&](const Node& node) {
    return !node.type().is_array() && mentions(node, step.item) && !mentions(node, step.state);
  };
  constexpr std::int64_t some_reads = 12, cheap = 32;
  NodeMap<int> readers;
  NodeSet always;
  for (const Ref& root : roots) {
    const auto enter = [&](const Node& node) { return !is_of_items(node); };
    for (const Node* node : topological({&root, 1}, enter))
      if (is_of_items(*node)) ++readers[node];
    for (const Node* node : unconditional(root, enter)) always.insert(node);
  }
  std::vector<Ref> out;
  for (const auto& [node, count] : readers) {
    const Ref term(node);
    if (count < 2 || may_fail(term)) continue;
    const std::int64_t cost = additions(evaluation_cost({&term, 1}));
    if (cost > some_reads && (cost <= cheap || always.contains(node))) out.push_back(term);
  }
  std::sort(out.begin(), out.end(), [](const Ref& a, const Ref& b) { return a->id() < b->id(); });
  return out;
}

}  // namespace

Ref as_one(std::vector<Ref> terms) { return terms.size() == 1 ? terms[0] : tuple(std::move(terms)); }

Ref over_items(const StateStep& step, std::span<const Ref> items, std::span<const Ref> before,
               const Ref& term, Place place) {
  std::vector<Ref> own, parameters, arrays;
  const auto take = [&](std::span<const Ref> of_step, std::span<const Ref> vectors) {
    for (std::size_t k = 0; k < of_step.size(); ++k) {
      if (!depends_on(term, of_step[k])) continue;
      own.push_back(of_step[k]);
      parameters.push_back(parameter(of_step[k]->type(), place));
      arrays.push_back(vectors[k]);
    }
  };
  take(step.item, items);
  take(step.state, before);
  if (arrays.empty()) {  // the same for all of them
    parameters.push_back(parameter(step.item[0]->type(), place));
    arrays.push_back(items[0]);
  }
  const Ref result = substitute(term, own, std::span(parameters).first(own.size()));
  return map(lambda(std::move(parameters), {result}, place), std::move(arrays), place);
}

void store_shared_terms(StateStep& step, std::vector<Ref>& items, std::vector<Ref>& results, Place place) {
  std::vector<Ref> roots = step.next;
  roots.insert(roots.end(), results.begin(), results.end());
  const std::vector<Ref> terms = shared_terms(step, roots);
  if (terms.empty()) return;
  const Ref stored = compute(over_items(step, items, {}, as_one(terms), place), place);
  Rewriter rewrite([](const Ref&, const Ref& rebuilt) { return rebuilt; });
  int first = 0;
  for (const Ref& term : terms) {
    const Ref all = parameter(Type::element(stored->type().scalars), place);
    const int count = term->type().components();
    items.push_back(map(lambda({all}, {project(all, first, count, place)}, place), {stored}, place));
    step.item.push_back(parameter(term->type(), place));
    rewrite.set(term, step.item.back());
    first += count;
  }
  for (Ref& next : step.next) next = rewrite(next);
  for (Ref& result : results) result = rewrite(result);
}

std::optional<PassedStates> passed_states(const StateStep& step, std::span<const Ref> items,
                                          std::span<const Ref> start, bool wants_after, Place place) {
  return Solver(step, items, start, place).solve(wants_after);
}

}  // namespace anabranch::fuse
