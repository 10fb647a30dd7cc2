#pragma once

#include "cpu/llvm/scan_rows.h"

namespace anabranch::cpu {

/// Rows of one group at most, of a stream, many at a time. Where the elements of neighbouring rows are
/// contiguous and depend on nothing of their row (kernel::is_flat_fold), they are computed and stored in
/// whole vectors, regardless of where rows begin. A byte for each element says which one of its row it is;
/// a step of the scan joins the lanes whose element has the one to its left in the same row.
class ShortScans {
 public:
  /// Whether the kernel has such rows, and the machine vectors for them.
  static bool suits(const kernel::Kernel& kernel, const ScanRows& rows);

  ShortScans(ScanRows& rows, const kernel::Kernel& kernel);

  /// Scans the rows from `item` on, up to `end`, to the first longer one, or as many as there is room for:
  /// gives the item behind them.
  llvm::Value* scan(llvm::Value* item, llvm::Value* end);

 private:
  using Parts = ScanRows::Parts;

  /// Elements that rows begin within, so that one byte for each, and each row's total, fit the first cache.
  static constexpr std::int64_t capacity = 1024;

  llvm::Value* offset(llvm::Value* row) const;
  void note_places(llvm::Value* item, llvm::Value* end);
  void scan_elements(llvm::Value* item, llvm::Value* end);
  void put_totals(llvm::Value* item);

  Parts history();
  Parts scan_group(llvm::Value* at, Parts lanes, Parts before, llvm::Value* count);
  std::vector<llvm::Value*> places_from(llvm::Value* at);
  llvm::Value* at_least(llvm::Value* places, int number);
  Parts step(const Parts& lanes, const Parts& before, const std::vector<llvm::Value*>& places, int by);
  Parts in_turn(const Parts& inclusive, const Parts& before, const std::vector<llvm::Value*>& places);
  std::size_t parts_before(int by) const;

  ScanRows& r_;
  const kernel::Kernel& kernel_;
  const kernel::KernelExtent& length_;
  int width_;
  std::size_t parts_;
  llvm::Value* places_;               ///< of elements in their rows: bytes
  llvm::Value* unknown_zero_;         ///< 0, which LLVM cannot know
  std::vector<llvm::Value*> totals_;  ///< inclusive prefixes, per component, where rows have totals
  llvm::Value *offsets_ = nullptr, *first_ = nullptr, *rows_ = nullptr, *elements_ = nullptr;
};

}  // namespace anabranch::cpu
