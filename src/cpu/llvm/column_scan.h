#pragma once

#include "cpu/llvm/frame_vectors.h"
#include "cpu/llvm/scan_rows.h"

namespace anabranch::cpu {

/// Rows along an outer dimension: elements of one row are a row of the array apart, and those of neighbouring rows side
/// by side. The lanes of a vector are neighbouring rows, each scanned in the canonical order: a group's elements are 32
/// vectors. A tile of some vectors goes through its rows group by group, so that memory is read and written in
/// pieces of some cache lines, each once; carries, and the tree over the blocks of longer rows, are in the stack frame.
class ColumnScan {
 public:
  /// Whether the kernel has such rows: nothing may fail, since rows are computed together.
  static bool suits(const kernel::Kernel& kernel, const ScanRows& rows);

  ColumnScan(ScanRows& rows, const kernel::Kernel& kernel);

  /// The rows at [run.lo, run.hi) of the domain's innermost dimension.
  void scan(const Run& run);

 private:
  /// Elements [k, k + count) of each row: a group.
  struct Group {
    llvm::Value *k, *count;
    bool is_full;
  };

  llvm::Value* of_tree(llvm::Value* level, llvm::Value* vector);
  template <class Body>
  void each_vector(bool is_small, Body&& body);

  llvm::Value* column(llvm::Value* vector);
  template <class Code>
  Registers in_lanes(llvm::Value* vector, Code&& code);
  Registers elements(llvm::Value* k, llvm::Value* vector);
  llvm::Value* element_of(llvm::Value* number);
  llvm::Value* place(std::size_t output, llvm::Value* number, llvm::Value* vector);
  void prefetch_results(llvm::Value* number, llvm::Value* vector);
  void put_result(llvm::Value* number, llvm::Value* vector, const Registers& prefixes);
  template <class Code>
  void if_stored(llvm::Value* number, Code&& code);

  ScanRows::Parts prefixes_in_registers();
  void prefixes_in_memory(llvm::Value* count);
  void scan_group(const Group& of, llvm::Value* block, llvm::Value* vector);

  void begin_rows();
  void scan_block(llvm::Value* begin, llvm::Value* end);
  void next_carry(llvm::Value* number);
  void put_totals();
  void tile(llvm::Value* first, llvm::Value* end);
  void enter(const Run& run);

  ScanRows& r_;
  Frame& f_;
  llvm::IRBuilder<>& b_;
  const kernel::Kernel& kernel_;
  int width_;
  FrameVectors memory_;
  bool in_registers_;
  FrameVectors::Memory group_;  ///< a vector for each element of a group
  FrameVectors::Memory seed_, carry_, total_,
      tree_;  ///< a vector for each of the tile; `tree_`: for each level
  // Of the rows at hand.
  const Run* run_ = nullptr;
  llvm::Value *length_ = nullptr, *count_ = nullptr;  ///< elements, and results in outputs
  llvm::Value* ahead_ = nullptr;                      ///< columns that memory is fetched ahead
  std::vector<ScanRows::Place> places_;               ///< per output by elements: of the row at 0
  // Of the tile at hand: its rows, vectors, and those that are full.
  llvm::Value *first_ = nullptr, *end_ = nullptr, *vectors_ = nullptr, *whole_ = nullptr;
};

}  // namespace anabranch::cpu
