#include "kernel/regions.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/cost.h"
#include "ir/views.h"

namespace anabranch::kernel {
namespace {

/// What may be evaluated without being needed.
constexpr std::int64_t cheap = 32;
/// Tree costs count shared operands again and again: they saturate here.
constexpr std::int64_t immense = 1'000'000;
/// Evaluating a node once per branch multiplies: so many evaluations beyond the first of each node.
constexpr std::size_t repetitions_limit = 200'000;
/// Code generators nest what they emit as regions are nested.
constexpr int depth_limit = 1000;

/// By itself: cannot fail, ends, touches no memory.
bool own_total(const ir::Node& node) {
  if (node.op() == ir::Op::parameter) return true;
  switch (node.op().as<ir::ScalarOp>()) {
    case ir::Op::primitive:
      return !ir::can_fail(node);
    case ir::Op::constant:
    case ir::Op::tuple:
    case ir::Op::project:
    case ir::Op::cond:
      return true;
    case ir::Op::while_loop:
    case ir::Op::index:
    case ir::Op::linear_index:
      return false;
    case ir::Op::shape:
      break;
  }
  throw InternalError(std::string("kernel body: ") + name_of(node.op()) + " is not a scalar operation");
}

/// Calls f(operand, kind) for each scalar operand; kind says in which region of the node it is evaluated.
template <class F>
void for_operands(const ir::Node& node, F&& f) {
  using Kind = Region::Kind;
  switch (node.op().as<ir::ScalarOp>()) {
    case ir::Op::cond: {
      const ir::Cond cond(node);
      f(*cond.condition(), Kind::root);
      f(*cond.then(), Kind::then);
      f(*cond.otherwise(), Kind::otherwise);
      return;
    }
    case ir::Op::while_loop: {
      const ir::WhileLoop loop(node);
      f(*loop.predicate()->result(), Kind::predicate);
      f(*loop.body()->result(), Kind::loop);
      f(*loop.initial(), Kind::root);
      return;
    }
    case ir::Op::index:
    case ir::Op::linear_index:
      return f(*ir::Read(node).at(), Kind::root);
    case ir::Op::constant:
    case ir::Op::primitive:
    case ir::Op::tuple:
    case ir::Op::project:
      for (const auto& child : node.children()) f(*child, Kind::root);
      return;
    case ir::Op::shape:
      throw InternalError("a kernel's body holds a shape");
  }
}

[[noreturn]] void refuse(const ir::Node& node, const char* what, std::size_t limit) {
  throw ProgramError(fmt::format("{} ({}): in the scalar code of one array, {}; the limit is {}",
                                 node.label(), to_string(node.place()), what, limit),
                     node.place());
}

}  // namespace

std::vector<const ir::Node*> reachable(std::span<const ir::Ref> roots,
                                       const std::function<bool(const ir::Node&)>& leaf) {
  std::vector<const ir::Node*> found, work;
  std::unordered_set<const ir::Node*> seen;
  const auto visit = [&](const ir::Node& node) {
    if (seen.insert(&node).second) work.push_back(&node);
  };
  for (const auto& root : roots) visit(*root);
  while (!work.empty()) {
    const ir::Node* node = work.back();
    work.pop_back();
    found.push_back(node);
    if (node->op() == ir::Op::parameter || (leaf && leaf(*node))) continue;
    for_operands(*node, [&](const ir::Node& operand, Region::Kind) { visit(operand); });
  }
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->id() < b->id(); });
  return found;
}

void Regions::find_total(std::span<const ir::Node* const> order,
                         const std::function<bool(const ir::Node&)>& leaf) {
  for (const ir::Node* node : order) {
    if (leaf && leaf(*node)) continue;
    if (!own_total(*node)) continue;
    std::int64_t cost = additions(own_cost(*node));
    bool total = true;
    if (node->op() != ir::Op::parameter)
      for_operands(*node, [&](const ir::Node& operand, Region::Kind) {
        const auto known = total_cost_.find(&operand);
        if (known == total_cost_.end())
          total = false;
        else
          cost = std::min(immense, cost + known->second);
      });
    if (total) total_cost_[node] = cost;
  }
}

