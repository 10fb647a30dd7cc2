#include "cpu/llvm/skeleton.h"

#include <cstddef>
#include <optional>

#include "cpu/llvm/interior.h"
#include "kernel/access.h"
#include "kernel/pointwise.h"

/// The map skeleton: every output position is computed on its own. The lanes of a vector are neighbours in
/// the output: flat positions where the shape does not matter, items where an item is one element, else the
/// innermost dimension.
namespace anabranch::cpu {
namespace {

/// Bodies costlier than this are emitted once, always under a mask, instead of twice.
constexpr std::int64_t one_copy_cost = 400;

class Map {
  using Kind = kernel::Lanes::Kind;

 public:
  Map(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine)
      : kernel_(kernel),
        types_{llvm::Type::getInt64Ty(module.getContext()), llvm::Type::getInt64Ty(module.getContext()),
               llvm::PointerType::getUnqual(module.getContext())},
        f_(module, "entry0", types_, true, machine),
        e_(f_, kernel, machine),
        kind_(kernel::lanes_of(kernel).kind),
        regions_(kernel.body, kind_ == Kind::positions
                                  ? std::function<bool(const ir::Node&)>([&](const ir::Node& node) {
                                      return kernel::is_pointwise(kernel, node);
                                    })
                                  : nullptr) {
    lanes_ = machine.forced_lanes ? machine.forced_lanes
                                  : std::min(64, suitable_lanes(kernel.body, machine) *
                                                     registers_side_by_side(kernel.body, machine));
    if (kind_ == Kind::alone) lanes_ = 1;
  }

  void emit() {
    auto& b = f_.b;
    llvm::Value* begin = f_.parameter(0);
    llvm::Value* end = f_.parameter(1);
    llvm::Value* scratch = f_.parameter(2);
    llvm::BasicBlock* some = f_.block("some");
    llvm::BasicBlock* none = f_.block("none");
    b.CreateCondBr(b.CreateICmpSLT(begin, end), some, none);
    b.SetInsertPoint(none);
    b.CreateRetVoid();
    b.SetInsertPoint(some);
    enter_launch(e_, kernel_);
    bias_ = output_bias(e_, kernel_);
    if (kind_ == Kind::positions) {
      for (const auto& index : kernel_.index) e_.set_level(*index, Level::lane);
      e_.is_pointwise = [this](const ir::Node& node) { return kernel::is_pointwise(kernel_, node); };
      // Buffers are addressed from the chunk's first element here, not item by item.
      enter_item_zero();
      e_.emit_level(regions_, Level::launch);
      vector_loop(begin, end, begin,
                  [&](const Value& position) { e_.flat_position = e_.add(position, e_.uniform(bias_)); },
                  is_large(), {});
    } else if (kind_ == Kind::items) {
      for (const auto& array : kernel_.arrays)
        if (array.form != kernel::Form::avoided) e_.set_level(*array.parameter, Level::lane);
      for (const auto& scalar : kernel_.scalars)
        if (scalar.value.kind == kernel::KernelExtent::Kind::per_item ||
            scalar.value.kind == kernel::KernelExtent::Kind::ragged)
          e_.set_level(*scalar.parameter, Level::lane);
      e_.emit_level(regions_, Level::launch);
      vector_loop(begin, end, begin, [&](const Value& item) { enter_item(e_, kernel_, item); }, is_large(),
                  {});
    } else if (kind_ == Kind::alone) {
      e_.emit_region(regions_, 0);
      store(e_.uniform(begin));
    } else if (kernel::reads_across(kernel_)) {
      tiles(begin, end);
    } else {
      rows(begin, end, scratch);
    }
    b.CreateRetVoid();
    f_.finish();
  }

 private:
  void enter_item_zero() { enter_item(e_, kernel_, e_.uniform(f_.number(0))); }

