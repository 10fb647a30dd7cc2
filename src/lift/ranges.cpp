#include "lift/ranges.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "ir/run_error.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "lift/extent_bounds.h"

namespace anabranch::lift {

using namespace ir;

namespace {

/// Larger constants and factors are left alone, so that nothing here wraps around.
constexpr std::int64_t most_constant = std::int64_t{1} << 40, most_factor = std::int64_t{1} << 16;

/// From -most to most. (The smallest number of all has no magnitude.)
constexpr bool is_within(std::int64_t number, std::int64_t most) { return -most <= number && number <= most; }

bool is_scalar(const Node& node) { return !node.type().is_array() && node.op() != Op::lambda; }
bool is_number(const Node& node) {
  return node.type().is_element() && node.type().components() == 1 &&
         node.type().scalars[0] == ScalarType::int64;
}
std::optional<std::int64_t> constant_of(const Node& node) {
  if (node.op() != Op::constant || !is_number(node)) return std::nullopt;
  return static_cast<std::int64_t>(node.payload().bits);
}
bool is(const Node& node, Primitive primitive) {
  return node.op() == Op::primitive && node.payload().primitive == primitive;
}

/// The extent of an array that is given: its own, or one that lifting has from its source.
bool is_given_extent(const Node& node) {
  if (as_extent(node)) return true;
  return node.op() == Op::index && Read(node).in_bounds() && Read(node).array()->op() == Op::use &&
         Read(node).array()->type().rank == 0;
}

/// constant + the sum of factor * term.
struct Sum {
  std::int64_t constant = 0;
  std::vector<std::pair<const Node*, std::int64_t>> terms;
  bool is_known = true;  ///< else numbers are too large

  std::int64_t factor(const Node* term) const {
    const auto at = find(term);
    return at == terms.end() ? 0 : at->second;
  }
  Sum& add(const Sum& other, std::int64_t times = 1) {
    is_known = is_known && other.is_known;
    const auto into = [&](std::int64_t& mine, std::int64_t theirs, std::int64_t limit) {
      if (__builtin_mul_overflow(theirs, times, &theirs) || __builtin_add_overflow(mine, theirs, &mine) ||
          mine > limit || mine < -limit) {
        is_known = false;
        mine = 0;
      }
    };
    into(constant, other.constant, most_constant);
    for (const auto& [term, theirs] : other.terms) {
      const auto at =
          std::find_if(terms.begin(), terms.end(), [&](const auto& mine) { return mine.first == term; });
      if (at == terms.end()) {
        terms.emplace_back(term, 0);
        into(terms.back().second, theirs, most_factor);
      } else {
        into(at->second, theirs, most_factor);
      }
    }
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
    return *this;
  }
  /// Another sum in the place of a term.
  Sum with(const Node* term, const Sum& other) const {
    Sum out = *this;
    const std::int64_t times = out.factor(term);
    std::erase_if(out.terms, [&](const auto& mine) { return mine.first == term; });
    return out.add(other, times);
  }
  Sum with(const Node* term, std::int64_t number) const { return with(term, Sum{number, {}, true}); }

 private:
  std::vector<std::pair<const Node*, std::int64_t>>::const_iterator find(const Node* term) const {
    return std::find_if(terms.begin(), terms.end(), [&](const auto& mine) { return mine.first == term; });
  }
};

class Ranges {
 public:
  /// The positions of an array are components of `position`, and below its extents.
  Ranges(const Ref& position, const std::vector<Ref>& extents,
         const std::function<bool(const Node&)>& is_compared)
      : position_(position), extents_(extents), is_compared_(is_compared) {
    is_usable_ = std::all_of(extents.begin(), extents.end(), [&](const Ref& e) { return cannot_wrap(*e); });
  }

  /// 0 <= each of the indices < the extent along its dimension?
  bool in_range(const std::vector<Ref>& index, const std::vector<Ref>& of) {
    if (!is_usable_ || index.size() != of.size()) return false;
    for (std::size_t d = 0; d < index.size(); ++d) {
      // Where it mentions a position there is one, and so is something along these dimensions.
      exist_.clear();
      for (const Ref& part : index) note_positions(part);
      steps_ = most_steps;
      const Sum at = sum_of(*index[d]);
      if (!cannot_wrap(*of[d])) return false;
      Sum left = sum_of(*of[d]);
      left.add(at, -1).add({1, {}, true}, -1);
      if (!is_not_negative(at, depth) || !is_not_negative(left, depth)) return false;
    }
    return true;
  }

