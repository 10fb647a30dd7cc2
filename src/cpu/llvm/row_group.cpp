#include "cpu/llvm/row_group.h"

#include "kernel/pointwise.h"

namespace anabranch::cpu {

bool RowGroup::suits(const kernel::Kernel& kernel, const Rows& rows) {
  constexpr std::size_t most_components = 8;  // for each of which rows have lanes side by side, and a buffer
  const kernel::Row& row = kernel::reduce_of(kernel).row;
  const auto alone = [](const kernel::KernelOutput& output) { return output.of == 1; };
  return std::all_of(kernel.outputs.begin(), kernel.outputs.end(), alone) && rows.commutative() &&
         rows.stores_flat() && rows.components() <= most_components && rows.in_vectors() &&
         kernel.domain.over_items && kernel.domain.extents.empty() &&
         row.length.kind == kernel::KernelExtent::Kind::ragged && kernel::is_flat_fold(kernel) &&
         !kernel::checks_own_elements(kernel) && rows.seed_is_shared();
}

RowGroup::RowGroup(Rows& rows, const kernel::Kernel& kernel)
    : r_(rows),
      kernel_(kernel),
      length_(kernel::reduce_of(kernel).row.length),
      width_(rows.narrow_width()),
      capacity_(width_ * longest_row),
      in_place_(rows.body_is_small()) {
  // Loads beyond a row's end, whose values are not used, stay within the buffer.
  for (std::size_t c = 0; !in_place_ && c < r_.components(); ++c)
    buffers_.push_back(r_.f.local(r_.e.memory_type_of(r_.type(c)),
                                  static_cast<std::uint64_t>(capacity_ + longest_row + order::narrow_lanes)));
  lengths_ = r_.f.local(r_.f.i64(), static_cast<std::uint64_t>(vectors * width_));
}

llvm::Type* RowGroup::offset_type() const {
  return length_.offsets == OffsetType::int32 ? r_.b.getInt32Ty() : r_.b.getInt64Ty();
}

/// The offset of a row, counted from the group's first one, or the end of the last one.
llvm::Value* RowGroup::offset(llvm::Value* row) const {
  llvm::Value* at = r_.f.element(offset_type(), offsets_, row);
  return r_.b.CreateSExt(r_.f.load_constant(offset_type(), at, offset_type()->getIntegerBitWidth() / 8),
                         r_.f.i64());
}

/// Of as many rows as a vector has lanes, in the offsets' type.
llvm::Value* RowGroup::lengths_from(llvm::Value* row) const {
  llvm::Type* type = llvm::FixedVectorType::get(offset_type(), static_cast<unsigned>(width_));
  const auto offsets_from = [&](llvm::Value* first) {
    return r_.f.load_constant(type, r_.f.element(offset_type(), offsets_, first),
                              offset_type()->getIntegerBitWidth() / 8);
  };
  return r_.b.CreateSub(offsets_from(r_.b.CreateAdd(row, r_.f.number(1))), offsets_from(row));
}

/// One bit: is any of these lengths larger?
llvm::Value* RowGroup::any_above(llvm::Value* lengths, std::int64_t most) const {
  return r_.e.any_lane(r_.b.CreateICmpUGT(
      lengths, llvm::ConstantInt::get(lengths->getType(), static_cast<std::uint64_t>(most))));
}

llvm::Value* RowGroup::look(llvm::Value* item, llvm::Value* end, llvm::BasicBlock* together,
                            llvm::BasicBlock* apart) {
  auto& b = r_.b;
  Frame& f = r_.f;
  llvm::BasicBlock *before = b.GetInsertBlock(), *several = f.block("several_vectors"),
                   *counted = f.block("counted");
  offsets_ = f.element(offset_type(), f.buffer(length_.slot), item);
  first_ = offset(f.number(0));
  llvm::Value* left = b.CreateSub(end, item);
  llvm::Value *most = f.number(vectors * width_), *one = f.number(width_);
  llvm::Value* few = b.CreateSelect(b.CreateICmpSGE(left, one), one, f.number(0));
  f.branch_likely_weakly(b.CreateICmpSGE(left, most), several, counted);
  // Several vectors of rows, if their elements fit.
  b.SetInsertPoint(several);
  llvm::Value* total = b.CreateSub(offset(most), first_);
  llvm::Value* many = b.CreateSelect(b.CreateICmpSLE(total, f.number(capacity_)), most, one);
  b.CreateCondBr(are_long(total), apart, counted);
  b.SetInsertPoint(counted);
  rows_ = r_.merge({many}, several, {few}, before)[0];
  llvm::Value* rows_apart = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, one);
  f.branch_likely_weakly(are_short(left), together, apart);
  llvm::BasicBlock* looked = b.GetInsertBlock();
  b.SetInsertPoint(apart);
  return r_.merge({most}, several, {rows_apart}, looked)[0];
}