  /// A vector of each of some rows, then the next one: for maps that read across.
  void tiles(llvm::Value* begin, llvm::Value* end) {
    auto& b = f_.b;
    e_.emit_level(regions_, Level::launch);
    const auto extents = e_.part(kernel_.domain, e_.uniform(f_.number(0))).extents;
    llvm::Value *length = extents.back().v, *rows_of_item = f_.number(1);
    for (std::size_t d = 0; d + 1 < extents.size(); ++d)
      rows_of_item = b.CreateMul(rows_of_item, extents[d].v);
    llvm::Value* first = b.CreateUDiv(begin, length);
    llvm::Value* last = b.CreateUDiv(b.CreateSub(end, f_.number(1)), length);
    llvm::Value* behind = b.CreateAdd(last, f_.number(1));
    const auto lesser = [&](llvm::Value* x, llvm::Value* y) {
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
    };
    const auto greater = [&](llvm::Value* x, llvm::Value* y) {
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
    };
    const auto columns_of_row = [&](llvm::Value* row, llvm::Value* lo, llvm::Value* hi) {
      const auto here = e_.mark();
      llvm::Value* item = kernel_.domain.over_items ? b.CreateUDiv(row, rows_of_item) : f_.number(0);
      enter_item(e_, kernel_, e_.uniform(item));
      e_.emit_level(regions_, Level::item);
      llvm::Value* in_item = b.CreateSub(row, b.CreateMul(item, rows_of_item));
      const auto outer = decode(e_, std::span(extents).first(extents.size() - 1), in_item);
      for (std::size_t d = 0; d < outer.size(); ++d) e_.bind(*kernel_.index[d], {e_.uniform(outer[d])});
      e_.emit_level(regions_, Level::row);
      llvm::Value* start = b.CreateMul(row, length);
      lo = greater(lo, b.CreateSub(begin, start));
      hi = greater(lo, lesser(hi, b.CreateSub(end, start)));
      vector_loop(lo, hi, b.CreateAdd(start, lo),
                  [&](const Value& inner) { e_.bind(*kernel_.index.back(), {inner}); }, is_large(), {});
      e_.undo(here);
    };
    f_.each(first, behind, kernel::tile_rows, "tiles", [&](llvm::Value* top) {
      llvm::Value* bottom = lesser(b.CreateAdd(top, f_.number(kernel::tile_rows)), behind);
      // With more columns there are more rows of the array in use at once than the first cache has ways.
      f_.each(f_.number(0), length, lanes_, "tile", [&](llvm::Value* left) {
        llvm::Value* right = lesser(b.CreateAdd(left, f_.number(lanes_)), length);
        f_.each(top, bottom, 1, "tile_rows", [&](llvm::Value* row) { columns_of_row(row, left, right); });
      });
    });
  }

  void rows(llvm::Value* begin, llvm::Value* end, llvm::Value* scratch) {
    auto& b = f_.b;
    e_.emit_level(regions_, Level::launch);
    const Interior interior(e_, regions_, kernel_.body, *kernel_.index.back(), lanes_ > 1);
    llvm::Value* first = f_.number(0);
    if (kernel_.domain.form == kernel::Form::segmented) {
      first = scratch_field(f_, scratch, offsetof(Scratch, first_item), f_.i64());
    } else if (kernel_.domain.over_items) {
      const ItemPart positions = e_.part(kernel_.domain, e_.uniform(f_.number(0)));
      llvm::Value* size = f_.number(1);
      for (const Value& extent : positions.extents) size = b.CreateMul(size, extent.v);
      first = b.CreateUDiv(begin, size);
    }
    each_run(
        e_, kernel_, begin, end, first, true,
        [&](llvm::Value* item) {
          enter_item(e_, kernel_, e_.uniform(item));
          e_.emit_level(regions_, Level::item);
        },
        [&](const Run& run) {
          const auto here = e_.mark();
          for (std::size_t d = 0; d < run.outer.size(); ++d)
            e_.bind(*kernel_.index[d], {e_.uniform(run.outer[d])});
          e_.emit_level(regions_, Level::row);
          one_run(run, interior);
          e_.undo(here);
        });
  }

  /// Where there are borders, the part inside of them has code of its own.
  void one_run(const Run& run, const Interior& interior) {
    auto& b = f_.b;
    const auto part = [&](llvm::Value* lo, llvm::Value* hi, bool one_copy, const Inside& inside) {
      vector_loop(
          lo, hi, b.CreateAdd(run.position, b.CreateSub(lo, run.lo)),
          [&](const Value& inner) { e_.bind(*kernel_.index.back(), {inner}); }, one_copy, inside);
    };
    const auto inside_row = [&] {
      return interior.asks_rows() ? std::optional(RowInside{interior, interior.row_is_inside(e_)})
                                  : std::nullopt;
    };
    if (lanes_ == 1) return part(run.lo, run.hi, is_large(), {});
    if (!interior.helps())
      return part(run.lo, run.hi, is_large(), {.row = is_large() ? std::nullopt : inside_row()});
    if (interior.splits_in_two()) {
      const Interior::Range inside = interior.range_of_border(e_, run.lo, run.hi);
      const bool outside_first = interior.begins_outside();
      const Assumed first = interior.at_border(!outside_first), second = interior.at_border(outside_first);
      llvm::Value* begin = b.CreateSelect(inside.known, run.lo, run.hi);
      llvm::Value* border =
          b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, outside_first ? inside.lo : inside.hi);
      part(run.lo, begin, true, {});
      part(begin, border, is_large(), {&first});
      part(border, run.hi, is_large(), {&second});
      return;
    }
    const Interior::Range inside = interior.range(e_, run.lo, run.hi);
    const std::optional<RowInside> row = inside_row();
    // Behind a border code for inside begins where its stores are aligned, and it ends before one with a whole vector:
    // code for outside, which goes on from there, takes a vector at each end in any case.
    llvm::Value* position = b.CreateAdd(bias_, b.CreateAdd(run.position, b.CreateSub(inside.lo, run.lo)));
    llvm::Value* to_aligned = b.CreateAnd(b.CreateNeg(position), f_.number(lanes_ - 1));
    llvm::Value* first =
        b.CreateSelect(b.CreateICmpSGT(inside.lo, run.lo), b.CreateAdd(inside.lo, to_aligned), inside.lo);
    llvm::Value* length = b.CreateSub(inside.hi, first);
    llvm::Value* whole = b.CreateAdd(first, b.CreateAnd(length, f_.number(-lanes_)));
    llvm::Value* behind = b.CreateSelect(b.CreateICmpSLT(inside.hi, run.hi), whole, inside.hi);
    // Outside, inside, outside: the code for outside stands there once, and no more than it may run over a short row.
    llvm::Value* worth = b.CreateAnd(inside.known, b.CreateICmpSGE(length, f_.number(lanes_)));
    if (row && is_large()) worth = b.CreateAnd(worth, row->is_inside);
    llvm::Value *from = b.CreateSelect(worth, first, run.hi), *to = b.CreateSelect(worth, behind, run.hi);
    f_.each(f_.number(0), f_.number(2), 1, "borders", [&](llvm::Value* side) {
      llvm::Value* is_first = b.CreateICmpEQ(side, f_.number(0));
      part(b.CreateSelect(is_first, run.lo, to), b.CreateSelect(is_first, from, run.hi), true, {});
      part(b.CreateSelect(is_first, from, run.hi), b.CreateSelect(is_first, to, run.hi), is_large(),
           {&interior.assumed(), row});
    });
  }

