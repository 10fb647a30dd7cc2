#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/llvm/interior.h"
#include "cpu/llvm/skeleton.h"
#include "kernel/access.h"

/// The map skeleton: every output position is computed on its own. The lanes of a vector are neighbours in
/// the output: flat positions where the shape does not matter, items where an item is one element, else the
/// innermost dimension, or the one before it where that is short.
namespace anabranch::cpu {

class Map {
 public:
  Map(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine);

  void emit();

 private:
  using Kind = kernel::Lanes::Kind;
  using Enter = std::function<void(const Value&)>;

  struct RowInside {
    const Interior& interior;
    llvm::Value* is_inside;  ///< one bit
  };
  /// What holds in a part of a run.
  struct Inside {
    const Assumed* assumed = nullptr;  ///< of each position
    /// Some rows are inside, of which more is known. If there is one copy of the code, all are that come here.
    std::optional<RowInside> row = std::nullopt;
  };

  bool is_large() const;
  void enter_item_zero() { enter_item(e_, kernel_, e_.uniform(f_.number(0))); }
  void rows(llvm::Value* begin, llvm::Value* end, llvm::Value* scratch);
  std::int64_t unrolled(const Interior& interior) const;
  void whole_or_part(const Run& run, std::int64_t vectors);
  void one_run(const Run& run, const Interior& interior);
  void vector_loop(llvm::Value* lo, llvm::Value* hi, llvm::Value* position, const Enter& enter, bool one_copy,
                   const Inside& inside);
  /// The kernel's values at what is bound, component after component.
  Values values() const;
  void store(const Value& position) { store(position, values()); }
  void store(const Value& position, const Values& values);

  // map_blocks.cpp: some rows at a time. Such maps cannot fail.
  /// Rows [`first`, `behind`) of all items that hold some of the positions, and what is the same in each of these.
  struct Inner {
    std::vector<Value> extents;
    std::vector<Value> outer_extents;
    llvm::Value* size;     ///< positions of the inner dimensions
    llvm::Value* of_item;  ///< how many of these there are in an item
    llvm::Value *first, *behind;
  };
  Inner inner_of(llvm::Value* begin, llvm::Value* end, std::size_t dimensions);
  void enter_inner(const Inner& inner, llvm::Value* number);
  llvm::Value* lesser(llvm::Value* x, llvm::Value* y);
  llvm::Value* greater(llvm::Value* x, llvm::Value* y);
  void tiles(llvm::Value* begin, llvm::Value* end);

  /// Positions [first, second) of a block.
  using Range = std::pair<llvm::Value*, llvm::Value*>;
  /// Per position along the short dimension.
  using Together = std::vector<Values>;
  bool computes_together();
  bool columns_are_short() const { return short_.dimension > along_.dimension; }
  void blocks(llvm::Value* begin, llvm::Value* end);
  void rows_of_block(llvm::Value* start, llvm::Value* length, Range range);
  void vectors_together(llvm::Value* lo, llvm::Value* hi,
                        const std::function<void(llvm::Value* i, const Together&)>& store);
  Range rows_together(llvm::Value* start, llvm::Value* length, llvm::Value* size, Range range);
  Range columns_together(llvm::Value* start, Range range);
  void store_columns(llvm::Value* position, const Together& columns);

  const kernel::Kernel& kernel_;
  const kernel::Lanes along_;
  const kernel::Lanes::Together short_;  ///< of one position: there is no such dimension
  llvm::Type* types_[3];
  Frame f_;
  Emitter e_;
  Regions regions_;
  int lanes_ = 1;
  llvm::Value* bias_ = nullptr;
};

}  // namespace anabranch::cpu