/// One bit: are rows that have so many elements, as many as a group has, better computed one by one?
llvm::Value* RowGroup::are_long(llvm::Value* total) {
  if (!r_.falls_behind()) return r_.b.getFalse();
  const auto rows_of = [&](std::int64_t length) { return r_.f.number(vectors * width_ * length); };
  llvm::Value* in_caches = r_.b.CreateICmpEQ(r_.f.ahead(), r_.f.number(0));
  return r_.b.CreateICmpSGE(total,
                            r_.b.CreateSelect(in_caches, rows_of(long_in_caches), rows_of(long_in_memory)));
}

/// One bit: is none of `rows` too long to be in a group?
llvm::Value* RowGroup::are_short(llvm::Value* left) {
  auto& b = r_.b;
  Frame& f = r_.f;
  total_ = b.CreateSub(offset(rows_), first_);
  llvm::Type* wide = llvm::FixedVectorType::get(f.i64(), static_cast<unsigned>(width_));
  llvm::Type* narrow = llvm::FixedVectorType::get(offset_type(), static_cast<unsigned>(width_));
  // An empty row without a seed is looked for as a longest one: its length less one.
  const bool takes_empty = kernel::all_seeded(kernel::reduce_of(kernel_));
  llvm::Value* one = llvm::ConstantInt::get(narrow, takes_empty ? 0 : 1);
  const Registers longest = f.loop(
      f.number(0), rows_, width_, {llvm::Constant::getNullValue(narrow)}, "lengths",
      [&](llvm::Value* row, const Registers& so_far) {
        llvm::Value* lengths = lengths_from(row);
        b.CreateAlignedStore(b.CreateSExt(lengths, wide), f.element(f.i64(), lengths_, row), llvm::Align(8));
        return Registers{
            b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, so_far[0], b.CreateSub(lengths, one))};
      });
  // Whole vectors are computed, of which the last may go on into the rows behind: only so far as rows are
  // computed here. At least one element also excludes a group of no rows.
  llvm::Value* whole = b.CreateAnd(b.CreateAdd(total_, f.number(width_ - 1)), f.number(-width_));
  llvm::Value* given = b.CreateSub(offset(left), first_);
  llvm::Value* fits = b.CreateAnd(b.CreateICmpSLE(whole, given), b.CreateICmpSGT(total_, f.number(0)));
  return b.CreateAnd(b.CreateNot(any_above(longest[0], takes_empty ? longest_row : longest_row - 1)), fits);
}

/// Computes the elements of all rows, and those behind them that complete the last vector.
void RowGroup::compute_elements() {
  auto& b = r_.b;
  Frame& f = r_.f;
  if (!r_.falls_behind()) return compute_each_element();
  // In the caches the instructions that prefetch would be a tenth of the work.
  llvm::BasicBlock *near = f.block("in_caches"), *far = f.block("in_memory"), *done = f.block("computed");
  b.CreateCondBr(b.CreateICmpEQ(f.ahead(), f.number(0)), near, far);
  for (const bool prefetches : {false, true}) {
    b.SetInsertPoint(prefetches ? far : near);
    r_.prefetches = prefetches;
    compute_each_element();
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
}

/// In a loop over positions in memory, so that addresses need no addition.
void RowGroup::compute_each_element() {
  auto& b = r_.b;
  llvm::Value* base = r_.base();
  Registers buffers;
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    buffers.push_back(r_.f.element(r_.e.memory_type_of(r_.type(c)), buffers_[c], b.CreateNeg(base)));
  r_.f.each(base, b.CreateAdd(base, total_), width_, "elements", [&](llvm::Value* at) {
    const Registers values = r_.elements(b.CreateSub(at, base), width_);
    for (std::size_t c = 0; c < values.size(); ++c) {
      llvm::Type* type = r_.e.memory_type_of(r_.type(c));
      b.CreateAlignedStore(r_.e.to_memory(r_.type(c), values[c]), r_.f.element(type, buffers[c], at),
                           llvm::Align(size_of(r_.type(c))));
    }
  });
}

/// Where the current rows begin.
std::vector<RowGroup::Start> RowGroup::starts_of_rows() {
  std::vector<Start> rows(static_cast<std::size_t>(width_));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    llvm::Value* row = r_.b.CreateAdd(row_, r_.f.number(static_cast<std::int64_t>(i)));
    rows[i].element = r_.b.CreateSub(offset(row), first_);
    for (std::size_t c = 0; c < buffers_.size(); ++c)
      rows[i].in_buffers.push_back(
          r_.f.element(r_.e.memory_type_of(r_.type(c)), buffers_[c], rows[i].element));
  }
  return rows;
}

