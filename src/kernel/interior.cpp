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

/// What is computed for single positions.
bool is_scalar(const Node& node) { return !node.type().is_array() && node.op() != Op::lambda; }

/// Components of the index of a read; none where it is not made of them.
std::vector<const Node*> index_of(const Node& read) {
  const Node& at = *ir::Read(read).at();
  std::vector<const Node*> index;
  if (at.op() == Op::tuple)
    for (const ir::Ref& component : at.children()) index.push_back(component.get());
  else
    index.push_back(&at);
  if (static_cast<int>(index.size()) != ir::Read(read).array()->type().rank ||
      !std::all_of(index.begin(), index.end(), [](const Node* component) { return is_number(*component); }))
    return {};
  return index;
}

/// f(read) for reads whose indices are checked and differ in the row, but for those in sides of conditionals that are not
/// among sides(cond).
template <class Same, class Sides, class F>
void each_checked_read(const Same& same_in_row, std::span<const ir::Ref> bodies, const Sides& sides, F&& f) {
  const auto needed = [](const Node& node) { return is_scalar(node) && node.op() != Op::cond; };
  std::vector<ir::Ref> roots(bodies.begin(), bodies.end());
  std::unordered_set<const Node*> seen;
  while (!roots.empty()) {
    const std::vector<ir::Ref> now = std::exchange(roots, {});
    for (const Node* node : ir::topological(now, needed)) {
      if (!is_scalar(*node) || !seen.insert(node).second) continue;
      if (node->op() == Op::index && !ir::Read(*node).in_bounds() && !same_in_row(*node)) f(*node);
      if (node->op() != Op::cond) continue;
      const ir::Cond cond(*node);
      roots.push_back(cond.condition());
      for (const ir::Ref& side : sides(cond)) roots.push_back(side);
    }
  }
}

}  // namespace

Interior::Interior(const Predicate& same_in_row, const Regions& regions, std::span<const ir::Ref> bodies,
                   const Node& inner, const Predicate& moves)
    : inner_(inner) {
  std::unordered_set<const Node*> certain(regions[0].nodes.begin(), regions[0].nodes.end());
  slopes_.emplace(&inner, 1);
  for (const Node* node : ir::topological(bodies, is_scalar)) {
    if (!is_scalar(*node) || node == &inner) continue;
    if (!same_in_row(*node)) {
      look_at(*node);
      continue;
    }
    const bool is_certain = certain.contains(node);
    if (is_number(*node) && (node->op() == Op::constant || node->op() == Op::parameter || is_certain))
      slopes_.emplace(node, 0);
    else
      compute(*node);
    if (moves) ask_row(*node, moves, is_certain);
  }
  if (assumed_.size() == 1 && truths_.contains(assumed_.begin()->first))
    only_comparison_ = assumed_.begin()->first;
  look_at_reads(same_in_row, bodies);
  if (moves) look_at_rows(same_in_row, bodies);
}

