#include <bit>
#include <cstddef>

#include "cpu/llvm/block_tree.h"
#include "cpu/llvm/column_fold.h"
#include "cpu/llvm/equal_rows.h"
#include "cpu/llvm/fold_rows.h"
#include "cpu/llvm/row_group.h"
#include "cpu/llvm/tile_fold.h"
#include "kernel/access.h"

/// The fold skeleton. To keep the code small, every part of the order is emitted once:
///   entry0 (rows)    narrow lanes: short rows, and the last block of long ones where it is short
///   entry1 (blocks)  wide lanes, all other blocks; for ordered operators all blocks
///   entry2 (blocks)  the same of neighbours that lie across, side by side
///   finish           the tree that joins the blocks of a row, the seed; computes missing blocks
/// The image for short rows has rows in groups and narrow lanes, and calls entry0 of the other one for other rows.
namespace anabranch::cpu {
namespace {

class Fold {
 public:
  Fold(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine, bool short_rows)
      : module_(module),
        kernel_(kernel),
        reduce_(kernel::reduce_of(kernel)),
        machine_(machine),
        short_rows_(short_rows),
        i64_(llvm::Type::getInt64Ty(module.getContext())),
        ptr_(llvm::PointerType::getUnqual(module.getContext())) {
    // Two vectors at most hold the narrow lanes, four the wide ones.
    const int lanes = machine.forced_lanes ? machine.forced_lanes : suitable_lanes(kernel.body, machine);
    lanes_ = lanes == 1 ? 1
                        : std::clamp(lanes, static_cast<int>(order::narrow_lanes / 2),
                                     static_cast<int>(order::wide_lanes));
  }

  /// Gives the number of entries.
  int emit() {
    if (!short_rows_) {
      make_blocks();
      make_finish();
    }
    make_rows();
    if (short_rows_) return 1;
    if (!kernel::reduces_across(kernel_)) return 2;
    make_blocks_of_several();
    return 3;
  }

 private:
  Rows entry(const std::string& name) {
    const std::vector<llvm::Type*> types{i64_, i64_, ptr_};
    return Rows(module_, name, types, true, kernel_, machine_, lanes_);
  }

  void close(Rows& r) {
    r.b.CreateRetVoid();
    r.f.finish();
  }

  llvm::Value* given(Rows& r, std::size_t offset, llvm::Type* type) {
    return scratch_field(r.f, r.f.parameter(2), offset, type);
  }
  /// A Scratch in the stack frame that gives a row.
  llvm::Value* give(Rows& r, llvm::Value* row, llvm::Value* item, llvm::Value* partials) {
    llvm::Value* scratch = r.f.local(r.b.getInt8Ty(), sizeof(Scratch));
    const auto put = [&](std::size_t offset, llvm::Value* v) {
      r.b.CreateAlignedStore(v, r.b.CreateConstGEP1_64(r.b.getInt8Ty(), scratch, offset), llvm::Align(8));
    };
    put(offsetof(Scratch, row), row);
    put(offsetof(Scratch, row_item), item);
    put(offsetof(Scratch, partials), partials);
    return scratch;
  }

  /// entry1(args, begin, end, scratch): blocks of one row into scratch->partials.
  void make_blocks() {
    Rows r = entry("entry1");
    blocks_ = r.f.function();
    blocks_->addFnAttr(llvm::Attribute::NoInline);
    Frame& f = r.f;
    auto& b = r.b;
    llvm::Value* item = given(r, offsetof(Scratch, row_item), i64_);
    llvm::Value* partials = given(r, offsetof(Scratch, partials), ptr_);
    r.enter(item, given(r, offsetof(Scratch, row), i64_));
    r.emit_row();
    llvm::Value* length = r.length(item);
    f.each(f.parameter(0), f.parameter(1), 1, "blocks", [&](llvm::Value* block) {
      llvm::Value* begin = b.CreateMul(block, f.number(order::block));
      llvm::Value* count =
          b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(length, begin), f.number(order::block));
      llvm::Value* end = b.CreateAdd(begin, count);
      llvm::BasicBlock *take = f.block("take"), *next = f.block("block_done");
      llvm::Value* is_ours =
          r.commutative() ? b.CreateICmpSGE(count, f.number(order::wide_from)) : b.getTrue();
      f.branch_likely(is_ours, take, next);
      b.SetInsertPoint(take);
      r.put(partials, block, r.commutative() ? r.in_wide_lanes(begin, end) : r.ordered(begin, end));
      b.CreateBr(next);
      b.SetInsertPoint(next);
    });
    close(r);
  }

