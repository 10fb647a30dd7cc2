#pragma once

#include "support/functions.h"
#include "support/random_program.h"
#include "support/random_values.h"

/// Random scalar expressions.
namespace anabranch::testing {

/// What an expression may mention.
struct Scope {
  std::vector<ir::Ref> elements;
  std::vector<ir::Ref> arrays;
  int loops = 0;  ///< how many while loops we are in
};

class RandomScalars {
 public:
  RandomScalars(Dice& dice, const ProgramOptions& options) : dice_(dice), options_(options) {}

  /// An expression of that type. What it makes on the way
  /// is added to the scope, so that terms come to be shared.
  ir::Ref scalar(Scope& scope, ScalarType type, int depth);
  ir::Ref element(Scope& scope, const ir::Scalars& scalars, int depth);
  /// 0 to extent - 1; 0 where the extent is 0.
  ir::Ref position(Scope& scope, const ir::Ref& extent, int depth);
  /// An index that is in range wherever the array has elements.
  ir::Ref index_of(Scope& scope, const ir::Ref& array, int depth);
  /// An element of an array, or of zeros where it has none.
  ir::Ref read(Scope& scope, const ir::Ref& array, int depth);
  /// The same near an index of the scope.
  ir::Ref read_near(Scope& scope, const ir::Ref& array) { return read_within(scope, array, true, 0); }
  ir::Ref size(const ir::Ref& array);

  ir::Ref function(const Scope& outer, const std::vector<ir::Scalars>& parameters, const ir::Scalars& result,
                   int depth);
  /// Of a fold: commutative, or any function at all.
  ir::Ref join(const Scope& outer, const ir::Scalars& scalars);

 private:
  ir::Ref near_index(Scope& scope, const ir::Ref& extent, int depth);
  ir::Ref read_within(Scope& scope, const ir::Ref& array, bool near, int depth);
  ir::Ref leaf(Scope& scope, ScalarType type);
  ir::Ref converted(Scope& scope, ScalarType type, int depth);
  ir::Ref arithmetic(Scope& scope, ScalarType type, int depth);
  ir::Ref boolean(Scope& scope, int depth);
  ir::Ref integer(Scope& scope, ScalarType type, int depth);
  ir::Ref real(Scope& scope, ScalarType type, int depth);
  ir::Ref loop(Scope& scope, ScalarType type, int depth);
  ir::Ref zero(ScalarType type) { return ir::constant(type, 0); }
  ir::Ref small_divisor(Scope& scope, ScalarType type, int depth);

  Dice& dice_;
  const ProgramOptions& options_;
};

}  // namespace anabranch::testing
