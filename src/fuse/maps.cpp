#include "fuse/maps.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// What arrays of one kernel have in common.
struct Kind {
  int stage = -1;
  int level = 0, stored = 0;
  int parts = 0;  ///< that it needs; of a stage's own: 0, as all that they need are there
  Form form = Form::avoided;
  std::vector<std::uint64_t> extents;  ///< by the ids of their nodes
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

struct Set {
  std::vector<Ref> arrays;
  NodeSet reads;  ///< stored arrays that any of them reads at its own position
  std::int64_t cost = 0;
};

/// What an element is computed from.
struct Element {
  const char* alone = nullptr;       ///< why no other array is computed beside it; null: that is not so
  std::vector<const Node*> reads{};  ///< stored arrays with a dimension that it reads
};

/// An array that others may be computed beside.
struct First {
  Ref array;
  Kind kind;
  const char* alone = nullptr;
};

/// Why an array is of another kind than one before it, of the same extents.
const char* difference(const Kind& kind, const Kind& before) {
  if (kind.level > before.level) return "it needs the values of other reductions";
  if (kind.level < before.level) return "that one needs the values of other reductions";
  if (kind.stored > before.stored) return "it needs what other kernels store";
  if (kind.stored < before.stored) return "that one needs what other kernels store";
  return "one of them needs what a stream, a loop or a branch gives";
}

/// Of arrays in the order of dependence, the operands of each first.
class Elements {
 public:
  explicit Elements(const Staged& staged) : staged_(staged) {}

  const Element& add(const Node& array) {
    Element out;
    if (array.type().rank > 0 && array.op() != Op::map) out.alone = "is no map";
    each_operand(array, [&](const Operand& how, const Ref& operand) {
      if (how.role == Role::array) {
        if (staged_.facts_of(operand).extents != staged_.facts.at(&array).extents)
          leave(out, "reads an array of another shape");
        read(*operand, out);
      } else if (how.role == Role::function || how.role == Role::element) {
        scalar(operand, out);
      }
    });
    return known_[&array] = std::move(out);
  }

 private:
  static constexpr std::size_t most_reads = 16;

  static void leave(Element& element, const char* alone) {
    if (!element.alone) element.alone = alone;
  }

  void read(const Node& array, Element& out) const {
    const auto insert = [&](const Node* stored) {
      if (std::find(out.reads.begin(), out.reads.end(), stored) != out.reads.end()) return;
      out.reads.push_back(stored);
      if (out.reads.size() > most_reads) leave(out, "reads more than 16 arrays");
    };
    if (out.alone) return;
    if (staged_.is_manifest(&array) || is_given(array)) {
      if (array.type().rank > 0) insert(&array);
      return;
    }
    const auto delayed = known_.find(&array);
    out.alone = delayed == known_.end() ? "reads what is no map" : delayed->second.alone;
    if (!out.alone)
      for (const Node* stored : delayed->second.reads) insert(stored);
  }

  void scalar(const Ref& term, Element& out) const {
    const auto enter = [](const Node& node) { return !node.type().is_array() && node.op() != Op::shape; };
    for (const Node* node : topological({&term, 1}, enter)) {
      if (out.alone) return;
      if (is_read(node->op())) {
        const Ref& array = Read(*node).array();
        if (array->type().rank > 0) leave(out, "reads elsewhere than at its own position");
        read(*array, out);
      }
      if (node->op() == Op::primitive && can_fail(*node)) leave(out, "can fail");
    }
  }

  const Staged& staged_;
  NodeMap<Element> known_;
};

bool shares_reads(const std::vector<const Node*>& some, const NodeSet& others) {
  return std::any_of(some.begin(), some.end(), [&](const Node* array) { return others.contains(array); });
}

constexpr std::size_t most_arrays = 8;

}  // namespace

void maps(Staged& staged, std::span<const Node* const> order, const Needs& needs,
          const std::function<std::int64_t(const Node&)>& cost, const std::function<bool(const Node&)>& alone,
          const Options& options) {
  Elements elements(staged);
  const NodeSet placed = arrays_together(staged);  // epilogues, which have a kernel
  std::vector<Set> sets;
  std::map<Kind, std::vector<std::size_t>> of_kind;
  using Extents = std::tuple<int, Form, std::vector<std::uint64_t>>;  // stage, form, extents
  std::map<Extents, First> of_extents;                                // the first array of any kind
  for (const Node* node : order) {
    const Element& element = elements.add(*node);
    if (!staged.is_manifest(node) || is_given(*node) || is_view(staged, *node) || alone(*node) ||
        placed.contains(node))
      continue;
    if (info(maker_of(*node).op()).storage != Storage::delayed) continue;
    const Need need = needs.of(*node);
    Kind kind;
    kind.stage = needs.stage_of(*node);
    kind.level = need.level;
    kind.stored = need.stored;
    kind.parts = kind.stage < 0 ? need.parts : 0;
    kind.form = staged.facts.at(node).form;
    for (const Ref& e : staged.facts.at(node).extents) kind.extents.push_back(e->id());
    const auto entry =
        of_extents.try_emplace({kind.stage, kind.form, kind.extents}, Ref(node), kind, element.alone);
    const First& before = entry.first->second;
    const bool is_first = entry.second;
    const auto leave = [&](const Ref& other, std::string why) {
      if (!is_first) staged.beside[node].push_back({other, std::move(why)});
    };
    if (element.alone) {
      leave(before.array, fmt::format("it {}", element.alone));
      continue;
    }
    std::vector<std::size_t>& open = of_kind[kind];
    const auto refusal = [&](const Set& set) -> std::string {
      if (node->type().rank > 0 && !shares_reads(element.reads, set.reads))
        return "they read no array in common";
      if (set.arrays.size() >= most_arrays) return fmt::format("more than {} arrays", most_arrays);
      if (set.cost + cost(*node) > options.kernel_cap)
        return fmt::format("more than {} operations", options.kernel_cap);
      return {};
    };
    const auto suits = [&](std::size_t number) { return refusal(sets[number]).empty(); };
    const auto found = std::find_if(open.begin(), open.end(), suits);
    const std::size_t number = found == open.end() ? sets.size() : *found;
    if (found == open.end()) {
      if (!open.empty())
        leave(sets[open[0]].arrays[0], refusal(sets[open[0]]));
      else
        leave(before.array,
              before.alone ? fmt::format("that one {}", before.alone) : difference(kind, before.kind));
      open.push_back(number);
      sets.emplace_back();
    }
    Set& set = sets[number];
    set.arrays.emplace_back(node);
    set.reads.insert(element.reads.begin(), element.reads.end());
    set.cost += cost(*node);
  }
  for (Set& set : sets) {
    if (set.arrays.size() < 2) continue;
    for (std::size_t i = 1; i < set.arrays.size(); ++i)
      staged.beside[set.arrays[i].get()].push_back({set.arrays[0], ""});
    staged.together.push_back(std::move(set.arrays));
  }
}

}  // namespace anabranch::fuse