  /// entry2(args, begin, end, scratch): blocks of scratch->rows neighbours, which lie across.
  void make_blocks_of_several() {
    Rows r = entry("entry2");
    Frame& f = r.f;
    auto& b = r.b;
    llvm::Value *row = given(r, offsetof(Scratch, row), i64_),
                *rows = given(r, offsetof(Scratch, rows), i64_),
                *item = given(r, offsetof(Scratch, row_item), i64_),
                *partials = given(r, offsetof(Scratch, partials), ptr_);
    llvm::Value* length = r.length(f.number(0));
    if (r.in_vectors()) {
      ColumnFold columns(r, kernel_);
      each_run(
          r.e, kernel_, row, b.CreateAdd(row, rows), item, true,
          [&](llvm::Value* of) { enter_item(r.e, kernel_, r.e.uniform(of)); },
          [&](const Run& run) {
            columns.reduce_blocks(run, length, f.parameter(0), f.parameter(1), partials, row);
          });
    } else {
      llvm::Value* blocks =
          b.CreateSDiv(b.CreateAdd(length, f.number(order::block - 1)), f.number(order::block));
      f.each(f.number(0), rows, 1, "rows", [&](llvm::Value* i) {
        llvm::Value* own = r.cell(partials, b.CreateMul(i, blocks), 0);
        b.CreateCall(blocks_,
                     {f.args(), f.parameter(0), f.parameter(1), give(r, b.CreateAdd(row, i), item, own)});
      });
    }
    close(r);
  }

  /// finish(args, row, item, blocks, partials, last): the row's total from the partial results of its blocks
  /// (that of the last block is in `last` if it is one for narrow lanes), the seed, the store. Where
  /// `partials` is null the results are computed here, one block after the other.
  void make_finish() {
    const std::vector<llvm::Type*> types{i64_, i64_, i64_, ptr_, ptr_};
    Rows r(module_, "finish", types, false, kernel_, machine_, lanes_);
    finish_ = r.f.function();
    finish_->addFnAttr(llvm::Attribute::NoInline);
    Frame& f = r.f;
    auto& b = r.b;
    llvm::Value *row = f.parameter(0), *item = f.parameter(1), *blocks = f.parameter(2),
                *partials = f.parameter(3);
    r.enter(item, row);
    BlockTree tree(r);
    llvm::Value* fresh = r.cells(1);
    r.put(fresh, f.number(0), r.nothing());  // left alone by a block that fails
    llvm::Value* own = b.CreateIsNull(partials);
    llvm::Value* is_short = b.getFalse();  // the last block
    if (r.commutative()) {
      llvm::Value* length = r.length(item);
      is_short = b.CreateICmpSLT(b.CreateSub(length, last_block(r, length)), f.number(order::wide_from));
    }
    const Registers depth = f.loop(
        f.number(0), blocks, 1, {f.number(0)}, "tree", [&](llvm::Value* block, const Registers& state) {
          llvm::BasicBlock *compute = f.block("compute"), *ready = f.block("ready");
          llvm::BasicBlock* before = b.GetInsertBlock();
          b.CreateCondBr(own, compute, ready);
          b.SetInsertPoint(compute);
          // A block's cell is addressed by the block's number, relative to `partials`.
          llvm::Value* numbered = r.cell(fresh, b.CreateNeg(block), 0);
          llvm::Value* after = b.CreateAdd(block, f.number(1));
          b.CreateCall(blocks_, {f.args(), block, after, give(r, row, item, numbered)});
          b.CreateBr(ready);
          b.SetInsertPoint(ready);
          llvm::PHINode* from = b.CreatePHI(ptr_, 2);
          from->addIncoming(numbered, compute);
          from->addIncoming(partials, before);
          llvm::Value* from_cell = from;
          if (r.commutative()) {
            llvm::Value* is_last = b.CreateICmpEQ(b.CreateAdd(block, f.number(1)), blocks);
            llvm::Value* given_last = r.cell(f.parameter(4), b.CreateNeg(block), 0);
            from_cell = b.CreateSelect(b.CreateAnd(is_last, is_short), given_last, from);
          }
          return Registers{tree.push(block, state[0], r.get(from_cell, block))};
        });
    const Registers total = tree.total(depth[0]);
    r.finish(total, row, nullptr);
    close(r);
  }