/// Reads whose indices are checked, but for those in sides of conditionals that are not taken inside.
void Interior::look_at_reads(const Predicate& same_in_row, std::span<const ir::Ref> bodies) {
  const auto sides = [&](const ir::Cond& cond) {
    const auto condition = truth(*cond.condition());
    if (!condition) return std::vector{cond.then(), cond.otherwise()};
    return std::vector{*condition ? cond.then() : cond.otherwise()};
  };
  each_checked_read(same_in_row, bodies, sides, [&](const Node& node) { read(node, same_in_row); });
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
  combine(node);
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

/// Of answers: whether they are all known without those of rows or not.
void Interior::combine(const Node& node) {
  const auto operands = ir::PrimitiveTerm(node).operands();
  const Node &first = *operands.front(), &last = *operands.back();
  const auto p = truth_in_row(first), q = truth_in_row(last);
  if (!p || !q) return;
  auto& truths = truth(first) && truth(last) ? truths_ : row_truths_;
  const Primitive primitive = node.payload().primitive;
  if (primitive == Primitive::logical_not) truths.emplace(&node, !*p);
  if (primitive == Primitive::bit_and) truths.emplace(&node, *p && *q);
  if (primitive == Primitive::bit_or) truths.emplace(&node, *p || *q);
}

/// What cannot fail may be computed wherever its operands are known: sums, products, and the element of an array that has one.
void Interior::compute(const Node& node) {
  if (!is_number(node)) return;
  if (node.op() == Op::index) {
    if (ir::Read(node).array()->type().rank > 0) return;
  } else if (node.op() == Op::primitive) {
    const Primitive primitive = node.payload().primitive;
    if (primitive != Primitive::add && primitive != Primitive::subtract && primitive != Primitive::multiply)
      return;
    const auto operands = ir::PrimitiveTerm(node).operands();
    if (!slope(operands[0].get()) || !slope(operands[1].get())) return;
  } else {
    return;
  }
  slopes_.emplace(&node, 0);
  computed_.insert(&node);
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

std::optional<bool> Interior::truth_in_row(const Node& node) const {
  if (const auto known = truth(node)) return known;
  const auto found = row_truths_.find(&node);
  return found == row_truths_.end() ? std::nullopt : std::optional(found->second);
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

void Interior::read(const Node& node, const Predicate& same_in_row) {
  const Node& array = *ir::Read(node).array();
  const std::vector<const Node*> index = index_of(node);
  std::vector<Requirement> mine;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const Node* component = index[d];
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

/// Of what is the same in all of a row: a position that moves from row to row is inside below a bound and above 0, and is
/// not one that it is compared with.
void Interior::ask_row(const Node& node, const Predicate& moves, bool is_certain) {
  if (node.op() != Op::primitive) return;
  combine(node);
  if (ir::PrimitiveTerm(node).operand_type() != ScalarType::int64) return;
  const auto operands = ir::PrimitiveTerm(node).operands();
  const Node &x = *operands.front(), &y = *operands.back();
  const Primitive primitive = node.payload().primitive;
  std::optional<bool> answer;
  if (primitive == Primitive::less || primitive == Primitive::less_equal)
    answer = moves(x) ? !is_zero(y) : is_zero(x);
  if (primitive == Primitive::equal) answer = false;
  if (primitive == Primitive::not_equal) answer = true;
  if (!answer || moves(x) == moves(y)) return;
  // Else it is computed where it is asked for only, which may be nowhere.
  if (!is_certain && !(slope(&x) && slope(&y))) return;
  row_questions_.push_back({&node, *answer});
  row_truths_.emplace(&node, *answer);
}

/// Checks of indices where nothing else is asked: what a conditional may leave out is not known to be in range.
void Interior::look_at_rows(const Predicate& same_in_row, std::span<const ir::Ref> bodies) {
  assumed_in_rows_ = assumed_;
  for (const RowQuestion& question : row_questions_)
    assumed_in_rows_.emplace(question.comparison, question.answer ? 1 : 0);
  const auto sides = [&](const ir::Cond& cond) {
    const auto condition = truth_in_row(*cond.condition());
    if (!condition) return std::vector<ir::Ref>{};
    return std::vector{*condition ? cond.then() : cond.otherwise()};
  };
  each_checked_read(same_in_row, bodies, sides, [&](const Node& node) { read_in_row(node, same_in_row); });
}

void Interior::read_in_row(const Node& node, const Predicate& same_in_row) {
  std::vector<RowIndex> mine;
  const std::vector<const Node*> index = index_of(node);
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (!same_in_row(*index[d])) {
      if (!assumed_.contains(&node)) return;
    } else if (slope(index[d])) {
      mine.push_back({index[d], ir::Read(node).array().get(), d});
    } else {
      return;
    }
  }
  if (mine.empty()) return;
  row_indices_.insert(row_indices_.end(), mine.begin(), mine.end());
  assumed_in_rows_[&node] = all_in_range;
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