  bool is_large() const { return regions_[0].cost > one_copy_cost; }

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

  /// Positions of one run: `enter` binds the lane parameter to counters from `lo`, which is at `position`.
  void vector_loop(llvm::Value* lo, llvm::Value* hi, llvm::Value* position,
                   const std::function<void(const Value&)>& enter, bool one_copy, const Inside& inside) {
    auto& b = f_.b;
    const auto code = [&](llvm::Value* i, bool in_row) {
      const auto here = e_.mark();
      if (in_row) inside.row->interior.enter_row(e_);
      e_.assumed = in_row ? &inside.row->interior.assumed_in_rows() : inside.assumed;
      enter(e_.affine(i, 1));
      e_.emit_level(regions_, Level::lane);
      store(e_.affine(b.CreateAdd(position, b.CreateSub(i, lo)), 1));
      e_.assumed = nullptr;
      e_.undo(here);
      return std::vector<llvm::Value*>{};
    };
    if (lanes_ == 1) {
      f_.loop(lo, hi, 1, {}, "elements", [&](llvm::Value* i, const auto&) { return code(i, false); });
      return;
    }
    e_.width = lanes_;
    llvm::Value* rest = lo;
    if (!one_copy) {
      llvm::Value* full = b.CreateAdd(lo, b.CreateAnd(b.CreateSub(hi, lo), f_.number(-lanes_)));
      if (inside.row) {
        rest = b.CreateSelect(inside.row->is_inside, full, lo);
        f_.loop(lo, rest, lanes_, {}, "vectors_of_row",
                [&](llvm::Value* i, const auto&) { return code(i, true); });
      }
      // In other rows the interior has the code of the rest, which is cheap beside a third copy.
      if (!inside.row || !inside.assumed) {
        f_.loop(rest, full, lanes_, {}, "vectors",
                [&](llvm::Value* i, const auto&) { return code(i, false); });
        rest = full;
      }
    }
    f_.loop(rest, hi, lanes_, {}, "tail", [&](llvm::Value* i, const auto&) {
      std::vector<llvm::Constant*> numbers;
      for (int lane = 0; lane < lanes_; ++lane) numbers.push_back(b.getInt32(static_cast<unsigned>(lane)));
      // At most `lanes` remain where it matters; 32 bits are enough.
      llvm::Value* left =
          b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(hi, i), f_.number(lanes_));
      llvm::Value* limit =
          b.CreateVectorSplat(static_cast<unsigned>(lanes_), b.CreateTrunc(left, b.getInt32Ty()));
      e_.mask = b.CreateICmpULT(llvm::ConstantVector::get(numbers), limit);
      auto none = code(i, one_copy && inside.row);
      e_.mask = nullptr;
      return none;
    });
    e_.width = 1;
  }

  void store(const Value& position) {
    for (const kernel::KernelOutput& output : kernel_.outputs)
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c) {
        llvm::Value* buffer = f_.buffer(output.array.first_buffer + static_cast<int>(c));
        e_.store(buffer, output.array.type.scalars[c], e_.add(position, e_.uniform(bias_)),
                 e_.value(kernel_.body[output.first + c]));
      }
  }

  const kernel::Kernel& kernel_;
  llvm::Type* types_[3];
  Frame f_;
  Emitter e_;
  Kind kind_;
  Regions regions_;
  int lanes_ = 1;
  llvm::Value* bias_ = nullptr;
};

}  // namespace

int emit_map(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine) {
  Map(module, kernel, machine).emit();
  return 1;
}

}  // namespace anabranch::cpu
