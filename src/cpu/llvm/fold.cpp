#include <bit>
#include <cstddef>

#include "cpu/llvm/fold_rows.h"

/// The entries of the fold skeleton: whole rows, blocks of a long row, and the joining of their results.
///
/// entry0 (rows) holds code for short rows in place. It hands rows of one block to entry1 (blocks), and rows
/// of several to entry2 (finish), which then computes the blocks itself.
namespace anabranch::cpu {
namespace {

/// Rows below this length are reduced where they are met.
constexpr std::int64_t in_place = order::wide_from;

class Fold {
 public:
  Fold(llvm::Module& module, const plan::Kernel& kernel, const Machine& machine)
      : module_(module),
        kernel_(kernel),
        machine_(machine),
        i64_(llvm::Type::getInt64Ty(module.getContext())),
        ptr_(llvm::PointerType::getUnqual(module.getContext())) {
    // A register must hold whole lanes of the order; the narrow lanes always fit one emission.
    const int lanes = machine.forced_lanes ? machine.forced_lanes : suitable_lanes(kernel.body, machine);
    lanes_ = lanes == 1 ? 1
                        : std::clamp(lanes, static_cast<int>(order::narrow_lanes),
                                     static_cast<int>(order::wide_lanes));
  }

  void emit() {
    make_blocks();
    make_finish();
    make_rows();
  }

 private:
  Rows rows(const std::string& name) {
    const std::vector<llvm::Type*> types{i64_, i64_, ptr_};
    return Rows(module_, name, types, true, kernel_, machine_, lanes_);
  }

  void close(Rows& r) {
    r.b.CreateRetVoid();
    r.f.finish();
  }

  /// A row as the entries for long rows are given it.
  struct Given {
    llvm::Value *row, *item, *partials;
  };
  Given given(Rows& r) {
    const auto field = [&](std::size_t offset, llvm::Type* type) {
      return scratch_field(r.f, r.f.parameter(2), offset, type);
    };
    return {field(offsetof(Scratch, row), i64_), field(offsetof(Scratch, row_item), i64_),
            field(offsetof(Scratch, partials), ptr_)};
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
    Rows r = rows("entry1");
    blocks_ = r.f.function();
    blocks_->addFnAttr(llvm::Attribute::NoInline);
    Frame& f = r.f;
    auto& b = r.b;
    const Given row = given(r);
    r.enter(row.item, row.row);
    r.emit_row();
    llvm::Value* length = r.length(row.item);
    f.loop(f.parameter(0), f.parameter(1), 1, {}, "blocks", [&](llvm::Value* block, const auto&) {
      llvm::Value* begin = b.CreateMul(block, f.number(order::block));
      llvm::Value* count =
          b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(length, begin), f.number(order::block));
      r.put(row.partials, block, r.reduce_block(begin, count, true));
      return Registers{};
    });
    close(r);
  }

  /// entry2(args, _, end, scratch): the row's total from `end` partial results, the seed, the store. Where
  /// scratch->partials is null the results are computed here, one after the other.
  void make_finish() {
    Rows r = rows("entry2");
    finish_ = r.f.function();
    finish_->addFnAttr(llvm::Attribute::NoInline);
    Frame& f = r.f;
    auto& b = r.b;
    const Given row = given(r);
    r.enter(row.item, row.row);
    llvm::Value* stack = r.cells(64);
    llvm::Value* fresh = r.cells(1);
    llvm::Value* own = b.CreateIsNull(row.partials);
    const Registers depth =
        f.loop(f.number(0), f.parameter(1), 1, {f.number(0)}, "tree",
               [&](llvm::Value* block, const Registers& state) {
                 llvm::BasicBlock *compute = f.block("compute"), *ready = f.block("ready");
                 llvm::BasicBlock* before = b.GetInsertBlock();
                 b.CreateCondBr(own, compute, ready);
                 b.SetInsertPoint(compute);
                 // Blocks find their cell by their number, counted from `partials`.
                 llvm::Value* numbered = r.cell(fresh, b.CreateNeg(block), 0);
                 llvm::Value* after = b.CreateAdd(block, f.number(1));
                 b.CreateCall(blocks_, {f.args(), block, after, give(r, row.row, row.item, numbered)});
                 b.CreateBr(ready);
                 b.SetInsertPoint(ready);
                 llvm::PHINode* from = b.CreatePHI(ptr_, 2);
                 from->addIncoming(numbered, compute);
                 from->addIncoming(row.partials, before);
                 // Like adding one to a binary number: each trailing one bit of `block` joins two equal
                 // subtrees.
                 llvm::Value* joins =
                     b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b.CreateNot(block), b.getFalse());
                 Registers carried = r.get(from, block);
                 carried.push_back(state[0]);
                 Registers out =
                     f.loop(f.number(0), joins, 1, carried, "carry", [&](llvm::Value*, const Registers& s) {
                       llvm::Value* top = b.CreateSub(s.back(), f.number(1));
                       Registers next = r.join(r.get(stack, top), Registers(s.begin(), s.end() - 1));
                       next.push_back(top);
                       return next;
                     });
                 llvm::Value* top = out.back();
                 out.pop_back();
                 r.put(stack, top, out);
                 return Registers{b.CreateAdd(top, f.number(1))};
               });
    // What remains is joined from the right.
    llvm::Value* top = b.CreateSub(depth[0], f.number(1));
    const Registers total =
        f.loop(f.number(0), top, 1, r.get(stack, top), "total", [&](llvm::Value* i, const Registers& so_far) {
          return r.join(r.get(stack, b.CreateSub(b.CreateSub(top, f.number(1)), i)), so_far);
        });
    r.finish(total, row.row, nullptr);
    close(r);
  }

