#pragma once

#include "cpu/llvm/fold_rows.h"

/// Short rows of one length, as many at a time as a vector has lanes: each is a vector of lanes, without masks but for what
/// is left of whole vectors, and one transposed reduction serves them all.
namespace anabranch::cpu {

class EqualRows {
 public:
  /// Are the rows of one length, their elements contiguous and hardly computed, and more than one of them?
  static bool suits(const kernel::Kernel& kernel, const Rows& rows);

  explicit EqualRows(Rows& rows);

  /// One bit: are rows of this length reduced here?
  llvm::Value* are_short(llvm::Value* length) const;
  /// Reduces rows from position `begin` on, as long as there are enough of them before `end`; where those begin that are
  /// left. `scratch`: the entry's.
  llvm::Value* reduce(llvm::Value* begin, llvm::Value* end, llvm::Value* length, llvm::Value* scratch);

 private:
  using Lanes = std::vector<Registers>;  ///< part after part of the order's lanes, row after row

  void group(llvm::Value* position, llvm::Value* length, llvm::Value* scratch);
  Lanes lanes_of(const Registers& all) const;
  Registers flat(const Lanes& lanes) const;
  template <class Elements>
  Lanes joined(Lanes lanes, llvm::Value* from, llvm::Value* length, Elements&& elements);

  Rows& r_;
  Frame& f_;
  llvm::IRBuilder<>& b_;
  int width_;
  std::size_t parts_;
};

}  // namespace anabranch::cpu
