#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "cpu/llvm/skeleton.h"
#include "ir/views.h"
#include "kernel/pointwise.h"

namespace anabranch::cpu {

using Registers = std::vector<llvm::Value*>;  ///< one per component: scalars, or vectors of lanes

/// One function of the image in which the elements of rows are computed, for one row at a time: what forms of
/// kernels with rows share.
class RowCode {
 public:
  RowCode(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> types, bool entry,
          const kernel::Kernel& kernel, const Machine& machine)
      : f(module, name, types, entry, machine),
        e(f, kernel, machine),
        b(f.b),
        kernel_(kernel),
        row_(*kernel::row_of(kernel)),
        body_(kernel.body),
        stores_flat_(
            !std::holds_alternative<kernel::Reduce>(kernel.form) ? false : kernel::has_flat_epilogue(kernel)),
        epilogue_(kernel.epilogue.body,
                  stores_flat_
                      ? [&kernel](const ir::Node& node) { return kernel::is_pointwise(kernel, node); }
                      : std::function<bool(const ir::Node&)>()),
        types_(kernel::result_types(kernel)),
        stored_types_(kernel::stored_types(kernel)) {
    enter_launch(e, kernel);
    // What cannot fail is computed once even where rows may all be empty.
    e.emit_certain(body_, Level::launch);
  }

  Frame f;
  Emitter e;
  llvm::IRBuilder<>& b;

  std::size_t components() const { return types_.size(); }
  ScalarType type(std::size_t c) const { return types_[c]; }
  ScalarType stored_type(std::size_t c) const { return stored_types_[c]; }
  /// Are results of neighbouring positions stored together?
  bool stores_flat() const { return stores_flat_; }
  bool has_epilogue() const { return !kernel_.epilogue.body.empty(); }

  /// Binds item and index of a row.
  void enter(llvm::Value* item, std::span<llvm::Value* const> index) {
    enter_item(e, kernel_, e.uniform(item));
    bind_index(index);
  }
  void bind_index(std::span<llvm::Value* const> index) {
    for (std::size_t d = 0; d < index.size(); ++d) e.bind(*kernel_.index[d], {e.uniform(index[d])});
  }
  /// For a row given by its position: its index, which is bound, too.
  std::vector<llvm::Value*> enter(llvm::Value* item, llvm::Value* position) {
    const ItemPart positions = e.part(kernel_.domain, e.uniform(item));
    llvm::Value* start = kernel_.domain.over_items ? item_start(e, kernel_, positions) : f.number(0);
    auto index = decode(e, positions.extents, b.CreateSub(position, start));
    enter(item, index);
    return index;
  }
  llvm::Value* length(llvm::Value* item) { return e.extent(row_.length, e.uniform(item)).v; }

  /// Returns from an entry that is called with no position.
  void return_if_none(llvm::Value* begin, llvm::Value* end) {
    llvm::BasicBlock *some = f.block("some"), *none = f.block("none");
    b.CreateCondBr(b.CreateICmpSLT(begin, end), some, none);
    b.SetInsertPoint(none);
    b.CreateRetVoid();
    b.SetInsertPoint(some);
  }

  /// The item that holds position `begin`, of an entry that is called with this Scratch.
  llvm::Value* first_item(llvm::Value* begin, llvm::Value* scratch) {
    if (kernel_.domain.form == kernel::Form::segmented)
      return scratch_field(f, scratch, offsetof(Scratch, first_item), f.i64());
    if (!kernel_.domain.over_items) return f.number(0);
    llvm::Value* size = f.number(1);
    for (const Value& extent : e.part(kernel_.domain, e.uniform(f.number(0))).extents)
      size = b.CreateMul(size, extent.v);
    return kernel_.domain.extents.empty() ? begin : b.CreateUDiv(begin, size);
  }

  /// Whether these values of the region are the same for all rows.
  bool same_for_all_rows(const Regions& regions, const std::vector<ir::Ref>& values) const {
    const auto is_known = [&](const ir::Node& node) { return e.level_of(node) == Level::launch; };
    return std::all_of(regions[0].nodes.begin(), regions[0].nodes.end(),
                       [&](const ir::Node* node) { return is_known(*node); }) &&
           // A value may be a parameter, which no region has.
           std::all_of(values.begin(), values.end(), [&](const ir::Ref& value) { return is_known(*value); });
  }

