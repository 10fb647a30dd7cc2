#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/node_map.h"

/// Loops and branches: which arrays a program computes itself, and which ones the bodies inside of it take from it.
///
/// What a loop's body mentions and what does not depend on its state is computed once, before the loop. Of what the sides of
/// a branch mention that only is computed before it which the program computes anyway, and what loops and branches give that
/// both sides need. All else belongs to the side, as the side that is not taken does not run; but in a loop or in the function
/// of a sequence, what is made of a stream and depends on neither state nor item is computed once, before, though only a side
/// mentions it: the side would read the stream again in each round, or for each chunk of items.
namespace anabranch::ir {

/// Finds what programs compute themselves. It remembers what it has found: the nodes stay alive as long as it does.
class OwnNodes {
 public:
  /// `parameters`: of the program.
  explicit OwnNodes(std::span<const Ref> parameters = {})
      : parameters_(parameters.begin(), parameters.end()) {}

  /// All nodes that the program with these results computes itself, children before parents: bodies are left out, what they
  /// take is in, as far as it is not just computed anyway. But for those that are `known`, and those that only they need; all
  /// that are found become known.
  std::vector<const Node*> of(std::span<const Ref> results, NodeSet& known);
  std::vector<const Node*> of(std::span<const Ref> results);

  /// What loops and branches give that both sides of a branch need: computed before the condition is looked at. Each side would
  /// have it for itself, in a chain of branches 2^n times. But for what writes, and what is made of a stream that can be read
  /// only once, which others in a side may have to read with it; and for what these are computed from.
  const std::vector<const Node*>& of_both_sides(const Node& branch);
  /// What the sides of a branch that depends on a state or an item take of streams, and what does not depend on them: computed
  /// before the first round or item.
  std::vector<Ref> streams_in_sides(const Node& branch);
  /// Arrays that the body of a loop takes from the program around it.
  const std::vector<Ref>& captured_by_loop(const Ref& function);

 private:
  std::vector<const Node*> found_in_both_sides(const Node& branch);
  bool may_move(const Node& node);

  std::unordered_map<const Node*, std::vector<const Node*>> both_;
  std::unordered_map<const Node*, std::vector<Ref>> captured_;  ///< by a function
  std::unordered_map<const Node*, bool> may_move_;
  std::vector<Ref> parameters_;
  NodeSet without_streams_;  ///< nodes in which there is none of these
};

/// As long as it lives, what a loop or a branch runs is compiled, or run by the interpreter: work that goes into bodies in
/// bodies, for which stack and time have to suffice. Throws ProgramError where too many are inside each other.
class InBody {
 public:
  explicit InBody(const Node& control);
  ~InBody();
  InBody(const InBody&) = delete;
  InBody& operator=(const InBody&) = delete;
};

/// OwnNodes::of, once.
std::vector<const Node*> own_nodes(std::span<const Ref> results, std::span<const Ref> parameters = {});

/// A stream whose items are consumed, or go into those that are; null: there is none.
const Node* stream_of(const Node& consume);

/// OwnNodes::captured_by_loop, once.
std::vector<Ref> captured_by_loop(const Ref& function);
/// The same of a side of a branch. `computed`: the arrays that the program computes itself.
std::vector<Ref> captured_by_side(const Ref& function, const NodeSet& computed);

}  // namespace anabranch::ir
