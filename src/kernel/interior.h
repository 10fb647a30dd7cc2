#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/node.h"
#include "kernel/regions.h"

namespace anabranch::kernel {

/// What is known of comparisons (0, 1: its value), of a choice between operands (which one it is), of reads (1: the
/// indices that differ between lanes are in range).
using Assumed = std::unordered_map<const ir::Node*, int>;

/// Where a run of positions along one dimension is inside all the borders that the bodies ask about: comparisons,
/// minimums, maximums and absolute values of positions that move with the index by one, and checks of indices that do.
/// Inside of a stencil's borders, for example, `max(min(i + 1, n - 1), 0)` is i + 1, every index is in range, and no side of
/// a conditional needs a mask. What holds there may be assumed by code for that part; before and behind it nothing is.
class Interior {
 public:
  /// Looks through the bodies. `same_in_row`: is a term the same wherever only `inner`, the index, differs?
  Interior(const std::function<bool(const ir::Node&)>& same_in_row, const Regions& regions,
           std::span<const ir::Ref> bodies, const ir::Node& inner);

  /// Whether there is a border.
  bool helps() const { return !requirements_.empty(); }
  const Assumed& assumed() const { return assumed_; }
  /// The only question but for checks of indices is one comparison: there is one border, behind or before which the
  /// opposite holds. What is then assumed on either side, checks left out, and whether the opposite comes first.
  bool splits_in_two() const { return only_comparison_ != nullptr; }
  Assumed at_border(bool holds) const;
  bool begins_outside() const { return requirements_[0].slope > 0; }

 protected:
  /// x + at_least <= y, or, of an index, x < the array's extent (y null). Null x: 0.
  struct Requirement {
    const ir::Node* x = nullptr;
    const ir::Node* y = nullptr;
    std::int64_t at_least = 0;
    int slope = 0;  ///< of y - x: 1 or -1
    const ir::Node* array = nullptr;
    std::size_t dimension = 0;
  };

  const std::vector<Requirement>& requirements() const { return requirements_; }
  const ir::Node& inner() const { return inner_; }
  /// Is it a sum that is the same in all of a row and that only some side of a conditional asks for?
  bool is_sum(const ir::Node& node) const { return sums_.contains(&node); }
  /// What a term is inside: one of its operands, or null where it is none.
  const ir::Node* chosen(const ir::Node& node) const;

 private:
  void look_at(const ir::Node& node);
  void compare(const ir::Node& node, bool strict);
  void choose(const ir::Node& node, bool lesser);
  void size(const ir::Node& node);
  void sum(const ir::Node& node);
  void read(const ir::Node& node, const std::function<bool(const ir::Node&)>& same_in_row);
  bool require(const ir::Node* x, const ir::Node* y, std::int64_t at_least);
  std::optional<int> slope(const ir::Node* node) const;
  std::optional<bool> truth(const ir::Node& node) const;

  const ir::Node& inner_;
  std::unordered_map<const ir::Node*, int> slopes_;  ///< of nodes that can be computed for one row
  std::unordered_set<const ir::Node*> sums_;         ///< of these
  std::unordered_map<const ir::Node*, bool> truths_;
  std::vector<Requirement> requirements_;
  Assumed assumed_;
  const ir::Node* only_comparison_ = nullptr;
};

}  // namespace anabranch::kernel
