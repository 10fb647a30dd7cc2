#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/staged.h"

/// Delayed arrays as scalar code: the element of an array computation at a position, with every producer that
/// is not manifest inlined. The result reads manifest arrays only.
namespace anabranch::plan {

class Expander {
 public:
  explicit Expander(const ir::Staged& staged) : staged_(staged) {}

  /// Element of `array` at `ix`, which is in range by construction. A manifest array, or the result of a fold, scan or
  /// recurrence, is simply read.
  ir::Ref element(const ir::Ref& array, std::span<const ir::Ref> ix);
  /// The same for the array's own definition, even if it is manifest: what its kernel computes.
  ir::Ref definition(const ir::Ref& array, std::span<const ir::Ref> ix);
  /// Scalar code whose reads of delayed arrays are inlined.
  ir::Ref inline_reads(const ir::Ref& scalar);

 private:
  ir::Ref element_linear(const ir::Ref& array, const ir::Ref& position);
  /// Or what a kernel gives to its epilogue.
  bool stored(const ir::Ref& array) const {
    return staged_.is_manifest(array.get()) ||
           ir::info(ir::maker_of(*array).op()).storage == ir::Storage::stored;
  }

  const ir::Staged& staged_;
  std::map<std::vector<const ir::Node*>, ir::Ref> known_;
  std::vector<ir::Ref> kept_;
};

}  // namespace anabranch::plan