  /// Is each element read once at most: does each component move with one position at most, each position move another
  /// component, and do all of them?
  bool is_injective(const std::vector<Ref>& index) {
    std::vector<std::size_t> found;
    for (const Ref& part : index) {
      const Sum at = sum_of(*part);
      if (!at.is_known) return false;
      std::size_t positions = 0;
      for (const auto& [term, factor] : at.terms) {  // none is 0
        const auto dimension = dimension_of(*term);
        if (!dimension) {
          if (mentions(*term, {&position_, 1})) return false;
          continue;
        }
        if (++positions > 1) return false;
        found.push_back(*dimension);
      }
    }
    std::sort(found.begin(), found.end());
    return found.size() == extents_.size() && std::adjacent_find(found.begin(), found.end()) == found.end();
  }

 private:
  static constexpr int depth = 24, most_steps = 2000;

  /// The dimension of the array whose position this is.
  std::optional<std::size_t> dimension_of(const Node& node) const {
    if (&node == position_.get() && extents_.size() == 1) return 0;
    if (node.op() != Op::project || Project(node).value() != position_ || Project(node).count() != 1)
      return std::nullopt;
    return static_cast<std::size_t>(Project(node).first());
  }

  void note_positions(const Ref& index) {
    for (const Node* node : topological({&index, 1}, is_scalar))
      if (const auto dimension = dimension_of(*node)) exist_.push_back(extents_[*dimension].get());
  }