namespace {

using NodeSet = std::unordered_set<const ir::Node*>;

/// What may be evaluated where it is not needed: what is evaluated in any case, and what cannot fail and ends and
/// is made of such terms.
NodeSet harmless_nodes(std::span<const ir::Ref> roots, std::span<const ir::Node* const> order,
                       const std::function<bool(const ir::Node&)>& leaf) {
  const auto has_operands = [&](const ir::Node& node) {
    return node.op() != ir::Op::parameter && !(leaf && leaf(node));
  };
  NodeSet harmless;
  std::vector<const ir::Node*> open;
  const auto certain = [&](const ir::Node& node) {
    if (harmless.insert(&node).second) open.push_back(&node);
  };
  for (const auto& root : roots) certain(*root);
  while (!open.empty()) {
    const ir::Node& node = *open.back();
    open.pop_back();
    if (!has_operands(node)) continue;
    for_operands(node, [&](const ir::Node& operand, Region::Kind kind) {
      if (kind == Region::Kind::root) certain(operand);
    });
  }
  for (const ir::Node* node : order) {
    if ((leaf && leaf(*node)) || !own_total(*node)) continue;
    bool all = true;
    if (has_operands(*node))
      for_operands(*node,
                   [&](const ir::Node& operand, Region::Kind) { all = all && harmless.contains(&operand); });
    if (all) harmless.insert(node);
  }
  return harmless;
}

}  // namespace

Regions::Regions(std::span<const ir::Ref> roots, const std::function<bool(const ir::Node&)>& leaf) {
  add(Region::Kind::root, -1, nullptr);
  const auto order = reachable(roots, leaf);
  find_total(order, leaf);
  std::unordered_map<const ir::Node*, std::vector<int>> uses;
  for (const auto& root : roots) uses[root.get()].push_back(0);
  const auto mark_all = [&](const ir::Node& node) {
    if (node.op() == ir::Op::while_loop)
      live_[&node].assign(static_cast<std::size_t>(node.type().components()), true);
  };
  for (const auto& root : roots) mark_all(*root);

  std::optional<NodeSet> harmless;  // found where it is asked for

  // Users have larger ids than what they use, so all uses of a node are known when it is reached.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const ir::Node& node = **it;
    if (node.op() == ir::Op::parameter) continue;
    if (node.op() == ir::Op::while_loop)
      live_.try_emplace(&node, static_cast<std::size_t>(node.type().components()), false);
    const bool is_leaf = leaf && leaf(node);
    for (const int region : place(node, std::move(uses[&node]))) {
      if (++count_ > repetitions_limit + order.size())
        refuse(node, "too many conditionals share work", repetitions_limit);
      regions_[static_cast<std::size_t>(region)].nodes.push_back(&node);
      if (is_leaf) continue;
      int inner = -1;
      const bool deepest = (*this)[region].depth >= depth_limit;
      if (node.op() == ir::Op::cond || node.op() == ir::Op::while_loop) {
        const bool loop = node.op() == ir::Op::while_loop;
        inner = add(loop ? Region::Kind::predicate : Region::Kind::then, region, &node);
        add(loop ? Region::Kind::loop : Region::Kind::otherwise, region, &node);
        inner_[{region, &node}] = inner;
      }
      for_operands(node, [&](const ir::Node& operand, Region::Kind kind) {
        int where = region;
        if (kind == Region::Kind::then || kind == Region::Kind::predicate) where = inner;
        if (kind == Region::Kind::otherwise || kind == Region::Kind::loop) where = inner + 1;
        // What is harmless may be evaluated needlessly.
        if (deepest && where != region) {
          if (!harmless) harmless = harmless_nodes(roots, order, leaf);
          if (node.op() == ir::Op::while_loop || !harmless->contains(&operand))
            refuse(node, "conditionals and loops are nested too deeply", depth_limit);
          where = region;
        }
        uses[&operand].push_back(where);
        if (operand.op() != ir::Op::while_loop) return;
        if (node.op() != ir::Op::project) return mark_all(operand);
        auto& live = live_.try_emplace(&operand, static_cast<std::size_t>(operand.type().components()), false)
                         .first->second;
        const ir::Project part(node);
        for (int c = 0; c < part.count(); ++c) live[static_cast<std::size_t>(part.first() + c)] = true;
      });
    }
  }
  for (auto& region : regions_) std::reverse(region.nodes.begin(), region.nodes.end());
  summarise();
}

int Regions::inner(int region, const ir::Node& owner) const {
  const auto found = inner_.find({region, &owner});
  if (found != inner_.end()) return found->second;
  std::string places;
  for (std::size_t r = 0; r < regions_.size(); ++r)
    if (std::find(regions_[r].nodes.begin(), regions_[r].nodes.end(), &owner) != regions_[r].nodes.end())
      places += " " + std::to_string(r);
  throw InternalError(std::string("kernel body: ") + name_of(owner.op()) + " is evaluated in region " +
                      std::to_string(region) + ", its place is" + places);
}

