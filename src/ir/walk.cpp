#include "ir/walk.h"

#include <algorithm>

namespace anabranch::ir {

std::vector<const Node*> topological(std::span<const Ref> roots,
                                     const std::function<bool(const Node&)>& enter) {
  NodeSet seen;
  std::vector<const Node*> order;
  std::vector<const Node*> open;
  const auto visit = [&](const Ref& ref) {
    if (ref && seen.insert(ref.get()).second) {
      order.push_back(ref.get());
      open.push_back(ref.get());
    }
  };
  for (const Ref& root : roots) visit(root);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (enter && !enter(*node)) continue;
    for (const Ref& child : node->children()) visit(child);
  }
  std::sort(order.begin(), order.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return order;
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