  Sum sum_of(const Node& node, int levels = 16) {
    if (const auto number = constant_of(node)) {
      Sum out;
      return out.add({1, {}, true}, std::clamp(*number, -most_constant - 1, most_constant + 1));
    }
    const auto itself = [&] { return Sum{0, {{&node, 1}}, true}; };
    if (levels == 0 || node.op() != Op::primitive || !is_number(node)) return itself();
    const auto operands = PrimitiveTerm(node).operands();
    const auto operand = [&](std::size_t i) { return sum_of(*operands[i], levels - 1); };
    if (is(node, Primitive::add)) return operand(0).add(operand(1));
    if (is(node, Primitive::subtract)) return operand(0).add(operand(1), -1);
    if (is(node, Primitive::negate)) return Sum{}.add(operand(0), -1);
    if (is(node, Primitive::multiply))
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}})
        if (const auto times = constant_of(*operands[side]); times && is_within(*times, most_factor))
          return Sum{}.add(operand(1 - side), *times);
    return itself();
  }

  /// Is an extent what the sum of its terms is, as a number without bounds?
  bool cannot_wrap(const Node& extent) {
    steps_ = most_steps;
    const Sum sum = sum_of(extent);
    if (!sum.is_known) return false;
    std::int64_t most = most_constant;
    for (const auto& [term, factor] : sum.terms) {
      if (!is_moderate(*term)) return false;
      const auto given = as_extent(*term);
      const std::int64_t bound = given && given->array->type().rank == 1 ? most_in_memory
                                 : given                                 ? most_extent
                                                                         : 4 * most_extent;
      std::int64_t part = 0;
      if (__builtin_mul_overflow(bound, std::abs(factor), &part) || __builtin_add_overflow(most, part, &most))
        return false;
    }
    return true;
  }

  /// Does what a term is computed from not wrap around? Extents that are given or compared are at most 2^59
  /// (ir::most_extent), so sums of a few of them and of positions are no larger than 2^62.
  bool is_moderate(const Sum& sum) const {
    std::int64_t above = 0, below = 0;
    for (const auto& [term, factor] : sum.terms) {
      if (!is_moderate(*term)) return false;
      (factor > 0 ? above : below) += std::abs(factor);
    }
    return sum.is_known && above <= 2 && below <= 2;
  }
  bool is_moderate(const Node& term, int levels = 4) const {
    if (const auto dimension = dimension_of(term)) return is_moderate(*extents_[*dimension], levels);
    if (is_given_extent(term)) return true;
    if (const auto number = constant_of(term)) return is_within(*number, most_constant);
    if (levels == 0 || term.op() != Op::primitive) return is_extent(term);
    const Primitive p = term.payload().primitive;
    const bool sum = p == Primitive::add || p == Primitive::subtract;
    const bool chosen = p == Primitive::minimum || p == Primitive::maximum || p == Primitive::divide ||
                        p == Primitive::remainder;
    const auto operands = PrimitiveTerm(term).operands();
    if (p == Primitive::multiply) {
      const auto by = constant_of(*operands[1]);
      return by && is_within(*by, 4) && is_moderate(*operands[0], 0);
    }
    return (sum || chosen) && std::all_of(operands.begin(), operands.end(), [&](const Ref& operand) {
             return is_moderate(*operand, std::max(sum ? levels - 2 : levels - 1, 0));
           });
  }
  /// Itself an extent of an array: the run has compared it.
  bool is_extent(const Node& term) const {
    return std::any_of(extents_.begin(), extents_.end(), [&](const Ref& e) { return e.get() == &term; }) ||
           is_compared_(term);
  }

  bool is_not_negative(const Sum& sum, int levels) {
    if (!sum.is_known || levels == 0 || --steps_ < 0) return false;
    if (sum.terms.empty()) return sum.constant >= 0;
    for (const auto& [term, factor] : sum.terms)
      if (by_cases(sum, *term, factor, levels)) return true;
    if (by_conditions(sum, levels)) return true;
    for (const auto& [term, factor] : sum.terms)
      if (const auto dimension = dimension_of(*term)) {
        Sum bound;
        if (factor < 0) bound = sum_of(*extents_[*dimension]).add({1, {}, true}, -1);
        return is_not_negative(sum.with(term, bound), levels - 1);
      }
    // Extents, which are as large as can be told from what exists.
    std::int64_t least = sum.constant;
    for (const auto& [term, factor] : sum.terms) {
      const auto bound = least_of(*term);
      std::int64_t part = 0;
      if (factor < 0 || !bound || __builtin_mul_overflow(factor, *bound, &part) ||
          __builtin_add_overflow(least, part, &least))
        return false;
    }
    return least >= 0;
  }

  /// Of a term that is one of its operands, or bounded by them: is the sum not negative in all cases that may be?
  bool by_cases(const Sum& sum, const Node& term, std::int64_t factor, int levels) {
    if (!is_number(term)) return false;
    if (term.op() == Op::cond) {
      const Cond cond(term);
      const auto shown = [&](bool holds, const Ref& side) {
        const std::size_t before = conditions_.size();
        assume(*cond.condition(), holds, 8);
        const bool is_shown = in_case(sum, term, *side, levels);
        conditions_.resize(before);
        return is_shown;
      };
      return shown(true, cond.then()) && shown(false, cond.otherwise());
    }
    if (term.op() != Op::primitive) return false;
    const bool lesser = is(term, Primitive::minimum);
    const bool quotient = is(term, Primitive::divide);
    if (!lesser && !quotient && !is(term, Primitive::maximum) && !is(term, Primitive::remainder))
      return false;
    const auto operands = PrimitiveTerm(term).operands();
    if (!std::all_of(operands.begin(), operands.end(),
                     [&](const Ref& operand) { return is_moderate(sum_of(*operand)); }))
      return false;
    if (lesser || is(term, Primitive::maximum)) {
      const auto shown = [&](std::size_t i) { return in_case(sum, term, *operands[i], levels); };
      // A minimum is at most each of its operands, and one of them.
      return (factor > 0) == lesser ? shown(0) && shown(1) : shown(0) || shown(1);
    }
    const auto by = constant_of(*operands[1]);
    if (!by || *by < 1 || *by > most_factor) return false;
    const Sum dividend = sum_of(*operands[0]);
    if (!is_not_negative(dividend, levels - 1)) return false;
    if (!quotient)
      return is_not_negative(sum.with(&term, factor > 0 ? 0 : *by - 1), levels - 1) ||
             (factor < 0 && is_not_negative(sum.with(&term, dividend), levels - 1));
    // x / by is between (x - by + 1) / by and x / by, and at least, or at most, a number y where x is at least by * y,
    // or less than by * (y + 1).
    Sum all = Sum{}.add(sum.with(&term, 0), *by).add(dividend, factor);
    if (factor == -1) all.add({*by - 1, {}, true});
    if (factor > 1) all.add({*by - 1, {}, true}, -factor);
    return is_not_negative(all, levels - 1) ||
           (factor > 0 && is_not_negative(sum.with(&term, 0), levels - 1));
  }

  /// Is the sum at least another that is not negative, by a condition of the case that is looked at?
  bool by_conditions(const Sum& sum, int levels) {
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      const auto cancels = [&](const auto& term) { return sum.factor(term.first) * term.second > 0; };
      Sum condition = conditions_[i];
      if (!std::any_of(condition.terms.begin(), condition.terms.end(), cancels)) continue;
      conditions_[i] = Sum{};  // it is used once
      const bool is_shown = is_not_negative(Sum(sum).add(condition, -1), levels - 1);
      conditions_[i] = std::move(condition);
      if (is_shown) return true;
    }
    return false;
  }

  /// What is not negative where a condition holds, or does not.
  void assume(const Node& condition, bool holds, int levels) {
    if (levels == 0) return;
    const auto is_bool = [](const Node& side, bool value) {
      return side.op() == Op::constant && (side.payload().bits != 0) == value;
    };
    if (condition.op() == Op::cond) {  // x && y is y or false, x || y is true or y
      const Cond cond(condition);
      if (is_bool(*(holds ? cond.otherwise() : cond.then()), !holds)) {
        assume(*cond.condition(), holds, levels - 1);
        assume(*(holds ? cond.then() : cond.otherwise()), holds, levels - 1);
      }
      return;
    }
    if (condition.op() != Op::primitive) return;
    const auto operands = PrimitiveTerm(condition).operands();
    if (is(condition, Primitive::logical_not)) return assume(*operands[0], !holds, levels - 1);
    if (is(condition, holds ? Primitive::bit_and : Primitive::bit_or)) {
      for (const Ref& operand : operands) assume(*operand, holds, levels - 1);
      return;
    }
    const bool strictly = is(condition, Primitive::less);
    if ((!strictly && !is(condition, Primitive::less_equal)) || !is_number(*operands[0])) return;
    Sum less = sum_of(*operands[0]), more = sum_of(*operands[1]);
    if (!is_moderate(less) || !is_moderate(more)) return;
    if (!holds) std::swap(less, more);
    conditions_.push_back(more.add(less, -1).add({strictly == holds ? 1 : 0, {}, true}, -1));
  }

  bool in_case(const Sum& sum, const Node& term, const Node& value, int levels) {
    return is_not_negative(sum.with(&term, sum_of(value)), levels - 1);
  }

  /// The least that an extent is; empty where the term may be negative.
  std::optional<std::int64_t> least_of(const Node& term) {
    std::optional<std::int64_t> least;
    if (is_given_extent(term) || is_extent(term)) least = 0;
    for (const Node* extent : exist_)
      if (const auto bound = implied(*extent, 1, term, 8)) least = std::max(least.value_or(*bound), *bound);
    return least;
  }
  /// A bound of `term` that follows from node >= bound.
  std::optional<std::int64_t> implied(const Node& node, std::int64_t bound, const Node& term, int levels) {
    const Sum sum = sum_of(node);
    if (sum.is_known && sum.terms.size() == 1 && sum.terms[0].second == 1 && sum.terms[0].first != &node)
      return implied(*sum.terms[0].first, bound - sum.constant, term, levels - 1);
    if (&node == &term) return bound;
    if (levels <= 0 || node.op() != Op::primitive) return std::nullopt;
    const bool lesser = is(node, Primitive::minimum);
    if (!lesser && !is(node, Primitive::maximum)) return std::nullopt;
    const auto operands = PrimitiveTerm(node).operands();
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto other = constant_of(*operands[1 - side]);
      if (!lesser && !(other && *other < bound)) continue;
      if (const auto found = implied(*operands[side], bound, term, levels - 1)) return found;
    }
    return std::nullopt;
  }

  Ref position_;
  const std::vector<Ref>& extents_;
  const std::function<bool(const Node&)>& is_compared_;
  std::vector<const Node*> exist_;  ///< extents that are at least 1
  std::vector<Sum> conditions_;     ///< that are not negative in the case that is looked at
  bool is_usable_ = false;
  int steps_ = 0;
};

}  // namespace