  /// entry0(args, begin, end, scratch): whole rows.
  void make_rows() {
    Rows r = entry("entry0");
    Frame& f = r.f;
    llvm::Value *begin = f.parameter(0), *end = f.parameter(1);
    r.return_if_none(begin, end);
    llvm::Value* first = r.first_item(begin, f.parameter(2));
    if (short_rows_ && RowGroup::suits(kernel_, r)) {
      rows_in_groups(r, begin, end);
    } else if (kernel::lanes_of(kernel_).kind == kernel::Lanes::Kind::innermost && r.in_vectors()) {
      rows_side_by_side(r, begin, end, first);
    } else if (EqualRows::suits(kernel_, r)) {
      rows_of_one_length(r, begin, end);
    } else if (EqualRows::suits_apart(kernel_, r)) {
      rows_apart(r, begin, end, first);
    } else {
      each_run(
          r.e, kernel_, begin, end, first, false,
          [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
          [&](const Run& run) { one_row(r, run); });
    }
    close(r);
  }

  /// Rows that lie across; where they have no elements, or their blocks have been computed, one by one.
  void rows_side_by_side(Rows& r, llvm::Value* begin, llvm::Value* end, llvm::Value* first) {
    Frame& f = r.f;
    auto& b = r.b;
    ColumnFold columns(r, kernel_);
    llvm::Value* length = r.length(f.number(0));
    llvm::BasicBlock *some = f.block("rows_across"), *none = f.block("single_rows"),
                     *done = f.block("rows_done");
    const auto in_item = [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); };
    llvm::Value* to_do = b.CreateIsNull(given(r, offsetof(Scratch, partials), ptr_));
    b.CreateCondBr(b.CreateAnd(b.CreateICmpSGT(length, f.number(0)), to_do), some, none);
    b.SetInsertPoint(some);
    if (TileFold::suits(kernel_, r))
      rows_in_tiles(r, columns, begin, end, length);
    else
      each_run(r.e, kernel_, begin, end, first, true, in_item,
               [&](const Run& run) { columns.reduce(run, length); });
    b.CreateBr(done);
    b.SetInsertPoint(none);
    each_run(r.e, kernel_, begin, end, first, false, in_item, [&](const Run& run) { one_row(r, run); });
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  /// Where there are enough of them along two dimensions in tiles, others along one.
  void rows_in_tiles(Rows& r, ColumnFold& columns, llvm::Value* begin, llvm::Value* end,
                     llvm::Value* length) {
    Frame& f = r.f;
    auto& b = r.b;
    TileFold tiles(r, kernel_, machine_);
    const auto extents = r.e.part(kernel_.domain, r.e.uniform(f.number(0))).extents;
    const std::size_t rank = extents.size();
    llvm::Value *width = extents[rank - 1].v, *height = extents[rank - 2].v;
    llvm::Value* rows_of_item = f.number(1);
    for (std::size_t d = 0; d + 1 < rank; ++d) rows_of_item = b.CreateMul(rows_of_item, extents[d].v);
    llvm::BasicBlock *before = b.GetInsertBlock(), *header = f.block("tiles_or_row"),
                     *in_tiles = f.block("in_tiles"), *single = f.block("rest_of_row"),
                     *next = f.block("following"), *done = f.block("tiles_done");
    b.CreateBr(header);
    b.SetInsertPoint(header);
    llvm::PHINode* at = b.CreatePHI(i64_, 2, "position");
    at->addIncoming(begin, before);
    llvm::Value *lo = b.CreateURem(at, width), *row = b.CreateUDiv(at, width);
    const auto here = r.e.mark();
    llvm::Value* item = kernel_.domain.over_items ? b.CreateUDiv(row, rows_of_item) : f.number(0);
    enter_item(r.e, kernel_, r.e.uniform(item));
    const std::vector<llvm::Value*> outer =
        decode(r.e, std::span(extents).first(rank - 1), b.CreateSub(row, b.CreateMul(item, rows_of_item)));
    // Whole rows of results that follow.
    llvm::Value* left = b.CreateSub(end, at);
    llvm::Value* rows = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(height, outer.back()),
                                                b.CreateUDiv(left, width));
    llvm::Value* enough = b.CreateAnd(b.CreateICmpSGE(rows, f.number(tiles.least_rows())),
                                      b.CreateICmpSGE(width, f.number(tiles.least_columns())));
    b.CreateCondBr(b.CreateAnd(enough, b.CreateICmpEQ(lo, f.number(0))), in_tiles, single);
    b.SetInsertPoint(in_tiles);
    tiles.reduce(std::span(outer).first(rank - 2), outer.back(), b.CreateAdd(outer.back(), rows), width, at,
                 length);
    llvm::Value* tiled = b.CreateMul(rows, width);
    llvm::BasicBlock* tiles_end = b.GetInsertBlock();
    b.CreateBr(next);
    b.SetInsertPoint(single);
    llvm::Value* count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(width, lo), left);
    columns.reduce({item, outer, at, lo, b.CreateAdd(lo, count)}, length);
    llvm::BasicBlock* single_end = b.GetInsertBlock();
    b.CreateBr(next);
    b.SetInsertPoint(next);
    llvm::Value* after = b.CreateAdd(at, r.merge({tiled}, tiles_end, {count}, single_end)[0]);
    at->addIncoming(after, next);
    b.CreateCondBr(b.CreateICmpSLT(after, end), header, done);
    b.SetInsertPoint(done);
    r.e.undo(here);
  }

