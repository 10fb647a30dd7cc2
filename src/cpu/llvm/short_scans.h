#pragma once

#include "cpu/llvm/scan_rows.h"

namespace anabranch::cpu {

/// Rows of one group at most, of a stream, many at a time. Where the elements of neighbouring rows are
/// contiguous and depend on nothing of their row (kernel::is_flat_fold), they are computed and stored in
/// whole vectors, regardless of where rows begin. A byte for each element says which one of its row it is;
/// a step of the scan joins the lanes whose element has the one to its left in the same row. From the right the last
/// row's last element is the first. All prefixes, of which rows have one more than elements, are copied from memory row
/// by row.
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
  void find_rows(llvm::Value* item, llvm::Value* end);
  void note_row(llvm::Value* at);
  void note_places_backwards();
  void scan_elements(llvm::Value* item);
  void put_totals(llvm::Value* item);
  void put_rows(llvm::Value* item);
  void put_row(llvm::Value* from, llvm::Value* count, std::span<llvm::Value* const> to,
               std::span<llvm::Value* const> ends);
  void keep(llvm::Value* at, const Parts& lanes);
  llvm::Value* place_kept(std::size_t c, llvm::Value* element) const;
  Registers get_kept(llvm::Value* element, int width);
  bool all_prefixes() const { return r_.has(Prefixes::all); }

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
  llvm::Value* places_;        ///< of elements in their rows, in the order of the scan: bytes
  llvm::Value* unknown_zero_;  ///< 0, which LLVM cannot know
  /// Inclusive prefixes, per component, where rows have totals or all prefixes: in the order of the elements, behind room
  /// for a group.
  std::vector<llvm::Value*> kept_;
  llvm::Value *offsets_ = nullptr, *first_ = nullptr, *rows_ = nullptr, *elements_ = nullptr;
  llvm::Value* scanned_ =
      nullptr;  ///< elements that are scanned: from the right the last of them is the first
};

}  // namespace anabranch::cpu
