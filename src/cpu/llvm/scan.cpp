#include "cpu/llvm/block_tree.h"
#include "cpu/llvm/short_scans.h"

/// The scan skeleton:
///   entry0 (rows)  whole rows: of each the last block, after a call of `blocks` where there are others
///   blocks         the blocks of a row but the last, and the tree that joins their totals to the carries
namespace anabranch::cpu {
namespace {

class Scan {
 public:
  Scan(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine)
      : module_(module),
        kernel_(kernel),
        machine_(machine),
        i64_(llvm::Type::getInt64Ty(module.getContext())),
        ptr_(llvm::PointerType::getUnqual(module.getContext())) {}

  void emit() {
    make_blocks();
    make_rows();
  }

 private:
  ScanRows function(const std::string& name, const std::vector<llvm::Type*>& types, bool entry) {
    return ScanRows(module_, name, types, entry, kernel_, machine_);
  }

  void close(ScanRows& r) {
    r.b.CreateRetVoid();
    r.f.finish();
  }

  /// blocks(args, row, item, count, cells): scans the first `count` blocks of the row, which is longer. The
  /// cells hold the seed, if there is one, and then the carry of the block that follows.
  void make_blocks() {
    ScanRows r = function("blocks", {i64_, i64_, i64_, ptr_}, false);
    blocks_ = r.f.function();
    blocks_->addFnAttr(llvm::Attribute::NoInline);
    auto& b = r.b;
    llvm::Value *row = r.f.parameter(0), *item = r.f.parameter(1), *cells = r.f.parameter(3);
    const auto index = r.enter(item, row);
    r.enter_outputs(item, index, r.length(item));
    r.emit_row();
    const Registers seed = r.get(cells, r.f.number(0));
    BlockTree tree(r);
    Registers state = seed;
    state.push_back(r.f.number(0));
    state = r.f.loop(r.f.number(0), r.f.parameter(2), 1, state, "blocks",
                     [&](llvm::Value* block, const Registers& now) {
                       const Registers carry(now.begin(), now.end() - 1);
                       llvm::Value* begin = b.CreateMul(block, r.f.number(ir::fold_order::block));
                       const Registers total = r.whole_block(begin, r.spread(carry));
                       llvm::Value* depth = tree.push(block, now.back(), total);
                       Registers next = tree.total(depth);
                       if (r.seeded()) next = r.join(seed, next);
                       next.push_back(depth);
                       return next;
                     });
    state.pop_back();
    r.put(cells, r.f.number(0), state);
    close(r);
  }

  /// entry0(args, begin, end, scratch): whole rows.
  void make_rows() {
    ScanRows r = function("entry0", {i64_, i64_, ptr_}, true);
    Frame& f = r.f;
    llvm::Value *begin = f.parameter(0), *end = f.parameter(1);
    r.return_if_none(begin, end);
    if (ShortScans::suits(kernel_, r)) {
      short_rows_together(r, begin, end);
    } else {
      each_run(
          r.e, kernel_, begin, end, r.first_item(begin, f.parameter(2)), false,
          [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
          [&](const Run& run) { one_row(r, run); });
    }
    close(r);
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
    Frame& f = r.f;
    auto& b = r.b;
    const auto here = r.e.mark();
    r.bind_index(run.outer);
    llvm::Value* length = r.length(run.item);
    // A row without elements needs its seed for its total only.
    Registers seed = r.nothing();
    if (r.has_totals()) seed = r.seed();
    llvm::BasicBlock *some = f.block("filled"), *done = f.block("row_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(b.CreateICmpSLE(length, f.number(0)), done, some);
    b.SetInsertPoint(some);
    const auto inside = r.e.mark();
    if (r.seeded() && !r.has_totals()) seed = r.seed();
    r.emit_row();
    r.enter_outputs(run.item, run.outer, length);
    if (r.exclusive()) r.put_first(seed);
    llvm::Value* last = b.CreateAnd(b.CreateSub(length, f.number(1)), f.number(-ir::fold_order::block));
    const Registers carry = blocks_before(r, run, last, seed);
    Registers total = r.last_block(last, length, r.spread(carry));
    r.e.undo(inside);
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(done);
    if (r.has_totals()) r.put_total(r.merge(total, end, seed, before), run.position);
    r.e.undo(here);
  }

  /// Scans the blocks before the last one, which begins at `last`, and gives its carry.
  Registers blocks_before(ScanRows& r, const Run& run, llvm::Value* last, const Registers& seed) {
    Frame& f = r.f;
    auto& b = r.b;
    llvm::BasicBlock *several = f.block("several_blocks"), *one = f.block("one_block");
    llvm::BasicBlock* before = b.GetInsertBlock();
    f.branch_likely_weakly(b.CreateICmpEQ(last, f.number(0)), one, several);
    b.SetInsertPoint(several);
    llvm::Value* cells = r.cells(1);
    r.put(cells, f.number(0), seed);
    llvm::Value* count = b.CreateSDiv(last, f.number(ir::fold_order::block));
    b.CreateCall(blocks_, {f.args(), run.position, run.item, count, cells});
    const Registers carry = r.get(cells, f.number(0));
    b.CreateBr(one);
    b.SetInsertPoint(one);
    return r.merge(carry, several, seed, before);
  }

  llvm::Module& module_;
  const kernel::Kernel& kernel_;
  const Machine& machine_;
  llvm::Type* i64_;
  llvm::Type* ptr_;
  llvm::Function* blocks_ = nullptr;
};

}  // namespace

int emit_scan(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine) {
  Scan(module, kernel, machine).emit();
  return 1;
}

}  // namespace anabranch::cpu