  /// Short ones in groups; what is left, and longer ones, one by one.
  void rows_of_one_length(Rows& r, llvm::Value* begin, llvm::Value* end) {
    Frame& f = r.f;
    auto& b = r.b;
    EqualRows together(r);
    llvm::Value* length = r.length(f.number(0));
    llvm::BasicBlock *before = b.GetInsertBlock(), *some = f.block("short_rows"),
                     *rest = f.block("rows_left"), *single = f.block("single_rows"),
                     *done = f.block("rows_done");
    b.CreateCondBr(together.are_short(length), some, rest);
    b.SetInsertPoint(some);
    llvm::Value* left = together.reduce(begin, end, length, f.parameter(2));
    llvm::BasicBlock* some_end = b.GetInsertBlock();
    b.CreateBr(rest);
    b.SetInsertPoint(rest);
    llvm::Value* from = r.merge({left}, some_end, {begin}, before)[0];
    b.CreateCondBr(b.CreateICmpSLT(from, end), single, done);
    b.SetInsertPoint(single);
    each_run(
        r.e, kernel_, from, end, r.first_item(from, f.parameter(2)), false,
        [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
        [&](const Run& run) { one_row(r, run); });
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  /// The same of rows whose elements lie apart.
  void rows_apart(Rows& r, llvm::Value* begin, llvm::Value* end, llvm::Value* first) {
    Frame& f = r.f;
    EqualRows together(r);
    llvm::Value* length = r.length(f.number(0));
    each_run(
        r.e, kernel_, begin, end, first, true,
        [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
        [&](const Run& run) {
          f.each(together.reduce_apart(run, length), run.hi, 1, "single_rows", [&](llvm::Value* at) {
            std::vector<llvm::Value*> index = run.outer;
            index.push_back(at);
            llvm::Value* position = r.b.CreateAdd(run.position, r.b.CreateSub(at, run.lo));
            one_row(r, {run.item, std::move(index), position, f.number(0), f.number(1)});
          });
        });
  }

  /// One row per item, of different lengths, as in a sparse matrix: short rows in groups, others one by one.
  void rows_in_groups(Rows& r, llvm::Value* begin, llvm::Value* end) {
    Frame& f = r.f;
    auto& b = r.b;
    RowGroup group(r, kernel_);
    llvm::BasicBlock *header = f.block("rows"), *look = f.block("look"), *together = f.block("group"),
                     *apart = f.block("rows_apart"), *row = f.block("row"), *next = f.block("next_row"),
                     *done = f.block("rows_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateBr(header);
    b.SetInsertPoint(header);
    llvm::PHINode* item = b.CreatePHI(i64_, 3, "item");
    item->addIncoming(begin, before);
    b.CreateCondBr(b.CreateICmpSLT(item, end), look, done);
    b.SetInsertPoint(look);
    llvm::Value* rows_apart = group.look(item, end, together, apart);
    b.SetInsertPoint(together);
    group.compute(item);
    item->addIncoming(b.CreateAdd(item, group.rows()), b.GetInsertBlock());
    b.CreateBr(header);

    // The row's number is kept in memory here: else it would be one more value alive in all of the code of
    // single rows, which has no register to spare.
    b.SetInsertPoint(apart);
    llvm::Value* kept = f.local(i64_);
    llvm::Value* stop = b.CreateAdd(item, rows_apart);
    b.CreateStore(item, kept, /*isVolatile=*/true);
    b.CreateBr(row);
    b.SetInsertPoint(row);
    llvm::Value* number = b.CreateLoad(i64_, kept, /*isVolatile=*/true);
    const auto here = r.e.mark();
    enter_item(r.e, kernel_, r.e.uniform(number));
    one_row(r, {number, {}, number, f.number(0), f.number(1)});
    r.e.undo(here);
    b.CreateBr(next);
    b.SetInsertPoint(next);
    llvm::Value* following = b.CreateAdd(b.CreateLoad(i64_, kept, /*isVolatile=*/true), f.number(1));
    b.CreateStore(following, kept, /*isVolatile=*/true);
    item->addIncoming(following, next);
    b.CreateCondBr(b.CreateICmpSLT(following, stop), row, header);
    b.SetInsertPoint(done);
  }

  void one_row(Rows& r, const Run& run) {
    Frame& f = r.f;
    auto& b = r.b;
    const auto here = r.e.mark();
    r.bind_index(run.outer);
    llvm::Value* length = r.length(run.item);
    llvm::Value* empty = b.CreateICmpSLE(length, f.number(0));
    if (!kernel::all_seeded(reduce_)) {
      f.leave_unless(b.CreateNot(empty), kernel::empty_check(kernel_), f.number(0), f.number(0));
      empty = nullptr;
    }
    llvm::BasicBlock *some = f.block("filled"), *done = f.block("row_done"), *stored = f.block("stored");
    llvm::BasicBlock* before = b.GetInsertBlock();
    if (empty)
      b.CreateCondBr(empty, done, some);
    else
      b.CreateBr(some);
    b.SetInsertPoint(some);
    // What elements share and may fail is computed here, where there is one; the seed computes its own.
    const auto inside = r.e.mark();
    Registers total =
        r.commutative() ? lanes_of_row(r, run, length, stored) : ordered_row(r, run, length, stored);
    r.e.undo(inside);
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(done);
    if (empty) total = r.merge(total, end, r.nothing(), before);
    r.finish(std::move(total), run.position, empty);
    b.CreateBr(stored);
    b.SetInsertPoint(stored);
    r.e.undo(here);
  }

  /// The total of a row; rows of several blocks are finished elsewhere, and control goes to `stored`.
  Registers ordered_row(Rows& r, const Run& run, llvm::Value* length, llvm::BasicBlock* stored) {
    Frame& f = r.f;
    llvm::BasicBlock *one = f.block("one_block"), *several = f.block("several_blocks");
    f.branch_likely_weakly(r.b.CreateICmpSLE(length, f.number(order::block)), one, several);
    r.b.SetInsertPoint(several);
    if (short_rows_)
      call_any_rows(r, run, stored);
    else
      call_finish(r, run, length, llvm::Constant::getNullValue(ptr_), stored);
    r.b.SetInsertPoint(one);
    r.emit_row();
    return r.ordered(f.number(0), length);
  }

  /// Where the last block of a row with elements begins.
  static llvm::Value* last_block(Rows& r, llvm::Value* length) {
    return r.b.CreateAnd(r.b.CreateSub(length, r.f.number(1)), r.f.number(-order::block));
  }

  /// The total of a row for narrow lanes; that of a longer one too, where that is little code. Others are computed and
  /// stored by the other image.
  Registers lanes_of_short_row(Rows& r, const Run& run, llvm::Value* length, llvm::BasicBlock* stored) {
    Frame& f = r.f;
    auto& b = r.b;
    llvm::BasicBlock *narrow = f.block("narrow"), *wide = f.block("wide"), *longer = f.block("longer"),
                     *joined = f.block("joined");
    const bool has_wide = r.body_is_small();  // beside a block of so little code a call counts
    const auto is_below = [&](std::int64_t bound) { return b.CreateICmpSLT(length, f.number(bound)); };
    f.branch_likely_weakly(is_below(order::wide_from), narrow, has_wide ? wide : longer);
    Registers of_one;
    llvm::BasicBlock* one_end = nullptr;
    if (has_wide) {
      llvm::BasicBlock* one = f.block("one_block");
      b.SetInsertPoint(wide);
      f.branch_likely_weakly(is_below(order::block + 1), one, longer);
      b.SetInsertPoint(one);
      const auto inside = r.e.mark();
      r.emit_row();
      of_one = r.in_wide_lanes(f.number(0), length);
      r.e.undo(inside);
      one_end = b.GetInsertBlock();
      b.CreateBr(joined);
    } else {
      wide->eraseFromParent();
    }
    b.SetInsertPoint(longer);
    call_any_rows(r, run, stored);

    b.SetInsertPoint(narrow);
    r.emit_row();
    const Registers of_narrow = r.in_narrow_lanes(f.number(0), length);
    llvm::BasicBlock* narrow_end = b.GetInsertBlock();
    b.CreateBr(joined);
    b.SetInsertPoint(joined);
    return has_wide ? r.merge(of_narrow, narrow_end, of_one, one_end) : of_narrow;
  }

  Registers lanes_of_row(Rows& r, const Run& run, llvm::Value* length, llvm::BasicBlock* stored) {
    if (short_rows_) return lanes_of_short_row(r, run, length, stored);
    Frame& f = r.f;
    auto& b = r.b;
    llvm::BasicBlock *wide = f.block("wide"), *one = f.block("one_block"),
                     *several = f.block("several_blocks"), *narrow = f.block("narrow"),
                     *keep = f.block("keep"), *finish = f.block("finish"), *done = f.block("joined");
    llvm::BasicBlock* before = b.GetInsertBlock();
    llvm::Value* is_short = b.CreateICmpSLT(length, f.number(order::wide_from));
    f.branch_likely_weakly(is_short, narrow, wide);
    b.SetInsertPoint(wide);
    llvm::Value* last = last_block(r, length);
    llvm::Value* result = r.cells(1);
    r.put(result, f.number(0), r.nothing());  // left alone by a block that fails
    b.CreateCondBr(b.CreateICmpEQ(last, f.number(0)), one, several);
    b.SetInsertPoint(one);
    Registers of_one;
    if (r.body_is_small()) {  // beside a block of so little code a call counts
      const auto inside = r.e.mark();
      r.emit_row();
      of_one = r.in_wide_lanes(f.number(0), length);
      r.e.undo(inside);
    } else {
      b.CreateCall(blocks_, {f.args(), f.number(0), f.number(1), give(r, run.position, run.item, result)});
      of_one = r.get(result, f.number(0));
    }
    llvm::BasicBlock* one_end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(several);
    llvm::Value* last_is_short = b.CreateICmpSLT(b.CreateSub(length, last), f.number(order::wide_from));
    b.CreateCondBr(last_is_short, narrow, finish);

    b.SetInsertPoint(narrow);
    llvm::PHINode* at = b.CreatePHI(i64_, 2);
    at->addIncoming(f.number(0), before);
    at->addIncoming(last, several);
    r.emit_row();
    const Registers of_narrow = r.in_narrow_lanes(at, length);
    llvm::BasicBlock* narrow_end = b.GetInsertBlock();
    f.branch_likely_weakly(is_short, done, keep);
    b.SetInsertPoint(keep);
    r.put(result, f.number(0), of_narrow);
    b.CreateBr(finish);
    b.SetInsertPoint(finish);
    call_finish(r, run, length, result, stored);
    b.SetInsertPoint(done);
    return r.merge(of_narrow, narrow_end, of_one, one_end);
  }

  /// Control goes on at `stored`.
  void call_any_rows(Rows& r, const Run& run, llvm::BasicBlock* stored) {
    call_for_row(r.f, run);
    r.b.CreateBr(stored);
  }

  void call_finish(Rows& r, const Run& run, llvm::Value* length, llvm::Value* last,
                   llvm::BasicBlock* stored) {
    auto& b = r.b;
    constexpr auto shift =
        static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(order::block)));
    llvm::Value* blocks = b.CreateLShr(b.CreateAdd(length, r.f.number(order::block - 1)), shift);
    b.CreateCall(finish_, {r.f.args(), run.position, run.item, blocks,
                           given(r, offsetof(Scratch, partials), ptr_), last});
    b.CreateBr(stored);
  }

  llvm::Module& module_;
  const kernel::Kernel& kernel_;
  const kernel::Reduce& reduce_;
  const Machine& machine_;
  const bool short_rows_;
  llvm::Type* i64_;
  llvm::Type* ptr_;
  int lanes_ = 1;
  llvm::Function* blocks_ = nullptr;
  llvm::Function* finish_ = nullptr;
};

}  // namespace

int emit_fold(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine, bool short_rows) {
  return Fold(module, kernel, machine, short_rows).emit();
}

}  // namespace anabranch::cpu
