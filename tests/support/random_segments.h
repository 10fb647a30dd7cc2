#pragma once

#include "support/random_scalars.h"

/// Random segments of vectors, made as from_segments makes them (anabranch/segments.h).
namespace anabranch::testing {

/// Vectors of as many elements as segments have together, and where they are cut.
struct CutVectors {
  ir::Ref lengths, begins;  ///< of the segments
  ir::Ref total;            ///< of all segments; no size of a vector where a length is negative
  int width = 1;            ///< elements of a vector for each of a segment
  std::vector<ir::Ref> vectors;
  bool checked = false;  ///< parts are those of reshaped vectors, whose size is compared with the total
};

class RandomSegments {
 public:
  RandomSegments(Dice& dice, const ProgramOptions& options, RandomScalars& scalars)
      : dice_(dice), options_(options), scalars_(scalars) {}

  /// At most `most` segments, of vectors that are computed from arrays of the scope; one of them may be `from`, which has
  /// elements of some rank. Where programs may fail the lengths may be wrong.
  CutVectors cut(Scope& scope, const ir::Ref& from, int most);
  /// Segment number i of one of the vectors: in a sequence each begins where the one before ends.
  ir::Ref segment(const CutVectors& cut, const ir::Ref& i);
  /// Elements that lie elsewhere, in other segments.
  ir::Ref other_part(const CutVectors& cut, const ir::Ref& i);
  /// Some of both.
  std::vector<ir::Ref> some(const CutVectors& cut, const ir::Ref& i);

 private:
  ir::Ref lengths(Scope& scope, const ir::Ref& from, int most);
  ir::Ref lengths_within(Scope& scope, const ir::Ref& from, const ir::Ref& size, int most);
  ir::Ref wrong(const ir::Ref& lengths);
  void add_vectors(Scope& scope, CutVectors& cut, const ir::Ref& size, const ir::Ref& lengths);
  ir::Ref vector(Scope& scope, const ir::Ref& size, const ir::Scalars& scalars);
  ir::Ref spread(Scope& scope, const ir::Ref& total, const ir::Ref& lengths, const ir::Scalars& scalars);
  ir::Ref numbers(Scope& scope, const ir::Ref& from);
  ir::Ref whole(const CutVectors& cut);
  ir::Ref shape(const ir::Ref& length, int width);

  Dice& dice_;
  const ProgramOptions& options_;
  RandomScalars& scalars_;
};

}  // namespace anabranch::testing