  /// entry0(args, begin, end, scratch): whole rows.
  void make_rows() {
    Rows r = rows("entry0");
    Frame& f = r.f;
    auto& b = r.b;
    llvm::Value *begin = f.parameter(0), *end = f.parameter(1);
    llvm::BasicBlock *some = f.block("some"), *none = f.block("none");
    b.CreateCondBr(b.CreateICmpSLT(begin, end), some, none);
    b.SetInsertPoint(none);
    b.CreateRetVoid();
    b.SetInsertPoint(some);
    llvm::Value* first = f.number(0);
    if (kernel_.output.form == plan::Form::segmented) {
      first = scratch_field(f, f.parameter(2), offsetof(Scratch, first_item), i64_);
    } else if (kernel_.over_items) {
      llvm::Value* size = f.number(1);
      for (const Value& extent : r.e.view(kernel_.output, r.e.uniform(f.number(0))).extents)
        size = b.CreateMul(size, extent.v);
      first = kernel_.output.extents.empty() ? begin : b.CreateUDiv(begin, size);
    }
    using Kind = plan::Extent::Kind;
    const bool lengths_differ = kernel_.length.kind == Kind::per_item || kernel_.length.kind == Kind::ragged;
    if (r.commutative() && !kernel_.seed.empty() && kernel_.over_items && kernel_.output.extents.empty() &&
        lengths_differ) {
      short_rows_apart(r, begin, end);
    } else {
      each_run(
          r.e, kernel_, begin, end, first, false,
          [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
          [&](const Run& run) { one_row(r, run); });
    }
    close(r);
  }

  /// One row an item, lengths that differ: runs of short rows get a loop of their own, which the registers
  /// and the code of longer rows do not burden. This is what a sparse matrix meets.
  void short_rows_apart(Rows& r, llvm::Value* begin, llvm::Value* end) {
    Frame& f = r.f;
    auto& b = r.b;
    llvm::BasicBlock *outer = f.block("rows"), *header = f.block("short_rows"), *look = f.block("look"),
                     *row = f.block("short_row"), *longer = f.block("longer_row"),
                     *done = f.block("rows_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateBr(outer);
    b.SetInsertPoint(outer);
    llvm::PHINode* from = b.CreatePHI(i64_, 2, "from");
    from->addIncoming(begin, before);
    b.CreateBr(header);

    b.SetInsertPoint(header);
    llvm::PHINode* item = b.CreatePHI(i64_, 2, "item");
    item->addIncoming(from, outer);
    b.CreateCondBr(b.CreateICmpSLT(item, end), look, done);
    b.SetInsertPoint(look);
    llvm::Value* length = r.length(item);
    f.branch_likely_weakly(b.CreateICmpSLE(length, f.number(order::sequential)), row, longer);

    b.SetInsertPoint(row);
    const auto here = r.e.mark();
    enter_item(r.e, kernel_, r.e.uniform(item));
    llvm::BasicBlock *some = f.block("some_elements"), *ready = f.block("row_done");
    llvm::BasicBlock* row_end = b.GetInsertBlock();
    const bool from_seed = seed_may_go_first(kernel_);
    const Registers none = from_seed ? r.seed() : r.identity(1);
    // The loop looks for itself whether there is an element, unless something comes before it.
    llvm::Value* enter = r.has_row_work() ? b.CreateICmpSGT(length, f.number(0)) : b.getTrue();
    f.branch_likely_weakly(enter, some, ready);
    b.SetInsertPoint(some);
    const auto inside = r.e.mark();
    r.emit_row();
    const Registers sum = r.sequential(f.number(0), length, none, r.base());
    r.e.undo(inside);
    llvm::BasicBlock* some_end = b.GetInsertBlock();
    b.CreateBr(ready);
    b.SetInsertPoint(ready);
    Registers total;
    for (std::size_t c = 0; c < r.components(); ++c) {
      llvm::PHINode* phi = b.CreatePHI(sum[c]->getType(), 2);
      phi->addIncoming(sum[c], some_end);
      phi->addIncoming(none[c], row_end);
      total.push_back(phi);
    }
    if (from_seed)
      r.put_out(total, item);
    else
      r.finish(total, item, nullptr);
    r.e.undo(here);
    item->addIncoming(b.CreateAdd(item, f.number(1)), b.GetInsertBlock());
    b.CreateBr(header);

    // The row's number passes through memory here: else it would be one value alive in all of the code for
    // longer rows, which has no register to spare, and the short rows' loop would count in memory.
    b.SetInsertPoint(longer);
    llvm::Value* kept = f.local(i64_);
    b.CreateStore(item, kept, /*isVolatile=*/true);
    llvm::Value* number = b.CreateLoad(i64_, kept, /*isVolatile=*/true);
    const auto there = r.e.mark();
    enter_item(r.e, kernel_, r.e.uniform(number));
    one_row(r, {number, {}, number, f.number(0), f.number(1)});
    r.e.undo(there);
    from->addIncoming(b.CreateAdd(number, f.number(1)), b.GetInsertBlock());
    b.CreateBr(outer);
    b.SetInsertPoint(done);
  }

  void one_row(Rows& r, const Run& run) {
    Frame& f = r.f;
    auto& b = r.b;
    const auto here = r.e.mark();
    r.bind_index(run.outer);
    llvm::Value* length = r.length(run.item);
    llvm::Value* empty = b.CreateICmpSLE(length, f.number(0));

    llvm::BasicBlock *filled = f.block("filled"), *in_blocks = f.block("in_blocks"),
                     *one = f.block("one_block"), *several = f.block("several_blocks"),
                     *done = f.block("row_done"), *stored = f.block("stored");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(empty, done, filled);
    Registers nothing;
    for (std::size_t c = 0; c < r.components(); ++c)
      nothing.push_back(r.commutative() && !kernel_.seed.empty()
                            ? r.identity(1)[c]
                            : llvm::Constant::getNullValue(r.e.type_of(r.type(c))));

    b.SetInsertPoint(filled);
    const auto limit = r.commutative() ? in_place - 1 : order::block;
    llvm::BasicBlock* short_row = f.block("short_row");
    f.branch_likely_weakly(b.CreateICmpSLE(length, f.number(limit)), short_row, in_blocks);
    b.SetInsertPoint(short_row);
    const auto row_values = r.e.mark();
    r.emit_row();
    const Registers total = r.reduce_block(f.number(0), length, false);
    r.e.undo(row_values);
    llvm::BasicBlock* short_end = b.GetInsertBlock();
    b.CreateBr(done);

    b.SetInsertPoint(in_blocks);
    b.CreateCondBr(b.CreateICmpSLE(length, f.number(order::block)), one, several);
    b.SetInsertPoint(one);
    llvm::Value* result = r.cells(1);
    b.CreateCall(blocks_, {f.args(), f.number(0), f.number(1), give(r, run.position, run.item, result)});
    const Registers long_total = r.get(result, f.number(0));
    llvm::BasicBlock* one_end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(several);
    llvm::Value* blocks =
        b.CreateLShr(b.CreateAdd(length, f.number(order::block - 1)),
                     static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(order::block))));
    llvm::Value* none = llvm::Constant::getNullValue(ptr_);
    b.CreateCall(finish_, {f.args(), f.number(0), blocks, give(r, run.position, run.item, none)});
    b.CreateBr(stored);

    b.SetInsertPoint(done);
    Registers all;
    for (std::size_t c = 0; c < r.components(); ++c) {
      llvm::PHINode* phi = b.CreatePHI(total[c]->getType(), 3);
      phi->addIncoming(nothing[c], before);
      phi->addIncoming(total[c], short_end);
      phi->addIncoming(long_total[c], one_end);
      all.push_back(phi);
    }
    if (kernel_.seed.empty()) {
      llvm::BasicBlock *failed = f.block("empty_fold"), *next = f.block("store");
      f.branch_likely(b.CreateNot(empty), next, failed);
      b.SetInsertPoint(failed);
      f.record(empty_check(), f.number(0), f.number(0));
      b.CreateBr(next);
      b.SetInsertPoint(next);
    }
    r.finish(std::move(all), run.position, empty);
    b.CreateBr(stored);
    b.SetInsertPoint(stored);
    r.e.undo(here);
  }

  int empty_check() const {
    for (std::size_t i = 0; i < kernel_.checks.size(); ++i)
      if (kernel_.checks[i].kind == plan::Check::Kind::empty_fold) return static_cast<int>(i);
    throw InternalError("fold kernel: no check for empty rows");
  }

  llvm::Module& module_;
  const plan::Kernel& kernel_;
  const Machine& machine_;
  llvm::Type* i64_;
  llvm::Type* ptr_;
  int lanes_ = 1;
  llvm::Function* blocks_ = nullptr;
  llvm::Function* finish_ = nullptr;
};

}  // namespace

int emit_fold(llvm::Module& module, const plan::Kernel& kernel, const Machine& machine) {
  Fold(module, kernel, machine).emit();
  return 3;
}

}  // namespace anabranch::cpu
