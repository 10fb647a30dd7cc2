#include "cpu/llvm/block_tree.h"
#include "cpu/llvm/column_scan.h"
#include "cpu/llvm/short_scans.h"

/// The scan skeleton:
///   entry0 (rows)     whole rows: of each the last block, after a call of entry1 where there are others
///   entry1 (blocks)   the blocks of a row but the last, and the tree that joins their totals to the carries
///   entry2 (totals)   for a row that several threads scan: totals of its blocks
///   entry3 (carries)  the tree for these
///   stage             the elements of one block of a row, to where they are scanned; of large bodies
/// The image for short rows has entry0 only, and calls that of the other one for rows of several blocks.
namespace anabranch::cpu {
namespace {

class Scan {
 public:
  Scan(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine, bool short_rows)
      : module_(module),
        kernel_(kernel),
        machine_(machine),
        short_rows_(short_rows),
        i64_(llvm::Type::getInt64Ty(module.getContext())),
        ptr_(llvm::PointerType::getUnqual(module.getContext())) {}

  /// Gives the number of entries.
  int emit() {
    if (!short_rows_) {
      make_blocks();
      make_totals();
      make_carries();
    }
    make_rows();
    return short_rows_ ? 1 : 4;
  }

 private:
  void close(ScanRows& r) {
    r.b.CreateRetVoid();
    r.f.finish();
  }

  // A row's Scratch::state: the carry of the next block, then the tree.
  static constexpr std::int64_t carry_cells = 1, state_cells = carry_cells + 64;

  ScanRows entry(const std::string& name) {
    const std::vector<llvm::Type*> types{i64_, i64_, ptr_};
    return ScanRows(module_, name, types, true, kernel_, machine_);
  }
  llvm::Value* given(ScanRows& r, std::size_t offset, llvm::Type* type) {
    return scratch_field(r.f, r.f.parameter(2), offset, type);
  }

  /// What an entry for blocks of one row is given.
  struct RowPart {
    llvm::Value *row, *item, *partials, *state;
    std::vector<llvm::Value*> index;
    Registers seed;
  };
  RowPart enter(ScanRows& r) {
    RowPart row{given(r, offsetof(Scratch, row), i64_),
                given(r, offsetof(Scratch, row_item), i64_),
                given(r, offsetof(Scratch, partials), ptr_),
                given(r, offsetof(Scratch, state), ptr_),
                {},
                {}};
    row.index = r.enter(row.item, row.row);
    r.enter_row(r.length(row.item));
    return row;
  }
  /// Computes the seed. It is the carry of block 0, and put into the state where this entry begins there and
  /// `goes_on`: one bit.
  void begin_state(ScanRows& r, RowPart& row, llvm::Value* goes_on) {
    if (!r.seeded()) return;
    auto& b = r.b;
    row.seed = r.seed();
    llvm::BasicBlock *first = r.f.block("first_block"), *other = r.f.block("state");
    b.CreateCondBr(b.CreateAnd(goes_on, b.CreateICmpEQ(r.f.parameter(0), r.f.number(0))), first, other);
    b.SetInsertPoint(first);
    r.put(row.state, r.f.number(0), row.seed);
    b.CreateBr(other);
    b.SetInsertPoint(other);
  }
  /// The state after a block of this total.
  void advance(ScanRows& r, BlockTree<ScanRows>& tree, const RowPart& row, llvm::Value* block,
               const Registers& total) {
    llvm::Value* depth = tree.push(block, r.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, block), total);
    Registers carry = tree.total(depth);
    if (r.seeded()) carry = r.join(row.seed, carry);
    r.put(row.state, r.f.number(0), carry);
  }
  llvm::Value* tree_cells(ScanRows& r, const RowPart& row) {
    return r.cell(row.state, r.f.number(carry_cells), 0);
  }

