#pragma once

#include "cpu/llvm/fold_rows.h"
#include "cpu/llvm/frame_vectors.h"

namespace anabranch::cpu {

/// Rows that lie across: elements of one row are a row of the array apart, and those of neighbouring rows side by side,
/// as in a sum along an outer dimension. Some vectors of rows are reduced side by side, each in the canonical order:
/// their lanes of the order are vectors in the stack frame.
class ColumnFold {
 public:
  ColumnFold(Rows& rows, const kernel::Kernel& kernel);

  /// The rows at [run.lo, run.hi) of the domain's innermost dimension, of `length` >= 1 elements each.
  void reduce(const Run& run, llvm::Value* length);
  /// Blocks [begin, end) of these rows: the results of the row at position `first` begin at `partials`, and those of each row
  /// behind those of all blocks of the one before it.
  void reduce_blocks(const Run& run, llvm::Value* length, llvm::Value* begin, llvm::Value* end,
                     llvm::Value* partials, llvm::Value* first);

 private:
  /// Vectors of rows that are reduced at once: as many as the lines of memory that one row of the array gives are worth
  /// reading together.
  static constexpr int vectors = 4;

  Registers get(const FrameVectors::Memory& memory, llvm::Value* line, llvm::Value* vector);
  void put(const FrameVectors::Memory& memory, llvm::Value* line, llvm::Value* vector,
           const Registers& values);
  template <class Body>
  void each_vector(Body&& body);
  template <class Body>
  void each_tile(const Run& run, Body&& body);
  void tile(const Run& run, llvm::Value* length);
  llvm::Value* blocks_of(llvm::Value* length);
  void block_of(llvm::Value* number, llvm::Value* length);
  Registers first_line(llvm::Value* column);
  llvm::Value* column(llvm::Value* vector);
  llvm::Value* present(llvm::Value* vector);
  Registers elements(llvm::Value* k, llvm::Value* vector);
  Registers join(llvm::Value* vector, const Registers& x, const Registers& y);
  void block(llvm::Value* begin, llvm::Value* end);
  void join_earlier(llvm::Value* number);
  void joined_blocks(llvm::Value* count);

  Rows& r_;
  Frame& f_;
  llvm::IRBuilder<>& b_;
  const kernel::Kernel& kernel_;
  int width_;
  FrameVectors memory_;
  FrameVectors::Memory lanes_, tree_;  ///< lines of `vectors` vectors
  // Of the rows at hand, along the innermost dimension; whether they fill all vectors.
  llvm::Value *first_ = nullptr, *end_ = nullptr;
  bool full_ = false;
};

}  // namespace anabranch::cpu
