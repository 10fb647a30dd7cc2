#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/random_program.h"
#include "support/random_scalars.h"
#include "support/random_segments.h"

namespace anabranch::testing {

/// Random array computations over the arrays of a scope.
class RandomArrays {
 public:
  /// No constant extent is larger than `longest`.
  RandomArrays(Dice& dice, const ProgramOptions& options, std::int64_t longest)
      : dice_(dice),
        options_(options),
        longest_(longest),
        scalars_(dice, options),
        segments_(dice, options, scalars_) {}
  ir::Ref use(int rank);
  /// One more computation over the arrays of the scope.
  ir::Ref computation(Scope& scope);
  /// A row of many blocks, for several workers.
  ir::Ref fold_of_a_long_row(Scope& scope);
  /// A few rounds, each of which gives an array that is shorter by one, and another one.
  ir::Ref loop(Scope& scope);
  /// One of two arrays, of which only one is computed.
  ir::Ref branch(Scope& scope);
  /// Segments of vectors as a sequence, and beside them other parts of the same vectors.
  ir::Ref segments(Scope& scope);
  /// What the segments of vectors give, now and then in step with the rows of an array, or twice.
  ir::Ref of_segments(Scope& scope);
  /// What the rows of an array give, a few of them: inside of an item's function a sequence inside of a sequence.
  ir::Ref of_rows(Scope& scope);
  /// A sequence that one array or two pass through as a state.
  ir::Ref accumulated(Scope& scope, const ir::Ref& all);
  /// A sequence that single elements pass through: counters, delays, what was last set, or anything else.
  ir::Ref counted(Scope& scope, const ir::Ref& all);
  /// All single arrays of a sequence, joined.
  ir::Ref folded(Scope& scope, const ir::Ref& all);
  /// Whether something holds.
  ir::Ref condition(Scope& scope);
  /// A function of each element, to one of the same type, and of something that is computed here.
  ir::Ref mapped(Scope& scope, const ir::Ref& a);

 private:
  int most_segments() const;
  /// Several results of the items of sequences, one of which is given back and the others are left in the scope.
  ir::Ref of_items(Scope& scope, const std::vector<ir::Ref>& sequences);
  /// Some elements of an array, of a computed one mostly, from any position on.
  ir::Ref part(Scope& scope);
  /// The elements of which something holds.
  ir::Ref selected(Scope& scope);
  /// How many elements go to each of some places, or which, or what they make together.
  ir::Ref grouped(Scope& scope);
  ir::Ref joined_at(Scope& scope, const ir::Ref& bins, const ir::Ref& places, const ir::Ref& a);
  /// Numbers as often as values say, or all but the first elements of an array as a vector.
  ir::Ref repeated(Scope& scope);
  /// What a step makes of a scalar of the state, from it and what is in the scope.
  ir::Ref next_count(const Scope& scope, const ir::Ref& state, ir::Primitive operation, int depth);
  /// A function of two arrays of a type that gives one of it.
  ir::Ref join_of_arrays(const Scope& scope, const ir::ArrayType& type);
  /// A small array of a type.
  ir::Ref nothing(const ir::ArrayType& type);
  static ir::Ref shorter(const ir::Ref& a);
  std::int64_t extent(int rank) { return std::min(dice_.extent(rank), longest_); }
  /// Extents of arrays that this program can afford, from constants, other arrays' extents, or values.
  ir::Ref shape(Scope& scope, int rank);
  ir::Ref generate(Scope& scope, const ir::Ref& extents);
  const ir::Ref& array(Scope& scope);
  /// An array of rank 1 or more.
  ir::Ref proper(Scope& scope);
  ir::Ref map(Scope& scope);
  /// Some computations of components of tuples, which nobody takes whole, and what is made of all of them.
  ir::Ref of_components(Scope& scope);
  /// Tuples that are put together, now and then of parts that are tuples.
  ir::Ref tuples(Scope& scope, const ir::Ref& from, const ir::Scalars& scalars);
  ir::Ref fold(Scope& scope);
  /// Two reductions of the same rows, by operators of any kind, and what is made of both.
  ir::Ref two_folds_of_one(Scope& scope);
  /// The prefixes of the rows, or what they end with.
  ir::Ref scan(Scope& scope);
  /// States along the rows, of any type; seldom printed to nowhere.
  ir::Ref scan_state(Scope& scope);
  /// Any index function at all, taken modulo the extents. Where there is nothing to read, nothing is read.
  ir::Ref gather(Scope& scope);
  /// A transposition, or all dimensions backwards: in range by construction.
  ir::Ref rearranged(Scope& scope);
  /// Elements of an array near each place, inside of its borders and beyond, and what is made of them.
  ir::Ref stencil(Scope& scope);
  /// At each of a few positions a fold of one row, which is shifted by the position.
  ir::Ref folds_of_shifted_rows(Scope& scope);
  /// A box whose corner and size are computed; now and then with a dimension given up or repeated.
  ir::Ref slice(Scope& scope);
  ir::Ref reshape(Scope& scope);
  /// What a body often does: reduce its item, and use the result at every element.
  ir::Ref scaled_by_own_sum(Scope& scope);

  Dice& dice_;
  const ProgramOptions& options_;
  std::int64_t longest_;
  RandomScalars scalars_;
  RandomSegments segments_;
  int within_segments_ = 0;
};

}  // namespace anabranch::testing