  /// stage(args, row, item, block)
  void make_stage() {
    const std::vector<llvm::Type*> types{i64_, i64_, i64_};
    ScanRows r(module_, "stage", types, false, kernel_, machine_);
    stage_ = r.f.function();
    stage_->addFnAttr(llvm::Attribute::NoInline);
    llvm::Value *row = r.f.parameter(0), *item = r.f.parameter(1);
    const auto index = r.enter(item, row);
    r.enter_row(r.length(item));
    r.enter_outputs(item, index);
    r.emit_row();
    r.stage_block(r.b.CreateMul(r.f.parameter(2), r.f.number(ir::fold_order::block)));
    close(r);
  }
  /// Leaves this function, too, where that fails.
  void stage(ScanRows& r, const RowPart& row, llvm::Value* block) {
    auto& b = r.b;
    b.CreateCall(stage_, {r.f.args(), row.row, row.item, block});
    r.f.leave_if_failed();
  }

  /// entry1(args, begin, end, scratch): scans these blocks. Their carries are in scratch->partials or, where that
  /// is null, in the state, which goes on.
  void make_blocks() {
    ScanRows r = entry("entry1");
    if (r.is_staged()) make_stage();
    blocks_ = r.f.function();
    blocks_->addFnAttr(llvm::Attribute::NoInline);
    auto& b = r.b;
    RowPart row = enter(r);
    r.enter_outputs(row.item, row.index);
    llvm::Value* in_order = b.CreateIsNull(row.partials);
    begin_state(r, row, in_order);
    if (!r.is_staged()) r.emit_row();
    BlockTree<ScanRows> tree(r, tree_cells(r, row));
    r.f.each(r.f.parameter(0), r.f.parameter(1), 1, "blocks", [&](llvm::Value* block) {
      if (r.is_staged()) {
        llvm::BasicBlock *fresh = r.f.block("stage"), *ready = r.f.block("staged");
        b.CreateCondBr(in_order, fresh, ready);
        b.SetInsertPoint(fresh);
        stage(r, row, block);
        b.CreateBr(ready);
        b.SetInsertPoint(ready);
      }
      llvm::Value* cell = b.CreateSelect(in_order, row.state, r.cell(row.partials, block, 0));
      llvm::Value* begin = b.CreateMul(block, r.f.number(ir::fold_order::block));
      const Registers total = r.whole_block(begin, r.spread(r.get(cell, r.f.number(0))));
      llvm::BasicBlock *next = r.f.block("next_block"), *done = r.f.block("block_done");
      b.CreateCondBr(in_order, next, done);
      b.SetInsertPoint(next);
      advance(r, tree, row, block, total);
      b.CreateBr(done);
      b.SetInsertPoint(done);
    });
    close(r);
  }

  /// entry2(args, begin, end, scratch): totals of these blocks.
  void make_totals() {
    ScanRows r = entry("entry2");
    const RowPart row = enter(r);
    if (r.is_staged())
      r.enter_outputs(row.item, row.index);
    else
      r.emit_row();
    r.f.each(r.f.parameter(0), r.f.parameter(1), 1, "blocks", [&](llvm::Value* block) {
      if (r.is_staged()) stage(r, row, block);
      llvm::Value* begin = r.b.CreateMul(block, r.f.number(ir::fold_order::block));
      r.put(row.partials, block, r.block_total(begin));
    });
    close(r);
  }

  /// entry3(args, begin, end, scratch): from the totals of these blocks their carries.
  void make_carries() {
    ScanRows r = entry("entry3");
    RowPart row = enter(r);
    begin_state(r, row, r.b.getTrue());
    BlockTree<ScanRows> tree(r, tree_cells(r, row));
    r.f.each(r.f.parameter(0), r.f.parameter(1), 1, "blocks", [&](llvm::Value* block) {
      const Registers total = r.get(row.partials, block);
      r.put(row.partials, block, r.get(row.state, r.f.number(0)));
      advance(r, tree, row, block, total);
    });
    close(r);
  }

  /// entry0(args, begin, end, scratch): whole rows.
  void make_rows() {
    ScanRows r = entry("entry0");
    Frame& f = r.f;
    llvm::Value *begin = f.parameter(0), *end = f.parameter(1);
    r.return_if_none(begin, end);
    if (short_rows_ && ShortScans::suits(kernel_, r)) {
      short_rows_together(r, begin, end);
    } else if (ColumnScan::suits(kernel_, r)) {
      rows_side_by_side(r, begin, end);
    } else {
      rows_one_by_one(r, begin, end, r.first_item(begin, f.parameter(2)));
    }
    close(r);
  }

