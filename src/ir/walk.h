#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/make.h"
#include "ir/node_map.h"

/// Traversal and rewriting without recursion. A node's id is larger than its children's, so id order is a
/// topological order; every pass is a loop over it.
namespace anabranch::ir {

/// Every node reachable from the roots, children before parents, each once.
std::vector<const Node*> topological(std::span<const Ref> roots);

/// Like topological, but does not go below nodes for which `enter` is false (they are still listed).
std::vector<const Node*> topological(std::span<const Ref> roots,
                                     const std::function<bool(const Node&)>& enter);

/// Rewrites a DAG bottom-up. `rule` gets each node with its already rewritten children in place (types equal)
/// and returns its replacement, or the node itself. Shared nodes are rewritten once and stay shared. One
/// Rewriter may be used for several roots; its memory is kept.
class Rewriter {
 public:
  using Rule = std::function<Ref(const Ref& original, const Ref& rebuilt)>;
  /// Where `enter` is false a node is its own image and is not looked into.
  explicit Rewriter(Rule rule, std::function<bool(const Node&)> enter = nullptr)
      : rule_(std::move(rule)), enter_(std::move(enter)) {}

  Ref operator()(const Ref& root);
  /// Fixes the image of a node beforehand (substitution).
  void set(const Ref& node, Ref image);

 private:
  Rule rule_;
  std::function<bool(const Node&)> enter_;
  NodeMap<Ref> image_;
  std::vector<Ref> kept_;  // originals stay alive, so that no address is reused while it is a key
};

/// Is the node one of these?
bool is_among(std::span<const Ref> nodes, const Node* node);
/// Is one of these parameters free in the node?
bool mentions(const Node& node, std::span<const Ref> parameters);

/// `root` with parameters replaced; nodes in which none of them is free are kept as they are.
Ref substitute(const Ref& root, std::span<const Ref> parameters, std::span<const Ref> values);

/// A lambda's results applied to arguments.
std::vector<Ref> apply(const Ref& lambda, std::span<const Ref> arguments);

}  // namespace anabranch::ir
