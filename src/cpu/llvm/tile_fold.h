#pragma once

#include "cpu/llvm/fold_rows.h"

namespace anabranch::cpu {

/// Rows of which neighbours along two dimensions read the same elements, as those of a product of matrices: the rows at
/// (i, j) and (i, j + 1) read row i of one matrix, those at (i, j) and (i + 1, j) column j of the other. A tile of
/// some i by some vectors of j is reduced at once, so that each element that is loaded serves several rows.
///
/// The canonical order's lanes are computed one after the other, each for the whole tile in registers, in the order in
/// which a counter tree joins them as halving does: 0, L/2, L/4, 3L/4, ...
class TileFold {
 public:
  TileFold(Rows& rows, const kernel::Kernel& kernel, const Machine& machine);
  static bool suits(const kernel::Kernel& kernel, Rows& rows);

  /// Of the domain's innermost dimension and of the one before it: rows and columns of results.
  std::int64_t least_rows() const { return rows_; }
  std::int64_t least_columns() const { return std::int64_t{vectors_} * width_; }

  /// All columns of the results' rows [lo, hi) of an item, whose first row is at `position` of the domain. There are at
  /// least so many rows and columns. `outer`: the index in the dimensions before. `length` >= 1.
  void reduce(std::span<llvm::Value* const> outer, llvm::Value* lo, llvm::Value* hi, llvm::Value* columns,
              llvm::Value* position, llvm::Value* length);

 private:
  using Tile = std::vector<Registers>;  ///< per vector, row after row

  std::vector<llvm::Value*> levels(std::uint64_t count);
  Tile get(const std::vector<llvm::Value*>& memory, llvm::Value* level);
  void put(const std::vector<llvm::Value*>& memory, llvm::Value* level, const Tile& tile);
  llvm::Value* cell(llvm::Value* memory, std::size_t c, llvm::Value* level, std::size_t vector);
  Registers flat(const Tile& tile) const;
  Tile tile_of(const Registers& all) const;

  Tile elements(llvm::Value* k);
  Tile join(const Tile& x, const Tile& y);
  Tile lane(llvm::Value* first, llvm::Value* end, llvm::Value* step);
  Tile block(llvm::Value* begin, llvm::Value* end);
  void push(const std::vector<llvm::Value*>& tree, llvm::Value* number, const Tile& tile);
  Tile total(const std::vector<llvm::Value*>& tree, llvm::Value* count);
  void compute(llvm::Value* position, llvm::Value* length);
  template <class Body>
  void each(llvm::Value* from, llvm::Value* to, std::int64_t step, const char* name, Body&& body);

  Rows& r_;
  Frame& f_;
  llvm::IRBuilder<>& b_;
  const kernel::Kernel& kernel_;
  int width_, rows_, vectors_;
  std::vector<llvm::Value*> lanes_, blocks_;        ///< counter trees, per component
  llvm::Value *row_ = nullptr, *column_ = nullptr;  ///< of the tile's first result
};

}  // namespace anabranch::cpu
