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
/// indices that differ between lanes are in range; all_in_range: all are).
using Assumed = std::unordered_map<const ir::Node*, int>;
inline constexpr int all_in_range = 2;

/// Where a run of positions along one dimension is inside all the borders that the bodies ask about: comparisons,
/// minimums, maximums and absolute values of positions that move with the index by one, and checks of indices that do.
/// Inside of a stencil's borders, for example, `max(min(i + 1, n - 1), 0)` is i + 1, every index is in range, and no side of
/// a conditional needs a mask. What holds there may be assumed by code for that part; before and behind it nothing is.
///
/// Of the borders along the other dimensions a row as a whole is inside or not: comparisons of what moves from row to row
/// with what does not, and checks of such indices. These are asked once for each row; code for rows that are
/// inside may assume the answers, in the interior or, where there are no borders along the row, in all of it.
class Interior {
 public:
  using Predicate = std::function<bool(const ir::Node&)>;
  /// Looks through the bodies. `same_in_row`: is a term the same wherever only `inner`, the index, differs?
  /// `moves`: may such a term differ from row to row? Without it nothing is asked of rows.
  Interior(const Predicate& same_in_row, const Regions& regions, std::span<const ir::Ref> bodies,
           const ir::Node& inner, const Predicate& moves = {});

  /// Whether there is a border.
  bool helps() const { return !requirements_.empty(); }
  const Assumed& assumed() const { return assumed_; }
  /// The only question but for checks of indices is one comparison: there is one border, behind or before which the
  /// opposite holds. What is then assumed on either side, checks left out, and whether the opposite comes first.
  bool splits_in_two() const { return only_comparison_ != nullptr; }
  Assumed at_border(bool holds) const;
  bool begins_outside() const { return requirements_[0].slope > 0; }

  /// Whether something is asked of rows.
  bool asks_rows() const { return !row_questions_.empty() || !row_indices_.empty(); }
  /// What holds in the interior of a row that is inside; and what is computed once for each row and has a value there.
  const Assumed& assumed_in_rows() const { return assumed_in_rows_; }
  const std::unordered_map<const ir::Node*, bool>& row_truths() const { return row_truths_; }

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

  /// A comparison, and its value in rows that are inside.
  struct RowQuestion {
    const ir::Node* comparison;
    bool answer;
  };
  /// An index that is the same in all of a row and has to be in range.
  struct RowIndex {
    const ir::Node* component;
    const ir::Node* array;
    std::size_t dimension;
  };

  const std::vector<RowQuestion>& row_questions() const { return row_questions_; }
  const std::vector<RowIndex>& row_indices() const { return row_indices_; }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  const ir::Node& inner() const { return inner_; }
  /// Is it a number that is the same in all of a row and that only some side of a conditional asks for: a sum or product of such,
  /// or the element of an array that has one?
  bool is_computed(const ir::Node& node) const { return computed_.contains(&node); }
  /// What a term is inside: one of its operands, or null where it is none.
  const ir::Node* chosen(const ir::Node& node) const;

 private:
  void look_at(const ir::Node& node);
  void compare(const ir::Node& node, bool strict);
  void choose(const ir::Node& node, bool lesser);
  void size(const ir::Node& node);
  void compute(const ir::Node& node);
  void combine(const ir::Node& node);
  void look_at_reads(const Predicate& same_in_row, std::span<const ir::Ref> bodies);
  void read(const ir::Node& node, const Predicate& same_in_row);
  void ask_row(const ir::Node& node, const Predicate& moves, bool is_certain);
  void look_at_rows(const Predicate& same_in_row, std::span<const ir::Ref> bodies);
  void read_in_row(const ir::Node& node, const Predicate& same_in_row);
  bool require(const ir::Node* x, const ir::Node* y, std::int64_t at_least);
  std::optional<int> slope(const ir::Node* node) const;
  std::optional<bool> truth(const ir::Node& node) const;
  std::optional<bool> truth_in_row(const ir::Node& node) const;

  const ir::Node& inner_;
  std::unordered_map<const ir::Node*, int> slopes_;  ///< of nodes that can be computed for one row
  std::unordered_set<const ir::Node*> computed_;     ///< of these
  std::unordered_map<const ir::Node*, bool> truths_;
  std::vector<Requirement> requirements_;
  Assumed assumed_;
  const ir::Node* only_comparison_ = nullptr;
  std::vector<RowQuestion> row_questions_;
  std::vector<RowIndex> row_indices_;
  std::unordered_map<const ir::Node*, bool> row_truths_;  ///< beside those above
  Assumed assumed_in_rows_;
};

}  // namespace anabranch::kernel
