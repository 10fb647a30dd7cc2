#pragma once

#include "cpu/llvm/fold_rows.h"

/// Short rows of a stream, several at a time. Where the elements of neighbouring rows are contiguous and
/// depend on nothing of their row (kernel::is_flat_fold), they are computed in whole vectors, regardless of
/// where rows begin, into a buffer on the stack; if they are hardly computed at all, where they are joined.
/// Then as many rows as a vector has lanes are reduced side by side: each is loaded into a vector padded with
/// the identity, and the vectors' lanes are joined by halving as the order says, two vectors into one at each
/// step, until one vector holds a total for every row.
namespace anabranch::cpu {

class RowGroup {
 public:
  /// Whether the kernel has such rows, and the machine vectors for them.
  static bool suits(const kernel::Kernel& kernel, const Rows& rows);

  explicit RowGroup(Rows& rows, const kernel::Kernel& kernel);

  /// Looks at the next rows, from `item` on and at most up to `end`. Control goes to `together` if they are to be computed as
  /// a group, of `rows` rows; else to `apart`, where the value given says how many are to be reduced one by one before this
  /// is asked again.
  llvm::Value* look(llvm::Value* item, llvm::Value* end, llvm::BasicBlock* together, llvm::BasicBlock* apart);
  llvm::Value* rows() const { return rows_; }
  /// Computes and stores their totals, in `together`.
  void compute(llvm::Value* item);

 private:
  /// Longest row of a group: where one is longer, all of them are reduced one by one.
  static constexpr std::int64_t longest_row = 128;
  /// Vectors of rows whose elements are computed together, if they are not too many for the first cache.
  static constexpr std::int64_t vectors = 4;
  /// Elements of a row on average from which on, where they are hardly computed but read from elsewhere, storing them
  /// costs more than what is left of each row, which takes a vector of its own, and its end, which the processor does not
  /// foresee (measured: docs/notebook.md).
  static constexpr std::int64_t long_in_caches = 40, long_in_memory = 24;

  llvm::Type* offset_type() const;
  llvm::Value* offset(llvm::Value* row) const;
  llvm::Value* lengths_from(llvm::Value* row) const;
  llvm::Value* any_above(llvm::Value* lengths, std::int64_t most) const;
  llvm::Value* are_long(llvm::Value* total);
  llvm::Value* are_short(llvm::Value* left);
  /// Of one row.
  struct Start {
    llvm::Value* element = nullptr;  ///< counted from the group's first one
    Registers in_buffers;
  };

  void compute_elements();
  void compute_each_element();
  std::vector<Start> starts_of_rows();
  std::vector<llvm::Value*> lengths_less_lane();
  Registers load(const Start& start, llvm::Value* at, llvm::Value* present);
  Registers totals();
  std::vector<Registers> lanes_of_short(const std::vector<Start>& starts);
  std::vector<Registers> lanes_side_by_side(const std::vector<Start>& starts, llvm::Value* longest);
  std::vector<Registers> lanes_row_by_row(const std::vector<Start>& starts, llvm::Value* longest);

  Rows& r_;
  const kernel::Kernel& kernel_;
  const kernel::KernelExtent& length_;
  int width_;
  std::int64_t capacity_;              ///< elements
  bool in_place_;                      ///< elements are computed where they are joined, not into buffers
  std::vector<llvm::Value*> buffers_;  ///< of elements, per component
  llvm::Value* lengths_;               ///< of the rows, in memory, int64
  llvm::Value *rows_ = nullptr, *offsets_ = nullptr, *first_ = nullptr, *total_ = nullptr;
  llvm::Value* row_ = nullptr;  ///< the first one of the current vector
};

}  // namespace anabranch::cpu
