#include "kernel/interior.h"

#include <algorithm>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::kernel {

using ir::Node;
using ir::Op;
using ir::Primitive;

namespace {

bool is_number(const Node& node) {
  return node.type().is_element() && node.type().components() == 1 &&
         node.type().scalars[0] == ScalarType::int64;
}
bool is_zero(const Node& node) { return node.op() == Op::constant && node.payload().bits == 0; }

}  // namespace

Interior::Interior(const std::function<bool(const Node&)>& same_in_row, const Regions& regions,
                   std::span<const ir::Ref> bodies, const Node& inner)
    : inner_(inner) {
  std::unordered_map<const Node*, bool> certain;  // evaluated wherever the body is
  for (const Node* node : regions[0].nodes) certain.emplace(node, true);
  slopes_.emplace(&inner, 1);
  const auto scalar = [](const Node& node) { return !node.type().is_array() && node.op() != Op::lambda; };
  for (const Node* node : ir::topological(bodies, scalar)) {
    if (!scalar(*node) || node == &inner) continue;
    const bool same = same_in_row(*node);
    if (same && is_number(*node) &&
        (node->op() == Op::constant || node->op() == Op::parameter || certain.contains(node)))
      slopes_.emplace(node, 0);
    else if (same)
      sum(*node);
    else
      look_at(*node);
  }
  if (assumed_.size() == 1 && truths_.contains(assumed_.begin()->first))
    only_comparison_ = assumed_.begin()->first;
  const auto needed = [&](const Node& node) { return scalar(node) && node.op() != Op::cond; };
  std::vector<ir::Ref> roots(bodies.begin(), bodies.end());
  std::unordered_map<const Node*, bool> seen;
  while (!roots.empty()) {
    const std::vector<ir::Ref> now = std::exchange(roots, {});
    for (const Node* node : ir::topological(now, needed)) {
      if (!scalar(*node) || !seen.emplace(node, true).second) continue;
      if (node->op() == Op::index && !ir::Read(*node).in_bounds() && !same_in_row(*node))
        read(*node, same_in_row);
      if (node->op() != Op::cond) continue;
      const ir::Cond cond(*node);
      const auto condition = truth(*cond.condition());
      roots.push_back(cond.condition());
      if (!condition || *condition) roots.push_back(cond.then());
      if (!condition || !*condition) roots.push_back(cond.otherwise());
    }
  }
}

Assumed Interior::at_border(bool holds) const {
  return {{only_comparison_, holds ? assumed_.at(only_comparison_) : 1 - assumed_.at(only_comparison_)}};
}

void Interior::look_at(const Node& node) {
  const auto record = [&](std::optional<int> slope) {
    if (slope && std::abs(*slope) <= 1) slopes_.emplace(&node, *slope);
  };
  if (node.op() == Op::cond) {
    if (const auto condition = truth(*ir::Cond(node).condition())) {
      const Node& side = *condition ? *ir::Cond(node).then() : *ir::Cond(node).otherwise();
      if (is_number(node)) record(slope(&side));
      if (const auto known = truth(side)) truths_.emplace(&node, *known);
    }
    return;
  }
  if (node.op() == Op::project && is_number(node)) {
    const Node& all = *ir::Project(node).value();
    // An index, of which the innermost component is asked.
    if (all.op() == Op::tuple && all.children().size() == static_cast<std::size_t>(all.type().components()))
      record(slope(all.children()[static_cast<std::size_t>(node.payload().first)].get()));
    return;
  }
  if (node.op() != Op::primitive) return;
  const auto operands = ir::PrimitiveTerm(node).operands();
  const Node &first = *operands.front(), &last = *operands.back();
  const Primitive primitive = node.payload().primitive;
  if (const auto p = truth(first), q = truth(last); p && q) {
    if (primitive == Primitive::logical_not) truths_.emplace(&node, !*p);
    if (primitive == Primitive::bit_and) truths_.emplace(&node, *p && *q);
    if (primitive == Primitive::bit_or) truths_.emplace(&node, *p || *q);
  }
  if (ir::PrimitiveTerm(node).operand_type() != ScalarType::int64) return;
  if (const auto x = slope(&first), y = slope(&last); x && y) {
    if (primitive == Primitive::add) record(*x + *y);
    if (primitive == Primitive::subtract) record(*x - *y);
  }
  if (primitive == Primitive::less) compare(node, true);
  if (primitive == Primitive::less_equal) compare(node, false);
  if (primitive == Primitive::minimum) choose(node, true);
  if (primitive == Primitive::maximum) choose(node, false);
  if (primitive == Primitive::absolute) size(node);
}