/// A vector of elements of a row, `at` elements behind its start, with the identity in the lanes that are not
/// present. `at` null: 0.
Registers RowGroup::load(const Start& start, llvm::Value* at, llvm::Value* present) {
  auto& b = r_.b;
  if (in_place_) {
    // The processor does not foresee which lines masked reads of short rows touch.
    r_.e.ahead = r_.f.ahead();
    Registers out = r_.some_elements(at ? b.CreateAdd(start.element, at) : start.element, present, width_);
    r_.e.ahead = nullptr;
    return out;
  }
  const Registers none = r_.identity(width_);
  Registers out;
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    llvm::Type* cell = r_.e.memory_type_of(r_.type(c));
    llvm::Value* from = at ? r_.f.element(cell, start.in_buffers[c], at) : start.in_buffers[c];
    llvm::Value* all = b.CreateAlignedLoad(llvm::FixedVectorType::get(cell, static_cast<unsigned>(width_)),
                                           from, llvm::Align(size_of(r_.type(c))));
    out.push_back(b.CreateSelect(present, r_.e.from_memory(r_.type(c), all), none[c]));
  }
  return out;
}

/// The lengths of the current rows less each lane's number: lane j of a vector of elements [k, k + width) is
/// present where this is larger than k.
std::vector<llvm::Value*> RowGroup::lengths_less_lane() {
  auto& b = r_.b;
  llvm::Value* lanes = r_.lane_numbers(width_);
  std::vector<llvm::Value*> rows(static_cast<std::size_t>(width_));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    llvm::Value* at =
        r_.f.element(r_.f.i64(), lengths_, b.CreateAdd(row_, r_.f.number(static_cast<std::int64_t>(i))));
    llvm::Value* length = b.CreateAlignedLoad(r_.f.i64(), at, llvm::Align(8));
    rows[i] = b.CreateSub(r_.splat(length, lanes->getType()), lanes);
  }
  return rows;
}

/// Rows of at most a vector's elements.
std::vector<Registers> RowGroup::lanes_of_short(const std::vector<Start>& starts) {
  const std::vector<llvm::Value*> lengths = lengths_less_lane();
  llvm::Value* none = llvm::Constant::getNullValue(lengths[0]->getType());
  std::vector<Registers> rows;
  for (std::size_t i = 0; i < starts.size(); ++i)
    rows.push_back(load(starts[i], nullptr, r_.b.CreateICmpSGT(lengths[i], none)));
  return rows;
}

/// Rows of up to `longest` elements, one after the other: the order in which they lie in memory. Each takes as many rounds as
/// the longest one, which branches foresee.
std::vector<Registers> RowGroup::lanes_row_by_row(const std::vector<Start>& starts, llvm::Value* longest) {
  auto& b = r_.b;
  const auto count = static_cast<std::size_t>(order::narrow_lanes / width_);
  const std::vector<llvm::Value*> lengths = lengths_less_lane();
  const Rows::Parts none(count, r_.identity(width_));
  std::vector<Registers> rows;
  for (std::size_t row = 0; row < starts.size(); ++row) {
    const Registers lanes = r_.f.loop(
        r_.f.number(0), longest, order::narrow_lanes, r_.flat(none), "lanes",
        [&](llvm::Value* from, const Registers& all) {
          Rows::Parts parts = r_.parts_of(all, count);
          for (std::size_t p = 0; p < count; ++p) {
            llvm::Value* at = b.CreateAdd(from, r_.f.number(static_cast<std::int64_t>(p) * width_));
            llvm::Value* present = b.CreateICmpSGT(lengths[row], r_.splat(at, lengths[row]->getType()));
            parts[p] = r_.join(parts[p], load(starts[row], at, present));
          }
          return r_.flat(parts);
        });
    const Rows::Parts parts = r_.parts_of(lanes, count);
    rows.push_back(parts[0]);
    for (std::size_t p = 1; p < count; ++p) rows.back() = r_.join(rows.back(), parts[p]);
  }
  return rows;
}