  /// What all elements of the row share. Only where the row has an element.
  void emit_row() {
    for (const Level level : {Level::launch, Level::item, Level::row}) e.emit_level(body_, level);
  }

  /// What differs from element to element, where element and row have been bound.
  void emit_elements() { e.emit_level(body_, Level::lane); }

  /// Where the body waits for reads at computed positions, the processor's own prefetching falls behind.
  bool falls_behind() const { return reads_anywhere() && !computes_much(); }
  bool prefetches = true;  ///< `elements` does where that is so

  void emit_above_rows() {
    for (const Level level : {Level::launch, Level::item}) e.emit_level(body_, level);
  }
  /// The body's values, where row and element have been bound to anything.
  Registers body_values() {
    for (const Level level : {Level::row, Level::lane}) e.emit_level(body_, level);
    Registers out;
    for (const auto& root : kernel_.body) out.push_back(e.lanes(e.value(root)));
    return out;
  }

  /// Whether the body is so large that a few more instructions per row or round do not matter, but a second
  /// copy of it does.
  bool computes_much() const { return body_[0].cost > 32; }

  /// Bodies that read at computed positions, or compute much, are emitted once, as moves between registers or
  /// to the stack do not matter beside them, and the code is a quarter of the size.
  bool body_is_large() const { return reads_anywhere() || computes_much(); }

  /// Bodies of which a copy for each of a dozen vectors is no harm.
  bool costs_little() const { return body_[0].cost <= 16; }

  /// Bodies that only read what lies along the row, and hardly compute.
  bool body_is_small() const { return !reads_anywhere() && body_[0].cost <= 8 && has_wide_types(); }
  /// Masked vectors of narrower elements take many instructions.
  bool has_wide_types() const {
    return std::all_of(types_.begin(), types_.end(), [](ScalarType type) { return size_of(type) >= 4; });
  }

  /// Elements k, k + step, ..., one for each lane.
  Registers elements(llvm::Value* k, int width, std::int64_t step = 1) {
    const int outside = std::exchange(e.width, width);
    if (width > 1 && prefetches && falls_behind()) e.ahead = f.ahead();
    const auto here = e.mark();
    e.bind(*row_.index, {e.affine(k, step)});
    e.emit_level(body_, Level::lane);
    Registers out;
    for (const auto& root : kernel_.body) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    e.ahead = nullptr;
    e.width = outside;
    return out;
  }

  /// A phi of x and y, by the block that control came from.
  Registers merge(const Registers& x, llvm::BasicBlock* x_end, const Registers& y, llvm::BasicBlock* y_end) {
    Registers out;
    for (std::size_t c = 0; c < x.size(); ++c) {
      llvm::PHINode* phi = b.CreatePHI(x[c]->getType(), 2);
      phi->addIncoming(x[c], x_end);
      phi->addIncoming(y[c], y_end);
      out.push_back(phi);
    }
    return out;
  }

  /// The mask of the first `count` lanes, count >= 0.
  llvm::Value* first_lanes(llvm::Value* count, int width) { return lanes_below(count, nullptr, width); }
  /// The mask of the lanes j with from + j < count. `from` null: 0.
  llvm::Value* lanes_below(llvm::Value* count, llvm::Value* from, int width) {
    llvm::Value* lanes = lane_numbers(width);
    if (from) lanes = b.CreateAdd(lanes, splat(from, lanes->getType()));
    return b.CreateICmpSLT(lanes, splat(count, lanes->getType()));
  }
  /// 0, 1, ... in integers as wide as the elements, so that masks come from comparisons of such registers.
  llvm::Value* lane_numbers(int width) {
    std::size_t bytes = 4;
    for (const ScalarType type : types_) bytes = std::max(bytes, size_of(type));
    std::vector<llvm::Constant*> numbers;
    for (int lane = 0; lane < width; ++lane)
      numbers.push_back(llvm::ConstantInt::get(b.getIntNTy(static_cast<unsigned>(8 * bytes)),
                                               static_cast<std::uint64_t>(lane)));
    return llvm::ConstantVector::get(numbers);
  }
  /// An int64 in every lane, in a vector type of lane_numbers.
  llvm::Value* splat(llvm::Value* v, llvm::Type* type) {
    const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
    return b.CreateVectorSplat(vector->getElementCount(), b.CreateTrunc(v, vector->getElementType()));
  }

