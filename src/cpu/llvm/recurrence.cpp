#include "cpu/llvm/row_code.h"
#include "kernel/access.h"

/// The recurrence skeleton: each row from its first element on. The lanes of a vector are rows that follow each other,
/// items where each has one row, else along the innermost dimension of the domain. Rows that do not fill a vector, or
/// whose lengths differ much, are computed one after the other.
namespace anabranch::cpu {
namespace {

/// A vector's rows differ little in length if the longest is no longer than this many times the shortest, and a bit.
constexpr std::int64_t times_longer = 2, bit_longer = 64;
/// Elements of a row between two looks at the stop word.
constexpr std::int64_t elements_at_a_time = 1 << 14;

class Recurrence {
 public:
  Recurrence(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine)
      : kernel_(kernel),
        form_(std::get<kernel::Recurrence>(kernel.form)),
        types_{llvm::Type::getInt64Ty(module.getContext()), llvm::Type::getInt64Ty(module.getContext()),
               llvm::PointerType::getUnqual(module.getContext())},
        r_(module, "entry0", types_, true, kernel, machine),
        initial_(form_.initial),
        rows_are_items_(kernel::lanes_of(kernel).kind == kernel::Lanes::Kind::items) {
    lanes_ = machine.forced_lanes ? machine.forced_lanes : suitable_lanes(kernel.body, machine);
    if (kernel::lanes_of(kernel).kind == kernel::Lanes::Kind::alone) lanes_ = 1;
    if (rows_are_items_) {
      for (const auto& array : kernel.arrays)
        if (array.form != kernel::Form::avoided) r_.e.set_level(*array.parameter, Level::lane);
      for (const auto& scalar : kernel.scalars)
        if (!scalar.value.same_for_all()) r_.e.set_level(*scalar.parameter, Level::lane);
    }
    if (!kernel.index.empty()) r_.e.set_level(*kernel.index.back(), Level::lane);
  }

  void emit() {
    llvm::Value *begin = r_.f.parameter(0), *end = r_.f.parameter(1);
    r_.return_if_none(begin, end);
    if (rows_are_items_)
      rows(begin, end, [&](llvm::Value* item) {
        enter_item(r_.e, kernel_, r_.e.affine(item, 1));
        row({r_.e.affine(item, 1), {}});
      });
    else
      each_run(
          r_.e, kernel_, begin, end, r_.first_item(begin, r_.f.parameter(2)), !kernel_.domain.extents.empty(),
          [&](llvm::Value* item) { enter_item(r_.e, kernel_, r_.e.uniform(item)); },
          [&](const Run& run) { rows_of_run(run); });
    r_.b.CreateRetVoid();
    r_.f.finish();
  }

 private:
  /// One row, or one in each lane.
  struct RowAt {
    Value item;
    Values index;
  };

  void rows_of_run(const Run& run) {
    const auto here = r_.e.mark();
    Values index;
    for (llvm::Value* i : run.outer) index.push_back(r_.e.uniform(i));
    for (std::size_t d = 0; d < index.size(); ++d) r_.e.bind(*kernel_.index[d], {index[d]});
    rows(run.lo, run.hi, [&](llvm::Value* i) {
      Values all = index;
      if (!kernel_.index.empty()) {
        all.push_back(r_.e.affine(i, 1));
        r_.e.bind(*kernel_.index.back(), {all.back()});
      }
      row({r_.e.uniform(run.item), all});
    });
    r_.e.undo(here);
  }

  /// Rows [begin, end): `code(i)` is the code for row i, or for those of the lanes from i on.
  template <class Code>
  void rows(llvm::Value* begin, llvm::Value* end, Code&& code) {
    Frame& f = r_.f;
    auto& b = r_.b;
    const auto one_by_one = [&](llvm::Value* from, llvm::Value* to) {
      f.each(from, to, 1, "rows", [&](llvm::Value* i) {
        const auto here = r_.e.mark();
        code(i);
        r_.e.undo(here);
      });
    };
    if (lanes_ == 1) return one_by_one(begin, end);
    llvm::BasicBlock *before = b.GetInsertBlock(), *header = f.block("some_rows"), *round = f.block("look"),
                     *together = f.block("together"), *apart = f.block("apart"), *done = f.block("rows_done");
    b.CreateBr(header);
    b.SetInsertPoint(header);
    llvm::PHINode* first = b.CreatePHI(f.i64(), 3, "row");
    first->addIncoming(begin, before);
    b.CreateCondBr(b.CreateICmpSLT(first, end), round, done);

    b.SetInsertPoint(round);
    llvm::Value* behind =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(first, f.number(lanes_)), end);
    llvm::BasicBlock* full = f.block("full");
    b.CreateCondBr(b.CreateICmpEQ(b.CreateSub(behind, first), f.number(lanes_)), full, apart);
    b.SetInsertPoint(full);
    b.CreateCondBr(are_alike(first), together, apart);

    b.SetInsertPoint(together);
    const auto here = r_.e.mark();
    r_.e.width = lanes_;
    code(first);
    r_.e.width = 1;
    r_.e.undo(here);
    first->addIncoming(behind, b.GetInsertBlock());
    b.CreateBr(header);