int Regions::add(Region::Kind kind, int parent, const ir::Node* owner) {
  Region region;
  region.kind = kind;
  region.parent = parent;
  region.owner = owner;
  region.depth = parent < 0 ? 0 : regions_[static_cast<std::size_t>(parent)].depth + 1;
  regions_.push_back(std::move(region));
  return static_cast<int>(regions_.size()) - 1;
}

/// Does the region bind a parameter (of its loop) that the node needs?
bool Regions::binds(int region, const ir::Node& node) const {
  const Region& r = (*this)[region];
  if (r.kind != Region::Kind::predicate && r.kind != Region::Kind::loop) return false;
  const ir::WhileLoop loop(*r.owner);
  const auto& function = r.kind == Region::Kind::predicate ? *loop.predicate() : *loop.body();
  for (const auto& parameter : function.parameters())
    for (const ir::Node* free : node.free())
      if (free == parameter.get()) return true;
  return false;
}

/// Lowest region above both, or -1 where the node cannot leave one of them.
int Regions::common(int a, int b, const ir::Node& node) const {
  while (a != b) {
    int& deeper = (*this)[a].depth >= (*this)[b].depth ? a : b;
    if (binds(deeper, node)) return -1;
    deeper = (*this)[deeper].parent;
  }
  return a;
}

/// Is evaluation in `region` as good as evaluation just outside:
/// always needed there, or free of consequences?
bool Regions::certain_above(int region, const ir::Node& node) const {
  if (binds(region, node)) return false;
  const Region::Kind kind = (*this)[region].kind;
  if (kind == Region::Kind::predicate) return true;
  if (kind != Region::Kind::loop) return false;
  const auto cost = total_cost_.find(&node);
  return cost != total_cost_.end() && cost->second <= cheap;
}

std::vector<int> Regions::place(const ir::Node& node, std::vector<int> uses) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (int& use : uses)
      while (certain_above(use, node)) {
        use = (*this)[use].parent;
        changed = true;
      }
    std::sort(uses.begin(), uses.end());
    uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
    if (uses.size() == 1) return uses;

    // Needed on both sides is needed before.
    for (std::size_t i = 0; i + 1 < uses.size(); ++i)
      if ((*this)[uses[i]].kind == Region::Kind::then && uses[i + 1] == uses[i] + 1) {
        uses[i] = uses[i + 1] = (*this)[uses[i]].parent;
        changed = true;
      }
    // A use below another use finds the value there.
    std::vector<int> top, sorted = uses;
    std::sort(sorted.begin(), sorted.end());
    for (const int use : uses) {
      bool covered = false;
      for (int up = (*this)[use].parent; up >= 0 && !covered; up = (*this)[up].parent)
        covered = std::binary_search(sorted.begin(), sorted.end(), up);
      if (!covered) top.push_back(use);
    }
    changed = changed || top.size() != uses.size();
    uses = std::move(top);
  }
  const auto cost = total_cost_.find(&node);
  if (uses.size() > 1 && cost != total_cost_.end() && cost->second <= cheap) {
    int region = uses[0];
    for (const int use : uses) {
      region = common(region, use, node);
      if (region < 0) return uses;
    }
    return {region};
  }
  return uses;
}

void check_branches(std::span<const ir::Ref> roots) {
  const auto nodes = reachable(roots);
  const auto branches =
      static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [](const ir::Node* n) {
        return n->op() == ir::Op::cond || n->op() == ir::Op::while_loop;
      }));
  // Most bodies cannot exceed the limits.
  if (branches <= depth_limit && nodes.size() * 2 * branches <= repetitions_limit) return;
  static_cast<void>(Regions(roots));
}

void Regions::summarise() {
  // Inner regions are made after the ones around them.
  for (std::size_t i = regions_.size(); i-- > 0;) {
    Region& region = regions_[i];
    for (const ir::Node* node : region.nodes) {
      region.cost += additions(own_cost(*node));
      if (own_total(*node)) continue;
      region.total = false;
      if (!is_read(node->op())) region.maskable = false;
    }
    if (region.parent < 0) continue;
    Region& parent = regions_[static_cast<std::size_t>(region.parent)];
    parent.cost += region.cost;
    parent.total = parent.total && region.total;
    parent.maskable = parent.maskable && region.maskable;
  }
}

}  // namespace anabranch::kernel