  void rows_one_by_one(ScanRows& r, llvm::Value* begin, llvm::Value* end, llvm::Value* first_item) {
    each_run(
        r.e, kernel_, begin, end, first_item, false,
        [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
        [&](const Run& run) { one_row(r, run); });
  }

  /// Rows along an outer dimension. One that several threads scan is alone.
  void rows_side_by_side(ScanRows& r, llvm::Value* begin, llvm::Value* end) {
    auto& b = r.b;
    ColumnScan columns(r, kernel_);
    llvm::Value* first_item = r.first_item(begin, r.f.parameter(2));
    const auto scan_together = [&] {
      each_run(
          r.e, kernel_, begin, end, first_item, true,
          [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
          [&](const Run& run) { columns.scan(run); });
    };
    if (short_rows_) return scan_together();
    llvm::BasicBlock *together = r.f.block("rows_across"), *alone = r.f.block("row_alone"),
                     *done = r.f.block("rows_done");
    b.CreateCondBr(b.CreateIsNull(given(r, offsetof(Scratch, state), ptr_)), together, alone);
    b.SetInsertPoint(together);
    scan_together();
    b.CreateBr(done);
    b.SetInsertPoint(alone);
    rows_one_by_one(r, begin, end, first_item);
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  /// One row per item, of different lengths: longer ones one by one.
  void short_rows_together(ScanRows& r, llvm::Value* begin, llvm::Value* end) {
    Frame& f = r.f;
    auto& b = r.b;
    ShortScans together(r, kernel_);
    llvm::BasicBlock *before = b.GetInsertBlock(), *header = f.block("rows"), *round = f.block("some_rows"),
                     *apart = f.block("row_apart"), *done = f.block("rows_done");
    b.CreateBr(header);
    b.SetInsertPoint(header);
    llvm::PHINode* item = b.CreatePHI(i64_, 3, "item");
    item->addIncoming(begin, before);
    b.CreateCondBr(b.CreateICmpSLT(item, end), round, done);
    b.SetInsertPoint(round);
    llvm::Value* next = together.scan(item, end);
    item->addIncoming(next, b.GetInsertBlock());
    b.CreateCondBr(b.CreateICmpEQ(next, item), apart, header);
    b.SetInsertPoint(apart);
    const auto here = r.e.mark();
    enter_item(r.e, kernel_, r.e.uniform(item));
    one_row(r, {item, {}, item, f.number(0), f.number(1)});
    r.e.undo(here);
    item->addIncoming(b.CreateAdd(item, f.number(1)), b.GetInsertBlock());
    b.CreateBr(header);
    b.SetInsertPoint(done);
  }

  void one_row(ScanRows& r, const Run& run) {
    const auto here = r.e.mark();
    r.bind_index(run.outer);
    llvm::Value* length = r.length(run.item);
    if (short_rows_)
      one_block_or_call(r, run, length);
    else
      scan_row(r, run, length);
    r.e.undo(here);
  }

  void one_block_or_call(ScanRows& r, const Run& run, llvm::Value* length) {
    Frame& f = r.f;
    auto& b = r.b;
    llvm::BasicBlock *one = f.block("one_block"), *several = f.block("several_blocks"),
                     *scanned = f.block("row_scanned");
    llvm::Value* is_short = b.CreateICmpSLE(length, f.number(ir::fold_order::block));
    f.branch_likely_weakly(is_short, one, several);
    b.SetInsertPoint(several);
    call_for_row(f, run);
    b.CreateBr(scanned);
    b.SetInsertPoint(one);
    const auto inside = r.e.mark();
    scan_row(r, run, length);
    r.e.undo(inside);
    b.CreateBr(scanned);
    b.SetInsertPoint(scanned);
  }

  void scan_row(ScanRows& r, const Run& run, llvm::Value* length) {
    Frame& f = r.f;
    auto& b = r.b;
    r.enter_row(length);
    // What a row without elements needs of its seed.
    const bool always_seed = r.has_totals() || r.has(Prefixes::all);
    Registers seed = r.nothing();
    if (always_seed) seed = r.seed();
    if (r.has(Prefixes::all)) {
      r.enter_outputs(run.item, run.outer);
      r.put_first(seed);
    }
    llvm::BasicBlock *some = f.block("filled"), *done = f.block("row_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(b.CreateICmpSLE(length, f.number(0)), done, some);
    b.SetInsertPoint(some);
    const auto inside = r.e.mark();
    if (r.seeded() && !always_seed) seed = r.seed();
    r.emit_row();
    if (!r.has(Prefixes::all)) r.enter_outputs(run.item, run.outer);
    if (r.has(Prefixes::exclusive)) r.put_first(seed);
    llvm::Value* last = b.CreateAnd(b.CreateSub(length, f.number(1)), f.number(-ir::fold_order::block));
    const Registers carry = short_rows_ ? seed : blocks_before(r, run, last, seed);
    Registers total = r.last_block(last, length, r.spread(carry));
    r.e.undo(inside);
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(done);
    if (r.has_totals()) r.put_total(r.merge(total, end, seed, before), run.position);
  }

  /// Scans the blocks before the last one, which begins at `last`, if that has not been done, and gives its carry.
  Registers blocks_before(ScanRows& r, const Run& run, llvm::Value* last, const Registers& seed) {
    Frame& f = r.f;
    auto& b = r.b;
    llvm::BasicBlock *several = f.block("several_blocks"), *compute = f.block("compute"),
                     *ready = f.block("ready"), *one = f.block("one_block");
    llvm::BasicBlock* before = b.GetInsertBlock();
    f.branch_likely_weakly(b.CreateICmpEQ(last, f.number(0)), one, several);
    b.SetInsertPoint(several);
    llvm::Value* kept = given(r, offsetof(Scratch, state), ptr_);
    b.CreateCondBr(b.CreateIsNull(kept), compute, ready);
    b.SetInsertPoint(compute);
    llvm::Value* own = r.cells(state_cells);
    llvm::Value* count = b.CreateSDiv(last, f.number(ir::fold_order::block));
    r.put(own, f.number(0), seed);  // left alone where the run is stopped
    b.CreateCall(blocks_, {f.args(), f.number(0), count, in_order(r, run, own)});
    f.leave_if_failed();
    llvm::BasicBlock* computed = b.GetInsertBlock();
    b.CreateBr(ready);
    b.SetInsertPoint(ready);
    llvm::PHINode* state = b.CreatePHI(ptr_, 2);
    state->addIncoming(kept, several);
    state->addIncoming(own, computed);
    const Registers carry = r.get(state, f.number(0));
    b.CreateBr(one);
    b.SetInsertPoint(one);
    return r.merge(carry, ready, seed, before);
  }

  /// A Scratch in the stack frame for blocks in one pass over this row.
  llvm::Value* in_order(ScanRows& r, const Run& run, llvm::Value* state) {
    llvm::Value* scratch = r.f.local(r.b.getInt8Ty(), sizeof(Scratch));
    const auto put = [&](std::size_t offset, llvm::Value* v) {
      r.b.CreateAlignedStore(v, r.b.CreateConstGEP1_64(r.b.getInt8Ty(), scratch, offset), llvm::Align(8));
    };
    put(offsetof(Scratch, row), run.position);
    put(offsetof(Scratch, row_item), run.item);
    put(offsetof(Scratch, partials), llvm::Constant::getNullValue(ptr_));
    put(offsetof(Scratch, state), state);
    return scratch;
  }

  llvm::Module& module_;
  const kernel::Kernel& kernel_;
  const Machine& machine_;
  const bool short_rows_;
  llvm::Type* i64_;
  llvm::Type* ptr_;
  llvm::Function* stage_ = nullptr;
  llvm::Function* blocks_ = nullptr;
};

}  // namespace

int emit_scan(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine, bool short_rows) {
  return Scan(module, kernel, machine, short_rows).emit();
}

}  // namespace anabranch::cpu
