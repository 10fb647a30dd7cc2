#include "fuse/folds.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "ir/views.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// What reductions of one kernel have in common.
struct Kind {
  int stage = -1;
  int level = 0;
  int parts = 0;  ///< that it needs; of a stage's own: 0, as all that they need are there
  bool for_extents = false;
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
  if (kind.for_extents != before.for_extents) return "one of them decides a shape";
  return "one of them needs what a stream, a loop or a branch gives";
}

struct Set {
  std::vector<Ref> folds;
  int components = 0;
  std::int64_t cost = 0;
};

}  // namespace

void folds(Staged& staged, std::span<const Node* const> order, const Needs& needs,
           const std::function<std::int64_t(const Node&)>& cost,
           const std::function<bool(const Node&)>& for_extents, const Options& options) {
  std::vector<Set> sets;
  std::map<Kind, std::size_t> open;                                // the newest set of a kind
  using Rows = std::tuple<int, Form, std::vector<std::uint64_t>>;  // stage, form, extents
  std::map<Rows, std::pair<Kind, std::size_t>> of_rows;  // the first set of any kind that has these rows
  for (const Node* node : order) {
    if (node->op() != Op::fold) continue;
    Kind kind;
    kind.stage = needs.stage_of(*node);
    kind.level = needs.of(*node).level;
    kind.parts = kind.stage < 0 ? needs.of(*node).parts : 0;
    kind.for_extents = for_extents(*node);
    kind.form = staged.facts.at(node).form;
    kind.order = Fold(*node).order();
    for (const Ref& e : staged.facts_of(Fold(*node).array()).extents) kind.extents.push_back(e->id());
    const int components = node->type().components();
    const auto [first, first_of_rows] =
        of_rows.try_emplace({kind.stage, kind.form, kind.extents}, kind, sets.size());
    if (!first_of_rows && !open.contains(kind))
      staged.beside[node].push_back(
          {sets[first->second.second].folds[0], difference(kind, first->second.first)});
    const auto [at, is_new] = open.try_emplace(kind, sets.size());
    std::string why;
    if (!is_new) {
      const Set& set = sets[at->second];
      if (set.components + components > options.most_components)
        why = fmt::format("more than {} components", options.most_components);
      else if (set.cost + cost(*node) > options.kernel_cap)
        why = fmt::format("more than {} operations", options.kernel_cap);
      if (!why.empty()) staged.beside[node].push_back({set.folds[0], why});
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
      staged.beside[set.folds[i].get()].push_back({set.folds[0], ""});
    staged.together.push_back(std::move(set.folds));
  }
}

}  // namespace anabranch::fuse