    b.SetInsertPoint(apart);
    one_by_one(first, behind);
    first->addIncoming(behind, b.GetInsertBlock());
    b.CreateBr(header);
    b.SetInsertPoint(done);
  }

  llvm::Value* reduced(llvm::Intrinsic::ID id, llvm::Value* lanes) {
    return r_.b.CreateIntrinsic(id, {lanes->getType()}, {lanes});
  }

  /// Are the rows of the lanes from here on about equally long?
  llvm::Value* are_alike(llvm::Value* first) {
    auto& b = r_.b;
    if (!rows_are_items_ || form_.row.length.same_for_all()) return b.getTrue();
    r_.e.width = lanes_;
    llvm::Value* lengths = r_.e.lanes(r_.e.extent(form_.row.length, r_.e.affine(first, 1)));
    r_.e.width = 1;
    llvm::Value* limit =
        b.CreateMul(reduced(llvm::Intrinsic::vector_reduce_smin, lengths), r_.f.number(times_longer));
    limit = b.CreateAdd(limit, r_.f.number(bit_longer));
    return b.CreateICmpSLE(reduced(llvm::Intrinsic::vector_reduce_smax, lengths), limit);
  }

  /// The lanes' rows.
  void row(const RowAt& at) {
    Frame& f = r_.f;
    auto& b = r_.b;
    Emitter& e = r_.e;
    const Value length = e.extent(form_.row.length, at.item);
    llvm::Value *longest = length.v, *lengths = nullptr;
    if (!length.uniform()) {
      lengths = e.lanes(length);
      longest = reduced(llvm::Intrinsic::vector_reduce_smax, lengths);
    }
    llvm::BasicBlock *some = f.block("elements"), *done = f.block("row_done");
    b.CreateCondBr(b.CreateICmpSGT(longest, f.number(0)), some, done);
    b.SetInsertPoint(some);
    const auto here = e.mark();
    const std::vector<Value> places = places_of(at, length);
    const auto active = [&](llvm::Value* k) {
      return lengths ? b.CreateICmpSLT(e.lanes(e.uniform(k)), lengths) : nullptr;
    };
    e.mask = active(f.number(0));
    r_.emit_row();
    e.emit_region(initial_, 0);
    Registers state;
    for (const auto& root : form_.initial) state.push_back(e.lanes(e.value(root)));
    e.mask = nullptr;
    f.loop(f.number(0), longest, elements_at_a_time, state, "parts",
           [&](llvm::Value* begin, const Registers& at_first) {
             f.leave_if_stopped();
             llvm::Value* end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, longest,
                                                        b.CreateAdd(begin, f.number(elements_at_a_time)));
             return f.loop(begin, end, 1, at_first, "elements", [&](llvm::Value* k, const Registers& now) {
               e.mask = active(k);
               const Registers next = element(k, now, places);
               e.mask = nullptr;
               return next;
             });
           });
    e.undo(here);
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  /// Per output: where the rows' first elements go.
  std::vector<Value> places_of(const RowAt& at, const Value& length) {
    std::vector<Value> places;
    for (const kernel::KernelOutput& output : kernel_.outputs) {
      const ItemPart part = r_.e.part(output.array, at.item);
      Value row = r_.e.uniform(r_.f.number(0));
      for (std::size_t d = 0; d < at.index.size(); ++d)
        row = r_.e.add(r_.e.multiply(row, part.extents[d]), at.index[d]);
      places.push_back(r_.e.add(part.base, r_.e.multiply(row, length)));
    }
    return places;
  }

  /// The states after element k, which are stored.
  Registers element(llvm::Value* k, const Registers& state, const std::vector<Value>& places) {
    Emitter& e = r_.e;
    const auto here = e.mark();
    e.bind(*form_.row.index, {e.uniform(k)});
    for (std::size_t c = 0; c < state.size(); ++c) e.bind(*form_.state[c], {e.varying(state[c])});
    r_.emit_elements();
    Registers next;
    for (const auto& root : kernel_.body) next.push_back(e.lanes(e.value(root)));
    const Registers stored = r_.stored(next);
    for (std::size_t o = 0; o < kernel_.outputs.size(); ++o) {
      const kernel::KernelOutput& output = kernel_.outputs[o];
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
        e.store(r_.f.buffer(output.array.first_buffer + static_cast<int>(c)),
                r_.stored_type(output.first + c), e.add(places[o], e.uniform(k)),
                e.varying(stored[output.first + c]));
    }
    e.undo(here);
    return next;
  }

  const kernel::Kernel& kernel_;
  const kernel::Recurrence& form_;
  llvm::Type* types_[3];
  RowCode r_;
  Regions initial_;
  bool rows_are_items_;
  int lanes_ = 1;
};

}  // namespace

int emit_recurrence(llvm::Module& module, const kernel::Kernel& kernel, const Machine& machine) {
  Recurrence(module, kernel, machine).emit();
  return 1;
}

}  // namespace anabranch::cpu