Ref with_ranges(const Ref& array, const std::vector<Ref>& extents, const ExtentsOf& extents_of,
                const std::function<bool(const Node&)>& is_compared) {
  const bool generates = array->op() == Op::generate;
  if (!generates && array->op() != Op::backpermute) return array;
  const Ref& function = generates ? Generate(array).function() : Backpermute(array).function();
  const Ref& position = function->parameters()[0];
  Ranges ranges(position, extents, is_compared);
  if (!generates) {
    const Backpermute moved(array);
    const std::vector<Ref> from = components(function->result());
    const bool in_bounds = moved.in_bounds() || ranges.in_range(from, extents_of(moved.array()));
    const bool injective = moved.injective() || ranges.is_injective(from);
    if (in_bounds == moved.in_bounds() && injective == moved.injective()) return array;
    return backpermute(moved.shape(), function, moved.array(),
                       {.injective = injective, .in_bounds = in_bounds}, array->place(),
                       array->payload().label);
  }
  bool found = false;
  Rewriter rewriter(
      [&](const Ref& original, const Ref& rebuilt) -> Ref {
        if (original->op() != Op::index || Read(original).in_bounds()) return rebuilt;
        const Ref& read = Read(original).array();
        if (read->type().rank == 0 || !mentions(*Read(original).at(), {&position, 1})) return rebuilt;
        const std::vector<Ref> at = components(Read(original).at());
        if (!ranges.in_range(at, extents_of(read))) return rebuilt;
        found = true;
        return index(Read(rebuilt).array(), Read(rebuilt).at(), rebuilt->place(), true,
                     rebuilt->payload().label, ranges.is_injective(at));
      },
      is_scalar);
  const Ref result = rewriter(function->result());
  if (!found) return array;
  const std::vector<Ref> own{parameter(position->type(), position->place())};
  const Ref marked =
      lambda(own, {substitute(result, {&position, 1}, own)}, function->place(), function->payload().label);
  return generate(Generate(array).shape(), marked, array->place(), array->payload().label);
}

}  // namespace anabranch::lift