/// The same of rows that are in the buffers, side by side.
std::vector<Registers> RowGroup::lanes_side_by_side(const std::vector<Start>& starts, llvm::Value* longest) {
  auto& b = r_.b;
  const auto parts = static_cast<std::size_t>(order::narrow_lanes / width_);
  const std::size_t n = r_.components();
  Registers lanes;  // part after part, row after row
  for (std::size_t i = 0; i < starts.size() * parts; ++i)
    for (llvm::Value* v : r_.identity(width_)) lanes.push_back(v);
  const auto lanes_of = [&](const Registers& all, std::size_t part, std::size_t row) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>((part * starts.size() + row) * n);
    return Registers(first, first + static_cast<std::ptrdiff_t>(n));
  };
  const std::vector<llvm::Value*> lengths = lengths_less_lane();
  lanes =
      r_.f.loop(r_.f.number(0), longest, order::narrow_lanes, lanes, "lanes",
                [&](llvm::Value* from, const Registers& all) {
                  Registers next;
                  for (std::size_t p = 0; p < parts; ++p) {
                    llvm::Value* at = b.CreateAdd(from, r_.f.number(static_cast<std::int64_t>(p) * width_));
                    llvm::Value* splat = r_.splat(at, lengths[0]->getType());
                    for (std::size_t row = 0; row < starts.size(); ++row) {
                      const Registers elements = load(starts[row], at, b.CreateICmpSGT(lengths[row], splat));
                      for (llvm::Value* v : r_.join(lanes_of(all, p, row), elements)) next.push_back(v);
                    }
                  }
                  return next;
                });
  std::vector<Registers> rows;
  for (std::size_t row = 0; row < starts.size(); ++row) {
    Registers whole = lanes_of(lanes, 0, row);
    for (std::size_t p = 1; p < parts; ++p) whole = r_.join(whole, lanes_of(lanes, p, row));
    rows.push_back(std::move(whole));
  }
  return rows;
}

/// The totals of the current vector of rows.
Registers RowGroup::totals() {
  auto& b = r_.b;
  llvm::Value* lengths = lengths_from(row_);
  const std::vector<Start> starts = starts_of_rows();
  llvm::BasicBlock *longer = r_.f.block("longer_rows"), *shorter = r_.f.block("shorter_rows"),
                   *done = r_.f.block("totals");
  b.CreateCondBr(any_above(lengths, width_), longer, shorter);
  b.SetInsertPoint(longer);
  llvm::Value* longest = b.CreateSExt(b.CreateIntMaxReduce(lengths, true), r_.f.i64());
  const std::vector<Registers> of_longer =
      in_place_ ? lanes_row_by_row(starts, longest) : lanes_side_by_side(starts, longest);
  llvm::BasicBlock* longer_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(shorter);
  const std::vector<Registers> of_shorter = lanes_of_short(starts);
  llvm::BasicBlock* shorter_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  std::vector<Registers> rows;
  for (std::size_t row = 0; row < of_longer.size(); ++row)
    rows.push_back(r_.merge(of_longer[row], longer_end, of_shorter[row], shorter_end));
  return r_.join_rows(std::move(rows));
}

void RowGroup::compute(llvm::Value* item) {
  const auto here = r_.e.mark();
  enter_item(r_.e, kernel_, r_.e.uniform(item));
  r_.emit_row();
  if (!in_place_) compute_elements();
  r_.f.each(r_.f.number(0), rows_, width_, "vectors_of_rows", [&](llvm::Value* row) {
    row_ = row;
    r_.finish_rows(totals(), r_.b.CreateAdd(item, row), width_);
  });
  r_.e.undo(here);
}

}  // namespace anabranch::cpu
