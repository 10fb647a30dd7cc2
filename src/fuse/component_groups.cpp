#include "fuse/component_groups.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/cost.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

bool is_element(const Node& node) { return !node.type().is_array(); }

class Groups {
 public:
  Groups(std::span<const Ref> components, const Readers& readers, int cheap)
      : components_(components), readers_(readers), cheap_(cheap), leader_(components.size()) {
    std::iota(leader_.begin(), leader_.end(), std::size_t{0});
  }

  std::vector<Mask> run() {
    for (const Mask& mask : readers_.in_one) join(mask);
    std::map<Mask, std::size_t> first_of;
    for (std::size_t c = 0; c < components_.size(); ++c) {
      const Mask takers = takers_of(c);
      if (!any(takers)) continue;
      join_what_shares_work(c);
      const bool is_cheap = additions(as_tree_.at(components_[c].get())) <= cheap_;
      if (std::count(takers.begin(), takers.end(), true) > 1 && is_cheap) continue;
      const auto [first, fresh] = first_of.try_emplace(takers, c);
      if (!fresh) join(c, first->second);
    }
    return groups();
  }

 private:
  std::size_t find(std::size_t c) {
    while (leader_[c] != c) c = leader_[c] = leader_[leader_[c]];
    return c;
  }
  void join(std::size_t a, std::size_t b) { leader_[find(a)] = find(b); }
  void join(const Mask& mask) {
    const auto first = static_cast<std::size_t>(std::find(mask.begin(), mask.end(), true) - mask.begin());
    for (std::size_t c = first; c < mask.size(); ++c)
      if (mask[c]) join(c, first);
  }

  Mask takers_of(std::size_t component) const {
    Mask takers;
    for (const Mask& mask : readers_.masks) takers.push_back(mask[component]);
    return takers;
  }

  /// Each term belongs to the first component that is computed from it. What others take of it counts as a tree.
  void join_what_shares_work(std::size_t component) {
    const auto is_new = [&](const Node& node) { return is_element(node) && !owner_.contains(&node); };
    std::map<std::size_t, Cost> shared;
    for (const Node* node : topological(components_.subspan(component, 1), is_new)) {
      if (!is_element(*node)) continue;
      if (const auto known = owner_.find(node); known != owner_.end()) {
        shared[find(known->second)] += as_tree_[node];
        continue;
      }
      Cost cost = node->op() == Op::while_loop ? unknown_rounds : own_cost(*node);
      for (const Ref& child : node->children())
        if (is_element(*child)) cost += as_tree_[child.get()];
      as_tree_[node] = cost;
      owner_[node] = component;
    }
    for (const auto& [other, cost] : shared)
      if (additions(cost) > cheap_) join(component, other);
  }

  std::vector<Mask> groups() {
    std::vector<Mask> groups;
    std::map<std::size_t, std::size_t> number;
    for (std::size_t c = 0; c < components_.size(); ++c) {
      if (!any(takers_of(c))) continue;
      const auto [at, fresh] = number.try_emplace(find(c), groups.size());
      if (fresh) groups.emplace_back(components_.size(), false);
      groups[at->second][c] = true;
    }
    return groups;
  }

  std::span<const Ref> components_;
  const Readers& readers_;
  int cheap_;
  std::vector<std::size_t> leader_;
  NodeMap<std::size_t> owner_;
  NodeMap<Cost> as_tree_;
};

}  // namespace

Mask Readers::taken(const Type& type) const {
  Mask mask(static_cast<std::size_t>(type.components()), whole);
  for (const Mask& each : masks) fuse::add(mask, each);
  return mask;
}

void Readers::add(const Readers& more) {
  whole |= more.whole;
  masks.insert(masks.end(), more.masks.begin(), more.masks.end());
  in_one.insert(in_one.end(), more.in_one.begin(), more.in_one.end());
}

std::vector<Mask> groups_of(std::span<const Ref> components, const Readers& readers, int cheap) {
  return Groups(components, readers, cheap).run();
}

}  // namespace anabranch::fuse
