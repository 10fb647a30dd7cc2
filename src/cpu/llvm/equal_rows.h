#pragma once

#include <functional>

#include "cpu/llvm/fold_rows.h"

/// Short rows of one length, as many at a time as a vector has lanes: each is a vector of lanes, without masks but for what
/// is left of whole vectors, and one transposed reduction serves them all. Their elements are hardly computed, and lie one
/// row behind the other, or each row's wherever its position says.
namespace anabranch::cpu {

class EqualRows {
 public:
  /// Are there several rows, which lie behind each other?
  static bool suits(const kernel::Kernel& kernel, const Rows& rows);
  /// Or several along a dimension, the elements of each contiguous?
  static bool suits_apart(const kernel::Kernel& kernel, const Rows& rows);

  explicit EqualRows(Rows& rows);

  /// One bit: are rows of this length reduced here?
  llvm::Value* are_short(llvm::Value* length) const;
  /// Reduces rows from position `begin` on, as long as there are enough of them before `end`; where those begin that are
  /// left. `scratch`: the entry's.
  llvm::Value* reduce(llvm::Value* begin, llvm::Value* end, llvm::Value* length, llvm::Value* scratch);
  /// The same of a run of rows that lie apart; where in the run those begin that are left. Where one fails it is left, and
  /// those behind it.
  llvm::Value* reduce_apart(const Run& run, llvm::Value* length);

 private:
  using Lanes = std::vector<Registers>;  ///< part after part of the order's lanes, row after row

  /// Elements of row `row` of the group, a vector of them from this one on; some of them where a mask says which.
  using Elements = std::function<Registers(int row, llvm::Value* from, llvm::Value* present)>;

  static bool has_short_rows(const kernel::Kernel& kernel, const Rows& rows);
  Registers group(llvm::Value* length, const Elements& elements);
  Lanes lanes_of(const Registers& all) const;
  Registers flat(const Lanes& lanes) const;
  Lanes joined(Lanes lanes, llvm::Value* from, llvm::Value* left, const Elements& elements);

  Rows& r_;
  Frame& f_;
  llvm::IRBuilder<>& b_;
  int width_;
  std::size_t parts_;
};

}  // namespace anabranch::cpu