/// Adding cannot fail, so it may be done wherever its operands are known.
void Interior::sum(const Node& node) {
  if (node.op() != Op::primitive || !is_number(node)) return;
  const Primitive primitive = node.payload().primitive;
  if (primitive != Primitive::add && primitive != Primitive::subtract) return;
  const auto operands = ir::PrimitiveTerm(node).operands();
  if (!slope(operands[0].get()) || !slope(operands[1].get())) return;
  slopes_.emplace(&node, 0);
  sums_.insert(&node);
}

std::optional<int> Interior::slope(const Node* node) const {
  if (!node) return 0;
  const auto found = slopes_.find(node);
  return found == slopes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<bool> Interior::truth(const Node& node) const {
  const auto found = truths_.find(&node);
  return found == truths_.end() ? std::nullopt : std::optional(found->second);
}

bool Interior::require(const Node* x, const Node* y, std::int64_t at_least) {
  const auto a = slope(x), c = slope(y);
  if (!a || !c || std::abs(*c - *a) != 1) return false;
  requirements_.push_back({x, y, at_least, *c - *a, nullptr, 0});
  return true;
}

/// Of x < y and x <= y: below a bound is inside, and so is above 0; below 0, and above another bound, is outside.
void Interior::compare(const Node& node, bool strict) {
  const auto operands = ir::PrimitiveTerm(node).operands();
  const Node *x = operands[0].get(), *y = operands[1].get();
  const auto a = slope(x), c = slope(y);
  if (!a || !c) return;
  const bool inside = *a != 0 ? !is_zero(*y) : is_zero(*x);
  // The opposite of x < y is y <= x.
  if (!(inside ? require(x, y, strict ? 1 : 0) : require(y, x, strict ? 0 : 1))) return;
  assumed_.emplace(&node, inside ? 1 : 0);
  truths_.emplace(&node, inside);
}

/// A minimum or a maximum of a position and a bound: the position.
void Interior::choose(const Node& node, bool lesser) {
  const auto operands = ir::PrimitiveTerm(node).operands();
  const Node *x = operands[0].get(), *y = operands[1].get();
  const auto a = slope(x), c = slope(y);
  if (!a || !c || (*a != 0) == (*c != 0)) return;
  const Node *position = *a != 0 ? x : y, *bound = *a != 0 ? y : x;
  if (!(lesser ? require(position, bound, 0) : require(bound, position, 0))) return;
  assumed_.emplace(&node, *a != 0 ? 0 : 1);
  slopes_.emplace(&node, *a != 0 ? *a : *c);
}

void Interior::size(const Node& node) {
  const Node* x = ir::PrimitiveTerm(node).operands()[0].get();
  const auto a = slope(x);
  if (!a || *a == 0 || !require(nullptr, x, 0)) return;
  assumed_.emplace(&node, 0);
  slopes_.emplace(&node, *a);
}

void Interior::read(const Node& node, const std::function<bool(const Node&)>& same_in_row) {
  const Node& at = *ir::Read(node).at();
  std::vector<const Node*> index;
  if (at.op() == Op::tuple)
    for (const ir::Ref& component : at.children()) index.push_back(component.get());
  else
    index.push_back(&at);
  const Node& array = *ir::Read(node).array();
  if (static_cast<int>(index.size()) != array.type().rank) return;
  std::vector<Requirement> mine;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const Node* component = index[d];
    if (!is_number(*component)) return;
    if (same_in_row(*component)) continue;  // checked as it is, once for all lanes
    const auto along = slope(component);
    if (!along || std::abs(*along) != 1) return;
    mine.push_back({nullptr, component, 0, *along, nullptr, 0});
    mine.push_back({component, nullptr, 1, -*along, &array, d});
  }
  if (mine.empty()) return;
  requirements_.insert(requirements_.end(), mine.begin(), mine.end());
  assumed_.emplace(&node, 1);
}

const Node* Interior::chosen(const Node& node) const {
  if (const auto found = assumed_.find(&node); found != assumed_.end())
    return ir::PrimitiveTerm(node).operands()[static_cast<std::size_t>(found->second)].get();
  if (node.op() == Op::cond)
    return (truths_.at(ir::Cond(node).condition().get()) ? ir::Cond(node).then() : ir::Cond(node).otherwise())
        .get();
  if (node.op() == Op::project)
    return ir::Project(node).value()->children()[static_cast<std::size_t>(node.payload().first)].get();
  return nullptr;
}

}  // namespace anabranch::kernel
