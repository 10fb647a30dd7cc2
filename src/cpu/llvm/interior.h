#pragma once

#include <optional>
#include <unordered_set>

#include "cpu/llvm/emitter.h"

namespace anabranch::cpu {

/// Where a run of positions along the innermost dimension is inside all the borders that the bodies ask about:
/// comparisons, minimums, maximums and absolute values of positions that move with the index by one, and checks of
/// indices that do. Inside of a stencil's borders, for example, `max(min(i + 1, n - 1), 0)` is i + 1, every index
/// is in range, and no side of a conditional needs a mask. What holds there is assumed when that part is emitted
/// (Emitter::assumed); before and behind it nothing is.
class Interior {
 public:
  /// Looks through the bodies. Levels of the kernel's parameters are known; `inner` is the innermost index.
  Interior(const Emitter& e, const Regions& regions, std::span<const ir::Ref> bodies, const ir::Node& inner);

  /// Whether there is a border.
  bool helps() const { return !requirements_.empty(); }
  const Assumed& assumed() const { return assumed_; }
  /// The only question but for checks of indices is one comparison: there is one border, behind or before which the
  /// opposite holds. What is then assumed on either side, checks left out, and whether the opposite comes first.
  bool splits_in_two() const { return only_comparison_ != nullptr; }
  Assumed at_border(bool holds) const;
  bool begins_outside() const { return requirements_[0].slope > 0; }

  struct Range {
    llvm::Value *lo, *hi;
    llvm::Value* known;  ///< one bit: else numbers are so large that nothing is said
  };
  /// The part of [lo, hi) that is inside, or of which the one comparison holds. Emitted at the level of a row.
  Range range(Emitter& e, llvm::Value* lo, llvm::Value* hi) const { return range(e, lo, hi, requirements_); }
  Range range_of_border(Emitter& e, llvm::Value* lo, llvm::Value* hi) const {
    return range(e, lo, hi, std::span(requirements_).first(1));
  }

 private:
  /// x + at_least <= y, or, of an index, x < the array's extent (y null). Null x: 0.
  struct Requirement {
    const ir::Node* x = nullptr;
    const ir::Node* y = nullptr;
    std::int64_t at_least = 0;
    int slope = 0;  ///< of y - x: 1 or -1
    const ir::Node* array = nullptr;
    std::size_t dimension = 0;
  };

  void look_at(const ir::Node& node);
  void compare(const ir::Node& node, bool strict);
  void choose(const ir::Node& node, bool lesser);
  void size(const ir::Node& node);
  void sum(const ir::Node& node);
  void read(const ir::Node& node);
  bool require(const ir::Node* x, const ir::Node* y, std::int64_t at_least);
  std::optional<int> slope(const ir::Node* node) const;
  std::optional<bool> truth(const ir::Node& node) const;
  const ir::Node* chosen(const ir::Node& node) const;
  llvm::Value* at(Emitter& e, const ir::Node* node, llvm::Value* inner) const;
  Range range(Emitter& e, llvm::Value* lo, llvm::Value* hi, std::span<const Requirement> requirements) const;

  const Emitter& e_;
  const ir::Node& inner_;
  std::unordered_map<const ir::Node*, int> slopes_;  ///< of nodes that can be computed for one row
  /// Of these those that are the same in all of a row and that only some side of a conditional asks for: sums.
  std::unordered_set<const ir::Node*> sums_;
  std::unordered_map<const ir::Node*, bool> truths_;
  std::vector<Requirement> requirements_;
  Assumed assumed_;
  const ir::Node* only_comparison_ = nullptr;
};

}  // namespace anabranch::cpu
