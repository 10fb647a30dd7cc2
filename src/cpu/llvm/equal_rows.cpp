#include "cpu/llvm/equal_rows.h"

#include <algorithm>

#include "kernel/access.h"
#include "kernel/pointwise.h"

namespace anabranch::cpu {

using kernel::KernelExtent;

bool EqualRows::has_short_rows(const kernel::Kernel& kernel, const Rows& rows) {
  const auto alone = [](const kernel::KernelOutput& output) { return output.of == 1; };
  const KernelExtent& length = kernel::reduce_of(kernel).row.length;
  const bool is_long = length.kind == KernelExtent::Kind::constant && length.value >= order::wide_from;
  return rows.commutative() && rows.stores_flat() && rows.in_vectors() &&
         kernel.domain.form != kernel::Form::segmented && length.same_for_all() && !is_long &&
         std::all_of(kernel.outputs.begin(), kernel.outputs.end(), alone) && rows.seed_is_shared();
}

bool EqualRows::suits(const kernel::Kernel& kernel, const Rows& rows) {
  return has_short_rows(kernel, rows) && rows.body_is_small() &&
         (kernel.domain.over_items || !kernel.domain.extents.empty()) && kernel::is_flat_fold(kernel) &&
         !kernel::checks_own_elements(kernel);
}

bool EqualRows::suits_apart(const kernel::Kernel& kernel, const Rows& rows) {
  if (!has_short_rows(kernel, rows) || !rows.costs_little() || !rows.has_wide_types() ||
      kernel.domain.extents.empty())
    return false;
  const kernel::Accesses accesses(kernel);
  return std::all_of(accesses.reads().begin(), accesses.reads().end(), [&](const ir::Node* read) {
    const kernel::AccessPattern pattern = kernel::pattern_of(accesses.of(*read));
    return pattern == kernel::AccessPattern::contiguous || pattern == kernel::AccessPattern::broadcast;
  });
}

EqualRows::EqualRows(Rows& rows)
    : r_(rows),
      f_(rows.f),
      b_(rows.b),
      width_(rows.narrow_width()),
      parts_(static_cast<std::size_t>(order::narrow_lanes / rows.narrow_width())) {}

llvm::Value* EqualRows::are_short(llvm::Value* length) const {
  // More than no elements, and so few that the order has the narrow lanes only.
  return b_.CreateICmpULT(b_.CreateSub(length, f_.number(1)), f_.number(order::wide_from - 1));
}

llvm::Value* EqualRows::reduce(llvm::Value* begin, llvm::Value* end, llvm::Value* length,
                               llvm::Value* scratch) {
  llvm::Value* groups = b_.CreateUDiv(b_.CreateSub(end, begin), f_.number(width_));
  llvm::Value* left = b_.CreateAdd(begin, b_.CreateMul(groups, f_.number(width_)));
  f_.each(begin, left, width_, "rows_of_one_length", [&](llvm::Value* position) {
    const auto here = r_.e.mark();
    r_.enter(r_.first_item(position, scratch), position);
    r_.emit_row();
    const Registers totals = group(length, [&](int row, llvm::Value* from, llvm::Value* present) {
      llvm::Value* at = b_.CreateAdd(b_.CreateMul(length, f_.number(row)), from);
      return present ? r_.some_elements(at, present, width_) : r_.elements(at, width_);
    });
    r_.finish_rows(totals, position, width_);
    r_.e.undo(here);
  });
  return left;
}

llvm::Value* EqualRows::reduce_apart(const Run& run, llvm::Value* length) {
  llvm::Value* groups = b_.CreateUDiv(b_.CreateSub(run.hi, run.lo), f_.number(width_));
  llvm::Value* stop = b_.CreateAdd(run.lo, b_.CreateMul(groups, f_.number(width_)));
  stop = b_.CreateSelect(are_short(length), stop, run.lo);
  llvm::BasicBlock *before = b_.GetInsertBlock(), *header = f_.block("rows_apart"),
                   *some = f_.block("group_apart"), *failing = f_.block("group_fails"),
                   *done = f_.block("groups_done");
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* first = b_.CreatePHI(f_.i64(), 2, "first");
  first->addIncoming(run.lo, before);
  b_.CreateCondBr(b_.CreateICmpSLT(first, stop), some, done);

  // Nothing is stored before all rows of the group have been computed. One by one, the first that fails tells it.
  b_.SetInsertPoint(some);
  f_.on_failure = failing;
  const auto here = r_.e.mark();
  r_.prefetches = false;  // there are as many rows to wait for as the processor knows how to
  std::vector<llvm::Value*> index = run.outer;
  index.push_back(first);
  std::vector<Emitter::Bindings> rows;  // what a row's elements share
  for (int row = 0; row < width_; ++row) {
    const auto of_row = r_.e.mark();
    index.back() = b_.CreateAdd(first, f_.number(row));
    r_.bind_index(index);
    r_.emit_row();
    rows.push_back(r_.e.made_since(of_row));
    r_.e.undo(of_row);
  }
  const Registers totals = group(length, [&](int row, llvm::Value* from, llvm::Value* present) {
    const auto of_row = r_.e.mark();
    r_.e.bind(rows[static_cast<std::size_t>(row)]);
    Registers out = present ? r_.some_elements(from, present, width_) : r_.elements(from, width_);
    r_.e.undo(of_row);
    return out;
  });
  r_.finish_rows(totals, b_.CreateAdd(run.position, b_.CreateSub(first, run.lo)), width_);
  r_.e.undo(here);
  f_.on_failure = nullptr;
  r_.prefetches = true;
  first->addIncoming(b_.CreateAdd(first, f_.number(width_)), b_.GetInsertBlock());
  b_.CreateBr(header);
  b_.SetInsertPoint(failing);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  return first;
}

EqualRows::Lanes EqualRows::lanes_of(const Registers& all) const {
  Lanes out;
  const auto n = static_cast<std::ptrdiff_t>(r_.components());
  for (auto at = all.begin(); at != all.end(); at += n) out.emplace_back(at, at + n);
  return out;
}

Registers EqualRows::flat(const Lanes& lanes) const {
  Registers out;
  for (const Registers& each : lanes) out.insert(out.end(), each.begin(), each.end());
  return out;
}

/// With elements [from, from + narrow lanes) of each row. `left`: of these there are so many; null: all.
EqualRows::Lanes EqualRows::joined(Lanes lanes, llvm::Value* from, llvm::Value* left,
                                   const Elements& elements) {
  for (int row = 0; row < width_; ++row)
    for (std::size_t p = 0; p < parts_; ++p) {
      Registers& mine = lanes[p * static_cast<std::size_t>(width_) + static_cast<std::size_t>(row)];
      llvm::Value* before = f_.number(static_cast<std::int64_t>(p) * width_);
      llvm::Value* present = left ? r_.first_lanes(b_.CreateSub(left, before), width_) : nullptr;
      mine = r_.join(mine, elements(row, b_.CreateAdd(from, before), present));
    }
  return lanes;
}

/// The totals of some rows, one a lane.
Registers EqualRows::group(llvm::Value* length, const Elements& elements) {
  const Lanes none(parts_ * static_cast<std::size_t>(width_), r_.identity(width_));
  llvm::Value* whole = b_.CreateAnd(length, f_.number(-order::narrow_lanes));
  const Registers of_whole = f_.loop(f_.number(0), whole, order::narrow_lanes, flat(none), "lanes",
                                     [&](llvm::Value* from, const Registers& all) {
                                       return flat(joined(lanes_of(all), from, nullptr, elements));
                                     });
  llvm::BasicBlock *some = f_.block("left"), *done = f_.block("lanes_done");
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::Value* left = b_.CreateSub(length, whole);
  b_.CreateCondBr(b_.CreateICmpSGT(left, f_.number(0)), some, done);
  b_.SetInsertPoint(some);
  const Lanes with_left = joined(lanes_of(of_whole), whole, left, elements);
  llvm::BasicBlock* some_end = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  Lanes lanes = lanes_of(r_.merge(flat(with_left), some_end, of_whole, before));
  for (std::size_t half = parts_ / 2; half >= 1; half /= 2)
    for (std::size_t i = 0; i < half * static_cast<std::size_t>(width_); ++i)
      lanes[i] = r_.join(lanes[i], lanes[i + half * static_cast<std::size_t>(width_)]);
  lanes.resize(static_cast<std::size_t>(width_));
  return r_.join_rows(std::move(lanes));
}

}  // namespace anabranch::cpu
