#include "cpu/llvm/map.h"

#include <cstddef>

#include "kernel/pointwise.h"

namespace anabranch::cpu {
namespace {

/// Bodies costlier than this are emitted once, always under a mask, instead of twice.
constexpr std::int64_t one_copy_cost = 400;
/// Rows of up to so many vectors, all of them whole, have code without a loop.
constexpr std::int64_t most_unrolled = 4;

}  // namespace

Map::Map(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine)
    : kernel_(kernel),
      along_(kernel::lanes_of(kernel)),
      short_(along_.together.value_or(kernel::Lanes::Together{})),
      types_{llvm::Type::getInt64Ty(module.getContext()), llvm::Type::getInt64Ty(module.getContext()),
             llvm::PointerType::getUnqual(module.getContext())},
      f_(module, "entry0", types_, true, machine),
      e_(f_, kernel, machine),
      regions_(kernel.body, along_.kind == Kind::positions
                                ? std::function<bool(const ir::Node&)>([&](const ir::Node& node) {
                                    return kernel::is_pointwise(kernel, node);
                                  })
                                : nullptr) {
  lanes_ =
      machine.forced_lanes
          ? machine.forced_lanes
          : std::min(64, suitable_lanes(kernel.body, machine) * registers_side_by_side(kernel.body, machine));
  if (along_.kind == Kind::alone) lanes_ = 1;
}

bool Map::is_large() const { return regions_[0].cost > one_copy_cost; }

void Map::emit() {
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
  if (along_.kind == Kind::positions) {
    for (const auto& index : kernel_.index) e_.set_level(*index, Level::lane);
    e_.is_pointwise = [this](const ir::Node& node) { return kernel::is_pointwise(kernel_, node); };
    // Buffers are addressed from the chunk's first element here, not item by item.
    enter_item_zero();
    e_.emit_level(regions_, Level::launch);
    vector_loop(begin, end, begin,
                [&](const Value& position) { e_.flat_position = e_.add(position, e_.uniform(bias_)); },
                is_large(), {});
  } else if (along_.kind == Kind::items) {
    for (const auto& array : kernel_.arrays)
      if (array.form != kernel::Form::avoided) e_.set_level(*array.parameter, Level::lane);
    for (const auto& scalar : kernel_.scalars)
      if (!scalar.value.same_for_all()) e_.set_level(*scalar.parameter, Level::lane);
    e_.emit_level(regions_, Level::launch);
    vector_loop(begin, end, begin, [&](const Value& item) { enter_item(e_, kernel_, item); }, is_large(), {});
  } else if (along_.kind == Kind::alone) {
    e_.emit_region(regions_, 0);
    store(e_.uniform(begin));
  } else if (computes_together()) {
    blocks(begin, end);
  } else if (kernel::reads_across(kernel_)) {
    tiles(begin, end);
  } else {
    rows(begin, end, scratch);
  }
  b.CreateRetVoid();
  f_.finish();
}

void Map::rows(llvm::Value* begin, llvm::Value* end, llvm::Value* scratch) {
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
        if (const std::int64_t vectors = unrolled(interior)) {
          whole_or_part(run, vectors);
        } else {
          e_.emit_level(regions_, Level::row);
          one_run(run, interior);
        }
        e_.undo(here);
      });
}

/// The number of vectors in a row, where that is known, and so small that each has code of its own; else 0.
std::int64_t Map::unrolled(const Interior& interior) const {
  const kernel::KernelExtent& inner = kernel_.domain.extents.back();
  if (lanes_ == 1 || inner.kind != kernel::KernelExtent::Kind::constant || inner.value % lanes_ != 0 ||
      interior.helps() || interior.asks_rows())
    return 0;
  const std::int64_t vectors = inner.value / lanes_;
  return vectors <= most_unrolled && vectors * regions_[0].cost <= one_copy_cost ? vectors : 0;
}

/// Two copies of what belongs to a row, too: numbers that are the same in all of it, loaded before a loop that has one
/// round, would each take a register, and there are not enough.
void Map::whole_or_part(const Run& run, std::int64_t vectors) {
  auto& b = f_.b;
  llvm::Value* from_first = b.CreateICmpEQ(run.lo, f_.number(0));
  llvm::Value* to_last = b.CreateICmpEQ(run.hi, f_.number(vectors * lanes_));
  llvm::BasicBlock *whole = f_.block("whole_row"), *part = f_.block("part_of_row"),
                   *done = f_.block("row_done");
  f_.branch_likely(b.CreateAnd(from_first, to_last), whole, part);
  const auto here = e_.mark();
  b.SetInsertPoint(whole);
  e_.emit_level(regions_, Level::row);
  e_.width = lanes_;
  for (std::int64_t i = 0; i < vectors; ++i) {
    const auto before = e_.mark();
    llvm::Value* at = f_.number(i * lanes_);
    e_.bind(*kernel_.index.back(), {e_.affine(at, 1)});
    e_.emit_level(regions_, Level::lane);
    store(e_.affine(b.CreateAdd(run.position, at), 1));
    e_.undo(before);
  }
  e_.width = 1;
  b.CreateBr(done);
  e_.undo(here);
  b.SetInsertPoint(part);
  e_.emit_level(regions_, Level::row);
  vector_loop(run.lo, run.hi, run.position,
              [&](const Value& inner) { e_.bind(*kernel_.index.back(), {inner}); }, true, {});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

/// Where there are borders, the part inside of them has code of its own.
void Map::one_run(const Run& run, const Interior& interior) {
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

/// Positions of one run: `enter` binds the lane parameter to counters from `lo`, which is at `position`.
void Map::vector_loop(llvm::Value* lo, llvm::Value* hi, llvm::Value* position, const Enter& enter,
                      bool one_copy, const Inside& inside) {
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
      f_.loop(rest, full, lanes_, {}, "vectors", [&](llvm::Value* i, const auto&) { return code(i, false); });
      rest = full;
    }
  }
  f_.loop(rest, hi, lanes_, {}, "tail", [&](llvm::Value* i, const auto&) {
    std::vector<llvm::Constant*> numbers;
    for (int lane = 0; lane < lanes_; ++lane) numbers.push_back(b.getInt32(static_cast<unsigned>(lane)));
    // At most `lanes` remain where it matters; 32 bits are enough.
    llvm::Value* left = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(hi, i), f_.number(lanes_));
    llvm::Value* limit =
        b.CreateVectorSplat(static_cast<unsigned>(lanes_), b.CreateTrunc(left, b.getInt32Ty()));
    e_.mask = b.CreateICmpULT(llvm::ConstantVector::get(numbers), limit);
    auto none = code(i, one_copy && inside.row);
    e_.mask = nullptr;
    return none;
  });
  e_.width = 1;
}

Values Map::values() const {
  Values out;
  for (const ir::Ref& value : kernel_.body) out.push_back(e_.value(value));
  return out;
}

void Map::store(const Value& position, const Values& values) {
  for (const kernel::KernelOutput& output : kernel_.outputs)
    for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c) {
      llvm::Value* buffer = f_.buffer(output.array.first_buffer + static_cast<int>(c));
      e_.store(buffer, output.array.type.scalars[c], e_.add(position, e_.uniform(bias_)),
               values[static_cast<std::size_t>(output.first) + c]);
    }
}

int emit_map(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine) {
  Map(module, kernel, machine).emit();
  return 1;
}

}  // namespace anabranch::cpu
