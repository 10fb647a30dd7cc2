#include "ir/walk.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace anabranch::ir {

namespace {

/// Nodes that were found, each once. Those of one program have ids close to each other, so that a bit for each id tells
/// which are known, and where they are in the order of ids; nodes that are much older are in a set.
class Found {
 public:
  /// No node has a higher id.
  explicit Found(std::uint64_t highest) : highest_(highest) {}

  /// Whether it is new.
  bool insert(const Node* node) {
    const std::uint64_t age = highest_ - node->id();
    if (age < 64 * most_words(near_.size())) {
      const auto word = static_cast<std::size_t>(age / 64);
      if (word >= known_.size()) known_.resize(std::max(word + 1, 2 * known_.size()));
      const std::uint64_t bit = std::uint64_t{1} << (age % 64);
      if ((known_[word] & bit) || (!old_.empty() && old_.contains(node))) return false;
      known_[word] |= bit;
      near_.push_back(node);
      return true;
    }
    return old_.insert(node).second;
  }

  /// By their ids.
  std::vector<const Node*> in_order() const {
    std::vector<const Node*> order(old_.begin(), old_.end());
    const std::size_t old = order.size();
    order.resize(old + near_.size());
    // How many are as young as those of a word or younger.
    std::vector<std::size_t> younger(known_.size());
    std::size_t sum = 0;
    for (std::size_t w = 0; w < known_.size(); ++w) {
      sum += static_cast<std::size_t>(std::popcount(known_[w]));
      younger[w] = sum;
    }
    for (const Node* node : near_) {
      const std::uint64_t age = highest_ - node->id();
      const auto word = static_cast<std::size_t>(age / 64);
      // Of its word it and those below are older, by bits.
      const std::uint64_t up_to = known_[word] & (~std::uint64_t{0} >> (63 - age % 64));
      const std::size_t before = word == 0 ? 0 : younger[word - 1];
      order[order.size() - before - static_cast<std::size_t>(std::popcount(up_to))] = node;
    }
    const auto by_id = [](const Node* a, const Node* b) { return a->id() < b->id(); };
    const auto end_of_old = order.begin() + static_cast<std::ptrdiff_t>(old);
    std::sort(order.begin(), end_of_old, by_id);
    // A node that was too old for the bits when few were known may be younger than others.
    if (old > 0 && old < order.size()) std::inplace_merge(order.begin(), end_of_old, order.end(), by_id);
    return order;
  }

 private:
  /// The bits are no more work than the nodes.
  static std::size_t most_words(std::size_t nodes) { return nodes + 16; }

  const std::uint64_t highest_;
  std::vector<std::uint64_t> known_;  ///< a bit for each age
  std::vector<const Node*> near_;
  NodeSet old_;
};

}  // namespace

std::vector<const Node*> topological(std::span<const Ref> roots,
                                     const std::function<bool(const Node&)>& enter) {
  std::uint64_t highest = 0;
  for (const Ref& root : roots)
    if (root) highest = std::max(highest, root->id());
  Found found(highest);
  std::vector<const Node*> open;
  const auto visit = [&](const Ref& ref) {
    if (ref && found.insert(ref.get())) open.push_back(ref.get());
  };
  for (const Ref& root : roots) visit(root);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (enter && !enter(*node)) continue;
    for (const Ref& child : node->children()) visit(child);
  }
  return found.in_order();
}

std::vector<const Node*> topological(std::span<const Ref> roots) { return topological(roots, nullptr); }

void Rewriter::set(const Ref& node, Ref image) {
  kept_.push_back(node);
  image_[node.get()] = std::move(image);
}

Ref Rewriter::operator()(const Ref& root) {
  const auto order = topological(
      {&root, 1}, [&](const Node& node) { return !image_.contains(&node) && (!enter_ || enter_(node)); });
  for (const Node* node : order) {
    if (image_.contains(node)) continue;
    const Ref original(node);
    kept_.push_back(original);
    if (enter_ && !enter_(*node)) {
      image_[node] = original;
      continue;
    }
    std::vector<Ref> children;
    children.reserve(node->children().size());
    for (const Ref& child : node->children()) children.push_back(image_.at(child.get()));
    image_[node] = rule_(original, rebuild(original, std::move(children)));
  }
  return image_.at(root.get());
}

bool is_among(std::span<const Ref> nodes, const Node* node) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Ref& each) { return each.get() == node; });
}

bool mentions(const Node& node, std::span<const Ref> parameters) {
  return std::any_of(node.free().begin(), node.free().end(),
                     [&](const Node* p) { return is_among(parameters, p); });
}

Ref substitute(const Ref& root, std::span<const Ref> parameters, std::span<const Ref> values) {
  NodeMap<Ref> image;
  NodeSet replaced;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    image[parameters[i].get()] = values[i];
    replaced.insert(parameters[i].get());
  }
  const auto touched = [&](const Node& node) {
    return std::any_of(node.free().begin(), node.free().end(),
                       [&](const Node* p) { return replaced.contains(p); });
  };
  if (!touched(*root)) return root;
  const auto order =
      topological({&root, 1}, [&](const Node& node) { return touched(node) && !image.contains(&node); });
  for (const Node* node : order) {
    if (image.contains(node)) continue;
    if (!touched(*node)) {
      image[node] = Ref(node);
      continue;
    }
    std::vector<Ref> children;
    children.reserve(node->children().size());
    for (const Ref& child : node->children()) children.push_back(image.at(child.get()));
    image[node] = rebuild(Ref(node), std::move(children));
  }
  return image.at(root.get());
}

std::vector<Ref> apply(const Ref& lambda, std::span<const Ref> arguments) {
  std::vector<Ref> results;
  if (lambda->results().size() == 1) {
    results.push_back(substitute(lambda->result(), lambda->parameters(), arguments));
    return results;
  }
  // A Rewriter, so that what several results share stays shared.
  Rewriter rewriter([](const Ref&, const Ref& rebuilt) { return rebuilt; });
  for (std::size_t i = 0; i < arguments.size(); ++i) rewriter.set(lambda->parameters()[i], arguments[i]);
  for (const Ref& r : lambda->results()) results.push_back(rewriter(r));
  return results;
}

}  // namespace anabranch::ir