  /// What outputs may store of these results, for as many lanes as they have; position, and element if that is what they
  /// are of, have been bound.
  Registers stored(const Registers& results) {
    if (!has_epilogue()) return results;
    const int outside = std::exchange(e.width, width_of(results[0]));
    const auto here = e.mark();
    for (std::size_t c = 0; c < components(); ++c) {
      const bool one = e.width == 1;
      e.bind(*kernel_.epilogue.results[c], {one ? e.uniform(results[c]) : e.varying(results[c])});
    }
    e.emit_region(epilogue_, 0);
    Registers out;
    for (const auto& root : kernel_.epilogue.body) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    e.width = outside;
    return out;
  }
  /// The same where the kernel stores for each position, and the lanes are the positions from this one on. Several lanes:
  /// only if it stores flat.
  Registers stored_at(const Registers& results, llvm::Value* position) {
    if (!has_epilogue() || !stores_flat_) return stored(results);
    const auto here = e.mark();
    const int outside = std::exchange(e.width, width_of(results[0]));
    const Value at = e.width == 1 ? e.uniform(position) : e.affine(position, 1);
    if (kernel_.domain.extents.empty() && kernel_.domain.over_items) bind_scalars(e, kernel_, at);
    e.flat_position = e.add(at, e.uniform(output_bias(e, kernel_)));
    e.is_pointwise = [this](const ir::Node& node) { return kernel::is_pointwise(kernel_, node); };
    e.width = outside;
    Registers out = stored(results);
    e.is_pointwise = nullptr;
    e.undo(here);
    return out;
  }

  // Partial results: one cell of eight bytes per component.
  llvm::Value* cell(llvm::Value* cells, llvm::Value* block, std::size_t c) {
    llvm::Value* i = b.CreateAdd(b.CreateMul(block, f.number(static_cast<std::int64_t>(components()))),
                                 f.number(static_cast<std::int64_t>(c)));
    return f.element(f.i64(), cells, i);
  }
  void put(llvm::Value* cells, llvm::Value* block, const Registers& values) {
    for (std::size_t c = 0; c < components(); ++c)
      b.CreateAlignedStore(e.to_memory(types_[c], values[c]), cell(cells, block, c), llvm::Align(8));
  }
  Registers get(llvm::Value* cells, llvm::Value* block) {
    Registers out;
    for (std::size_t c = 0; c < components(); ++c) {
      llvm::Value* v =
          b.CreateAlignedLoad(e.memory_type_of(types_[c]), cell(cells, block, c), llvm::Align(8));
      out.push_back(e.from_memory(types_[c], v));
    }
    return out;
  }
  llvm::Value* cells(std::int64_t blocks) {
    return f.local(f.i64(), static_cast<std::uint64_t>(blocks) * components());
  }

  static int lanes_in(llvm::Value* v) {
    return static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements());
  }
  static int width_of(llvm::Value* v) { return v->getType()->isVectorTy() ? lanes_in(v) : 1; }

 protected:
  /// Whether the body reads at other positions than along the row.
  bool reads_anywhere() const {
    for (const ir::Node* node : body_[0].nodes)
      if (is_read(node->op()) && !node->payload().in_bounds) return true;
    return false;
  }

  /// Some results of an operator whose operands these parameters are.
  Registers apply(const Regions& regions, const std::vector<ir::Ref>& left, const std::vector<ir::Ref>& right,
                  const std::vector<ir::Ref>& results, const Registers& x, const Registers& y) {
    const int outside = std::exchange(e.width, width_of(x[0]));
    const auto here = e.mark();
    for (std::size_t c = 0; c < components(); ++c) {
      e.bind(*left[c], {e.varying(x[c])});
      e.bind(*right[c], {e.varying(y[c])});
    }
    e.emit_region(regions, 0);
    Registers out;
    for (const auto& root : results) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    e.width = outside;
    return out;
  }

  /// Values of bodies over what the row's position binds.
  Registers scalars(const Regions& regions, const std::vector<ir::Ref>& roots) {
    const auto here = e.mark();
    e.emit_region(regions, 0);
    Registers out;
    for (const auto& root : roots) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    return out;
  }

  const kernel::Kernel& kernel_;
  const kernel::Row& row_;
  Regions body_;
  bool stores_flat_;
  Regions epilogue_;
  std::vector<ScalarType> types_, stored_types_;
};

}  // namespace anabranch::cpu
