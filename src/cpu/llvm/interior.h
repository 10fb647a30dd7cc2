#pragma once

#include "cpu/llvm/emitter.h"
#include "ir/node_map.h"
#include "kernel/interior.h"

namespace anabranch::cpu {

/// The interior of a run of positions, and the code that finds out at run time where it is. What holds there is assumed
/// when that part is emitted (Emitter::assumed).
class Interior : public kernel::Interior {
 public:
  /// Levels of the kernel's parameters are known; `inner` is the innermost index. Whether rows are asked about, too.
  Interior(const Emitter& e, const Regions& regions, std::span<const ir::Ref> bodies, const ir::Node& inner,
           bool rows = false);

  struct Range {
    llvm::Value *lo, *hi;
    llvm::Value* known;  ///< one bit: else numbers are so large that nothing is said
  };
  /// The part of [lo, hi) that is inside, or of which the one comparison holds. Emitted at the level of a row.
  Range range(Emitter& e, llvm::Value* lo, llvm::Value* hi) const { return range(e, lo, hi, requirements()); }
  Range range_of_border(Emitter& e, llvm::Value* lo, llvm::Value* hi) const {
    return range(e, lo, hi, std::span(requirements()).first(1));
  }
  /// One bit: is the row inside of the borders along the other dimensions? Emitted at the level of a row.
  llvm::Value* row_is_inside(Emitter& e) const;
  /// Code for rows that are inside, from here on: what was computed for the row has the values that it has there.
  void enter_row(Emitter& e) const;

 private:
  using Known = ir::NodeMap<llvm::Value*>;  ///< at one inner index
  llvm::Value* at(Emitter& e, const ir::Node* node, llvm::Value* inner, Known& known) const;
  Range range(Emitter& e, llvm::Value* lo, llvm::Value* hi, std::span<const Requirement> requirements) const;
};

}  // namespace anabranch::cpu
