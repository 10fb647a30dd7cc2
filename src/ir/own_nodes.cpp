#include "ir/own_nodes.h"

#include <algorithm>
#include <iterator>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "ir/op_info.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::ir {

namespace {

/// What is written is no array that others could need.
bool takes_stream(const Node& node) {
  return node.op() == Op::consume && !is_write(node) && stream_of(node) != nullptr;
}

/// Finds the outer program's arrays among what a function of arrays mentions.
class Captured {
 public:
  /// Of the sides of branches, only these are taken besides the outer program's parameters. Null: what is made of streams.
  Captured(const NodeSet* computed, OwnNodes& own) : computed_(computed), own_(own) {}

  /// What it mentions, but for the sides of branches in it: all that does not depend on its parameters.
  void visit_body(const Ref& function) {
    walk({function}, [this](const Node& node) { return is_outside(node); });
  }
  void visit_side(const Ref& function) { sides_.push_back(function); }

  std::vector<Ref> arrays() {
    const auto is_computed = [this](const Node& node) {
      if (found_.contains(&node)) return true;
      if (node.op() == Op::parameter) return is_outside(node);
      return (computed_ ? computed_->contains(&node) : takes_stream(node)) && is_outside(node);
    };
    while (!sides_.empty()) walk(std::exchange(sides_, {}), is_computed);
    std::vector<Ref> arrays;
    for (const Node* node : found_) arrays.emplace_back(node);
    std::sort(arrays.begin(), arrays.end(), [](const Ref& a, const Ref& b) { return a->id() < b->id(); });
    return arrays;
  }

 private:
  bool is_outside(const Node& array) const {
    return std::none_of(array.free().begin(), array.free().end(),
                        [&](const Node* p) { return bound_.contains(p); });
  }

  /// Arrays of which `taken` is true are found and not looked into.
  template <class Taken>
  void walk(std::vector<Ref> open, const Taken& taken) {
    NodeSet seen;
    while (!open.empty()) {
      const Ref node = std::move(open.back());
      open.pop_back();
      if (!seen.insert(node.get()).second) continue;
      if (node->type().is_array() && !node->op().is_a<SinkOp>() && taken(*node)) {
        found_.insert(node.get());
      } else if (node->op() == Op::lambda) {
        for (const Ref& p : node->parameters()) bound_.insert(p.get());
        for (const Ref& r : node->results()) open.push_back(r);
      } else {
        each_operand(*node, [&](const Operand& how, const Ref& operand) {
          const bool side = how.role == Role::function && how.access == Access::if_taken;
          (side ? sides_ : open).push_back(operand);
        });
        if (node->op() == Op::acond)
          for (const Node* array : own_.of_both_sides(*node)) open.emplace_back(array);
      }
    }
  }

  const NodeSet* computed_;
  NodeSet bound_;  ///< parameters of the function, and of those in it
  NodeSet found_;
  std::vector<Ref> sides_;  ///< of branches, not looked into yet
  OwnNodes& own_;
};

/// Does it depend on nothing that the branch does not?
bool is_outside(const Node& node, const Node& branch) {
  return std::all_of(node.free().begin(), node.free().end(), [&](const Node* parameter) {
    return std::find(branch.free().begin(), branch.free().end(), parameter) != branch.free().end();
  });
}

void sort_by_id(std::vector<const Node*>& nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
}

}  // namespace

std::vector<const Node*> OwnNodes::of(std::span<const Ref> results, NodeSet& known) {
  std::vector<const Node*> nodes;
  std::vector<Ref> open(results.begin(), results.end());
  while (!open.empty()) {
    const Ref node = std::move(open.back());
    open.pop_back();
    if (!known.insert(node.get()).second) continue;
    nodes.push_back(node.get());
    if (!runs_bodies(node->op())) {
      open.insert(open.end(), node->children().begin(), node->children().end());
      continue;
    }
    each_operand(*node, [&](const Operand& how, const Ref& operand) {
      if (how.role != Role::function) return open.push_back(operand);
      if (how.access == Access::if_taken) return;
      for (const Ref& array : captured_by_loop(operand)) open.push_back(array);
    });
    if (node->op() != Op::acond) continue;
    for (const Node* array : of_both_sides(*node)) open.emplace_back(array);
    for (Ref& array : streams_in_sides(*node)) open.push_back(std::move(array));
  }
  sort_by_id(nodes);
  return nodes;
}

std::vector<const Node*> OwnNodes::of(std::span<const Ref> results) {
  NodeSet known;
  return of(results, known);
}

