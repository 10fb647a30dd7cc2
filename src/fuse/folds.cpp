#include "fuse/folds.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "ir/operator_class.h"
#include "ir/print.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// What must be there before an array's kernel can run.
struct Need {
  int level = 0;  ///< the longest chain of reductions that need one another, itself included
  int parts = 0;  ///< the first so many stages, loops and branches must have run
  void add(const Need& other) {
    level = std::max(level, other.level);
    parts = std::max(parts, other.parts);
  }
};

/// A reduction has a higher level than all whose values it needs, directly or not. So those of one level that
/// need the same parts may be computed together: none of them depends on another.
class Needs {
 public:
  explicit Needs(const Staged& staged) : staged_(staged) {
    for (std::size_t p = 0; p < staged.parts.size(); ++p) {
      const auto [kind, index] = staged.parts[p];
      switch (kind) {
        case Part::Kind::stage:
          stage(index, static_cast<int>(p) + 1);
          break;
        case Part::Kind::control:
          control(staged.controls[static_cast<std::size_t>(index)], static_cast<int>(p) + 1);
          break;
      }
    }
    std::vector<Ref> roots = staged.results;
    for (const ExtentCheck& check : staged.extent_checks) roots.push_back(check.extent);
    of_all(roots, -1);
  }

  Need of(const Node& node) const {
    const auto known = need_.find(&node);
    return known == need_.end() ? Need{} : known->second;
  }
  /// The stage whose item it depends on; -1: none.
  int stage_of(const Node& node) const {
    const auto known = stage_.find(&node);
    return known == stage_.end() ? -1 : known->second;
  }

 private:
  bool enter(const Node& node) const {
    return within_stage(node) && node.op() != Op::shape && !need_.contains(&node);
  }

  void stage(int number, int parts) {
    const Stage& stage = staged_.stages[static_cast<std::size_t>(number)];
    for (const Nested& nested : stage.nested) {
      const Need need{of_all(nested.body.captured, number).level, parts};
      for (const Nested::Result& result : nested.results) need_[result.array.get()] = need;
    }
    std::vector<Ref> roots = stage.results;
    for (const StageSource& source : stage.sources)
      for (const Ref& child : source.node->children())
        if (!child->type().is_sequence()) roots.push_back(child);
    for (const ItemBound& bound : stage.bounds) roots.push_back(bound.count);
    for (const ExtentCheck& check : stage.extent_checks) roots.push_back(check.extent);
    const Need need{of_all(roots, number).level, parts};
    for (const Stage::Sink& sink : stage.sinks)
      if (sink.consume) need_[sink.consume.get()] = need;
  }

  void control(const Control& control, int parts) {
    const Need need{of_all(inputs_of(control), -1).level, parts};  // before a place in the table is asked for
    need_[control.node.get()] = need;
  }

  Need of_all(const std::vector<Ref>& roots, int stage) {
    Need all;
    const auto unknown = [this](const Node& node) { return enter(node); };
    for (const Node* node : topological(roots, unknown)) all.add(compute(*node, stage));
    return all;
  }

  Need compute(const Node& node, int stage) {
    if (const auto known = need_.find(&node); known != need_.end()) return known->second;
    Need need;
    for (const Ref& child : node.children()) need.add(of(*child));
    if (const auto facts = staged_.facts.find(&node); facts != staged_.facts.end()) {
      need.add(of_all(facts->second.extents, stage));
      if (facts->second.form != Form::avoided) stage_[&node] = stage;
    }
    if (node.op() == Op::fold) ++need.level;
    need_[&node] = need;
    return need;
  }

  const Staged& staged_;
  NodeMap<Need> need_;
  NodeMap<int> stage_;
};

/// What reductions of one kernel have in common.
struct Kind {
  int stage = -1;
  int level = 0;
  int parts = 0;  ///< that it needs; of a stage's own: 0, as all that they need are there
  Form form = Form::avoided;
  fold_order::OperatorClass order = fold_order::OperatorClass::ordered;
  std::vector<std::uint64_t> extents;  ///< of the rows, by the ids of their nodes
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

/// Why a reduction is of another kind than one before it, whose rows are as long.
const char* difference(const Kind& kind, const Kind& before) {
  if (kind.order != before.order) return "their operators allow of different orders";
  if (kind.level > before.level) return "it needs the values of other reductions";
  if (kind.level < before.level) return "that one needs the values of other reductions";
  return "one of them needs what a stream, a loop or a branch gives";
}

struct Set {
  std::vector<Ref> folds;
  int components = 0;
  std::int64_t cost = 0;
};

}  // namespace

void folds(Staged& staged, std::span<const Node* const> order,
           const std::function<std::int64_t(const Node&)>& cost,
           const std::function<bool(const Node&)>& alone, const Options& options) {
  const Needs needs(staged);
  std::vector<Set> sets;
  std::map<Kind, std::size_t> open;                                // the newest set of a kind
  using Rows = std::tuple<int, Form, std::vector<std::uint64_t>>;  // stage, form, extents
  std::map<Rows, std::pair<Kind, std::size_t>> of_rows;  // the first set of any kind that has these rows
  for (const Node* node : order) {
    if (node->op() != Op::fold || alone(*node)) continue;
    Kind kind;
    kind.stage = needs.stage_of(*node);
    kind.level = needs.of(*node).level;
    kind.parts = kind.stage < 0 ? needs.of(*node).parts : 0;
    kind.form = staged.facts.at(node).form;
    kind.order = fold_order_class(*Fold(*node).function());
    for (const Ref& e : staged.facts_of(Fold(*node).array()).extents) kind.extents.push_back(e->id());
    const int components = node->type().components();
    const auto [first, first_of_rows] =
        of_rows.try_emplace({kind.stage, kind.form, kind.extents}, kind, sets.size());
    if (!first_of_rows && !open.contains(kind))
      staged.manifest[node] +=
          fmt::format(", not in one kernel with {}: {}", title(*sets[first->second.second].folds[0]),
                      difference(kind, first->second.first));
    const auto [at, is_new] = open.try_emplace(kind, sets.size());
    std::string why;
    if (!is_new) {
      const Set& set = sets[at->second];
      if (set.components + components > options.most_components)
        why = fmt::format("more than {} components", options.most_components);
      else if (set.cost + cost(*node) > options.kernel_cap)
        why = fmt::format("more than {} operations", options.kernel_cap);
      if (!why.empty())
        staged.manifest[node] += fmt::format(", not in one kernel with {}: {}", title(*set.folds[0]), why);
    }
    if (is_new || !why.empty()) {
      at->second = sets.size();
      sets.emplace_back();
    }
    Set& set = sets[at->second];
    set.folds.push_back(Ref(node));
    set.components += components;
    set.cost += cost(*node);
  }
  for (Set& set : sets) {
    if (set.folds.size() < 2) continue;
    for (std::size_t i = 1; i < set.folds.size(); ++i)
      staged.manifest[set.folds[i].get()] += fmt::format(", in one kernel with {}", title(*set.folds[0]));
    staged.together.push_back(std::move(set.folds));
  }
}

}  // namespace anabranch::fuse
