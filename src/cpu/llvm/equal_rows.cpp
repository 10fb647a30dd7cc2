#include "cpu/llvm/equal_rows.h"

#include <algorithm>

#include "kernel/pointwise.h"

namespace anabranch::cpu {

bool EqualRows::suits(const kernel::Kernel& kernel, const Rows& rows) {
  const kernel::Reduce& reduce = kernel::reduce_of(kernel);
  const auto alone = [](const kernel::KernelOutput& output) { return output.of == 1; };
  return rows.commutative() && rows.stores_flat() && rows.in_vectors() && rows.body_is_small() &&
         kernel.domain.form != kernel::Form::segmented &&
         (kernel.domain.over_items || !kernel.domain.extents.empty()) &&
         std::all_of(kernel.outputs.begin(), kernel.outputs.end(), alone) &&
         reduce.row.length.same_for_all() && kernel::is_flat_fold(kernel) &&
         !kernel::checks_own_elements(kernel) && rows.seed_is_shared();
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
    group(position, length, scratch);
    r_.e.undo(here);
  });
  return left;
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

/// With elements [from, from + narrow lanes) of each row; `elements` gives a part of them by where it begins.
template <class Elements>
EqualRows::Lanes EqualRows::joined(Lanes lanes, llvm::Value* from, llvm::Value* length, Elements&& elements) {
  for (int row = 0; row < width_; ++row) {
    llvm::Value* begin = b_.CreateAdd(b_.CreateMul(length, f_.number(row)), from);
    for (std::size_t p = 0; p < parts_; ++p) {
      Registers& mine = lanes[p * static_cast<std::size_t>(width_) + static_cast<std::size_t>(row)];
      llvm::Value* at = b_.CreateAdd(begin, f_.number(static_cast<std::int64_t>(p) * width_));
      mine = r_.join(mine, elements(at, p));
    }
  }
  return lanes;
}

void EqualRows::group(llvm::Value* position, llvm::Value* length, llvm::Value* scratch) {
  r_.enter(r_.first_item(position, scratch), position);
  r_.emit_row();
  const Lanes none(parts_ * static_cast<std::size_t>(width_), r_.identity(width_));
  llvm::Value* whole = b_.CreateAnd(length, f_.number(-order::narrow_lanes));
  const Registers of_whole =
      f_.loop(f_.number(0), whole, order::narrow_lanes, flat(none), "lanes",
              [&](llvm::Value* from, const Registers& all) {
                return flat(joined(lanes_of(all), from, length,
                                   [&](llvm::Value* at, std::size_t) { return r_.elements(at, width_); }));
              });
  llvm::BasicBlock *some = f_.block("left"), *done = f_.block("lanes_done");
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::Value* left = b_.CreateSub(length, whole);
  b_.CreateCondBr(b_.CreateICmpSGT(left, f_.number(0)), some, done);
  b_.SetInsertPoint(some);
  const Lanes with_left = joined(lanes_of(of_whole), whole, length, [&](llvm::Value* at, std::size_t p) {
    llvm::Value* count = b_.CreateSub(left, f_.number(static_cast<std::int64_t>(p) * width_));
    return r_.some_elements(at, r_.first_lanes(count, width_), width_);
  });
  llvm::BasicBlock* some_end = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  Lanes lanes = lanes_of(r_.merge(flat(with_left), some_end, of_whole, before));
  for (std::size_t half = parts_ / 2; half >= 1; half /= 2)
    for (std::size_t i = 0; i < half * static_cast<std::size_t>(width_); ++i)
      lanes[i] = r_.join(lanes[i], lanes[i + half * static_cast<std::size_t>(width_)]);
  lanes.resize(static_cast<std::size_t>(width_));
  r_.finish_rows(r_.join_rows(std::move(lanes)), position, width_);
}

}  // namespace anabranch::cpu