std::vector<Ref> OwnNodes::streams_in_sides(const Node& branch) {
  const auto is_own = [&](const Node& node) {
    return std::all_of(node.free().begin(), node.free().end(),
                       [&](const Node* parameter) { return is_among(parameters_, parameter); });
  };
  if (is_own(branch)) return {};
  const Acond sides{Ref(&branch)};
  std::vector<Ref> found, open{sides.then(), sides.otherwise()};
  NodeSet seen;
  while (!open.empty()) {
    const Ref node = std::move(open.back());
    open.pop_back();
    if (without_streams_.contains(node.get()) || !seen.insert(node.get()).second) continue;
    if (takes_stream(*node) && is_own(*node))
      found.push_back(node);
    else
      open.insert(open.end(), node->children().begin(), node->children().end());
  }
  if (found.empty()) without_streams_.insert(seen.begin(), seen.end());
  return found;
}

const std::vector<const Node*>& OwnNodes::of_both_sides(const Node& branch) {
  if (const auto known = both_.find(&branch); known != both_.end()) return known->second;
  // The inner ones first: no recursion, however long a chain is.
  const Ref root(&branch);
  for (const Node* node : topological({&root, 1}))
    if (node->op() == Op::acond && !both_.contains(node)) both_[node] = found_in_both_sides(*node);
  return both_.at(&branch);
}

std::vector<const Node*> OwnNodes::found_in_both_sides(const Node& branch) {
  const Acond sides{Ref(&branch)};
  const std::vector<const Node*> then = of(sides.then()->results()),
                                 otherwise = of(sides.otherwise()->results());
  const NodeSet theirs(otherwise.begin(), otherwise.end());
  // The last ones: what they are computed from comes with them.
  NodeSet makers, covered;
  for (auto at = then.rbegin(); at != then.rend(); ++at) {
    const Node& node = **at;
    if (!has_bodies(node.op()) || !theirs.contains(&node) || covered.contains(&node)) continue;
    if (!is_outside(node, branch) || !may_move(node)) continue;
    makers.insert(&node);
    const Ref maker(&node);
    of({&maker, 1}, covered);
  }
  if (makers.empty()) return {};
  NodeSet given;
  for (const auto* nodes : {&then, &otherwise})
    for (const Node* node : *nodes)
      if (node->type().is_array() && makers.contains(&maker_of(*node))) given.insert(node);
  std::vector<const Node*> arrays(given.begin(), given.end());
  sort_by_id(arrays);
  return arrays;
}

bool OwnNodes::may_move(const Node& node) {
  const auto [known, fresh] = may_move_.try_emplace(&node);
  if (!fresh) return known->second;
  const Ref root(&node);
  const std::vector<const Node*> all = topological({&root, 1});
  return may_move_[&node] = std::none_of(all.begin(), all.end(), [](const Node* each) {
           return is_write(*each) ||
                  (each->op() == Op::stream_in && !each->payload().source->info().rewindable);
         });
}

namespace {
constexpr int most_bodies = 200;
thread_local int bodies = 0;
}  // namespace

InBody::InBody(const Node& control) {
  if (bodies == most_bodies)
    throw ProgramError(
        fmt::format(
            "{} ({}): more than {} loops, branches and functions of sequences are inside each other; "
            "what both sides of a branch mention, and what is computed before it, is not inside of it",
            name_of(control.op()), to_string(control.place()), most_bodies),
        control.place());
  ++bodies;
}
InBody::~InBody() { --bodies; }

const Node* stream_of(const Node& consume) {
  const Ref& sink = Consume(Ref(&consume)).sink();
  const auto is_sequence = [](const Node& each) {
    return each.type().is_sequence() || each.op().is_a<SinkOp>();
  };
  for (const Node* node : topological({&sink, 1}, is_sequence))
    if (node->op() == Op::stream_in) return node;
  return nullptr;
}

std::vector<const Node*> own_nodes(std::span<const Ref> results, std::span<const Ref> parameters) {
  return OwnNodes(parameters).of(results);
}

const std::vector<Ref>& OwnNodes::captured_by_loop(const Ref& function) {
  if (const auto known = captured_.find(function.get()); known != captured_.end()) return known->second;
  Captured captured(nullptr, *this);
  captured.visit_body(function);
  return captured_[function.get()] = captured.arrays();
}

std::vector<Ref> captured_by_loop(const Ref& function) { return OwnNodes().captured_by_loop(function); }

std::vector<Ref> captured_by_side(const Ref& function, const NodeSet& computed) {
  OwnNodes own;
  Captured captured(&computed, own);
  captured.visit_side(function);
  return captured.arrays();
}

}  // namespace anabranch::ir
