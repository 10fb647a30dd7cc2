#include "fuse/bodies.h"

#include <algorithm>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// Finds the outer program's arrays among what a function of arrays mentions.
class Captured {
 public:
  /// Of the sides of branches, only these are taken besides the outer program's parameters. Null: none.
  explicit Captured(const NodeSet* computed) : computed_(computed) {}

  /// What it mentions, but for the sides of branches in it: all that does not depend on its parameters.
  void visit_body(const Ref& function) {
    walk({function}, [this](const Node& node) { return is_outside(node); });
  }
  void visit_side(const Ref& function) { sides_.push_back(function); }

  std::vector<Ref> arrays() {
    const auto is_computed = [this](const Node& node) {
      if (found_.contains(&node)) return true;
      if (node.op() == Op::parameter) return is_outside(node);
      return computed_ && computed_->contains(&node) && is_outside(node);
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
      }
    }
  }

  const NodeSet* computed_;
  NodeSet bound_;  ///< parameters of the function, and of those in it
  NodeSet found_;
  std::vector<Ref> sides_;  ///< of branches, not looked into yet
};

std::vector<Ref> captured_by_loop(const Ref& function) {
  Captured captured(nullptr);
  captured.visit_body(function);
  return captured.arrays();
}

OpenBody opened(const Ref& function, std::vector<Ref> captured) {
  OpenBody body{std::move(captured), {function->parameters().begin(), function->parameters().end()}, {}};
  Rewriter rewriter([](const Ref&, const Ref& rebuilt) { return rebuilt; });
  for (const Ref& array : body.captured) {
    body.parameters.push_back(parameter(array->type(), array->place()));
    rewriter.set(array, body.parameters.back());
  }
  for (const Ref& result : function->results()) body.results.push_back(rewriter(result));
  return body;
}

}  // namespace

std::vector<const Node*> own_nodes(std::span<const Ref> results) {
  NodeSet seen;
  std::vector<const Node*> nodes;
  std::vector<Ref> open(results.begin(), results.end());
  while (!open.empty()) {
    const Ref node = std::move(open.back());
    open.pop_back();
    if (!seen.insert(node.get()).second) continue;
    nodes.push_back(node.get());
    if (!runs_bodies(node->op())) {
      open.insert(open.end(), node->children().begin(), node->children().end());
      continue;
    }
    each_operand(*node, [&](const Operand& how, const Ref& operand) {
      if (how.role != Role::function) return open.push_back(operand);
      if (how.access == Access::if_taken) return;
      for (Ref& array : captured_by_loop(operand)) open.push_back(std::move(array));
    });
  }
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return nodes;
}

OpenBody body_of_loop(const Ref& function) { return opened(function, captured_by_loop(function)); }

OpenBody side_of_branch(const Ref& function, const NodeSet& computed) {
  Captured captured(&computed);
  captured.visit_side(function);
  return opened(function, captured.arrays());
}

}  // namespace anabranch::fuse
