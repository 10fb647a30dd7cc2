#include "cpu/llvm/short_scans.h"

#include <algorithm>

#include "kernel/pointwise.h"

namespace anabranch::cpu {

using ir::scan_order::group;

bool ShortScans::suits(const kernel::Kernel& kernel, const ScanRows& rows) {
  using Kind = kernel::KernelExtent::Kind;
  const kernel::KernelExtent& length = kernel::row_of(kernel)->length;
  const auto lie_like_rows = [&](const kernel::KernelOutput& output) {
    return output.write == kernel::KernelOutput::Write::position ||
           (output.array.form == kernel::Form::segmented && output.array.offsets == length.slot &&
            output.array.offset_type == length.offsets);
  };
  return rows.in_registers() && !rows.body_is_large() && rows.seed_is_known() && kernel.domain.over_items &&
         kernel.domain.extents.empty() && length.kind == Kind::ragged &&
         length.divisor_kind == Kind::constant && length.divisor == 1 && kernel::is_flat_fold(kernel) &&
         !kernel::checks_own_elements(kernel) &&
         std::all_of(kernel.outputs.begin(), kernel.outputs.end(), lie_like_rows);
}

ShortScans::ShortScans(ScanRows& rows, const kernel::Kernel& kernel)
    : r_(rows),
      kernel_(kernel),
      length_(kernel::row_of(kernel)->length),
      width_(rows.lanes()),
      parts_(static_cast<std::size_t>(group / rows.lanes())) {
  // The last row may begin at the last element that there is room for, and its last group go on behind it.
  constexpr auto room = static_cast<std::uint64_t>(capacity + 3 * group);
  places_ = r_.f.local(r_.b.getInt8Ty(), room);
  unknown_zero_ = r_.b.CreateLShr(r_.f.items(), 63);
  if (!r_.has_totals()) return;
  for (std::size_t c = 0; c < r_.components(); ++c)
    totals_.push_back(r_.f.local(r_.e.memory_type_of(r_.type(c)), room));
}

/// Where a row begins, counted in elements and rows from the first one here.
llvm::Value* ShortScans::offset(llvm::Value* row) const {
  llvm::Type* type = length_.offsets == OffsetType::int32 ? r_.b.getInt32Ty() : r_.b.getInt64Ty();
  llvm::Value* at = r_.f.element(type, offsets_, row);
  llvm::Value* found = r_.f.load_constant(type, at, type->getIntegerBitWidth() / 8);
  return r_.b.CreateSub(r_.b.CreateSExt(found, r_.f.i64()), first_);
}

llvm::Value* ShortScans::scan(llvm::Value* item, llvm::Value* end) {
  auto& b = r_.b;
  note_places(item, end);
  llvm::BasicBlock *some = r_.f.block("some_elements"), *done = r_.f.block("elements_done");
  b.CreateCondBr(b.CreateICmpSGT(elements_, r_.f.number(0)), some, done);
  b.SetInsertPoint(some);
  scan_elements(item, end);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  if (r_.has_totals()) put_totals(item);
  return b.CreateAdd(item, rows_);
}

/// Counts the rows and their elements, and notes the elements' places: 0 1 2 ... from each row's beginning
/// on, as the next row overwrites what is behind this one.
void ShortScans::note_places(llvm::Value* item, llvm::Value* end) {
  auto& b = r_.b;
  Frame& f = r_.f;
  llvm::Type* type = length_.offsets == OffsetType::int32 ? b.getInt32Ty() : b.getInt64Ty();
  offsets_ = f.element(type, f.buffer(length_.slot), item);
  first_ = f.number(0);
  first_ = offset(f.number(0));
  std::vector<llvm::Constant*> counted;
  for (unsigned i = 0; i < group; ++i) counted.push_back(b.getInt8(static_cast<std::uint8_t>(i)));
  llvm::Value* left = b.CreateSub(end, item);
  llvm::BasicBlock *before = b.GetInsertBlock(), *header = f.block("short_rows"), *look = f.block("row"),
                   *note = f.block("note"), *done = f.block("noted");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::PHINode *row = b.CreatePHI(f.i64(), 2), *at = b.CreatePHI(f.i64(), 2);
  row->addIncoming(f.number(0), before);
  at->addIncoming(f.number(0), before);
  llvm::Value* fits = b.CreateAnd(b.CreateICmpSLT(row, left), b.CreateICmpSLT(at, f.number(capacity)));
  b.CreateCondBr(fits, look, done);
  b.SetInsertPoint(look);
  llvm::Value* next_row = b.CreateAdd(row, f.number(1));
  llvm::Value* next = offset(next_row);
  b.CreateCondBr(b.CreateICmpSLE(b.CreateSub(next, at), f.number(group)), note, done);
  b.SetInsertPoint(note);
  b.CreateAlignedStore(llvm::ConstantVector::get(counted), f.element(b.getInt8Ty(), places_, at),
                       llvm::Align(1));
  row->addIncoming(next_row, note);
  at->addIncoming(next, note);
  b.CreateBr(header);
  b.SetInsertPoint(done);
  rows_ = row;
  elements_ = at;
}

/// Whole groups are computed, of which the last may go on into the rows behind, if these are computed here:
/// their own turn comes later. Else it is masked.
void ShortScans::scan_elements(llvm::Value* item, llvm::Value* end) {
  auto& b = r_.b;
  Frame& f = r_.f;
  const auto here = r_.e.mark();
  enter_item(r_.e, kernel_, r_.e.uniform(item));
  r_.emit_row();
  r_.enter_outputs(item, {}, f.number(0));
  const auto whole = [&](llvm::Value* count) { return b.CreateAnd(count, f.number(-group)); };
  llvm::Value* given = whole(offset(b.CreateSub(end, item)));
  llvm::Value* wanted = whole(b.CreateAdd(elements_, f.number(group - 1)));
  llvm::Value* full = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, given, wanted);
  const std::size_t n = r_.components();
  const auto flat = [](const Parts& parts) {
    Registers out;
    for (const Registers& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  };
  const auto parts_of = [&](const Registers& all) {
    Parts out;
    for (std::size_t i = 0; i < all.size(); i += n)
      out.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i),
                       all.begin() + static_cast<std::ptrdiff_t>(i + n));
    return out;
  };
  const Registers before =
      f.loop(f.number(0), full, group, flat(history()), "groups", [&](llvm::Value* at, const Registers& all) {
        return flat(scan_group(at, r_.group_elements(at), parts_of(all), nullptr));
      });
  llvm::BasicBlock *rest = f.block("rest"), *done = f.block("rest_done");
  b.CreateCondBr(b.CreateICmpSLT(full, elements_), rest, done);
  b.SetInsertPoint(rest);
  llvm::Value* count = b.CreateSub(elements_, full);
  scan_group(full, r_.group_in_memory(full, count), parts_of(before), count);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  r_.e.undo(here);
}

/// Vectors of the group before that a step looks at.
std::size_t ShortScans::parts_before(int by) const {
  return static_cast<std::size_t>(std::max(by / width_, 1));
}

/// What there is before the first group: anything, as no element there has one to its left.
ScanRows::Parts ShortScans::history() {
  std::size_t count = r_.exclusive() ? 1 : 0;
  for (int by = 1; by < group; by *= 2) count += parts_before(by);
  return Parts(count, r_.spread(r_.nothing()));
}

std::vector<llvm::Value*> ShortScans::places_from(llvm::Value* at) {
  auto& b = r_.b;
  llvm::Type* type = llvm::FixedVectorType::get(b.getInt8Ty(), static_cast<unsigned>(width_));
  std::size_t bytes = 1;  // compared in registers as wide as the elements'
  for (std::size_t c = 0; c < r_.components(); ++c) bytes = std::max(bytes, size_of(r_.type(c)));
  llvm::Type* wide = llvm::FixedVectorType::get(b.getIntNTy(static_cast<unsigned>(8 * bytes)),
                                                static_cast<unsigned>(width_));
  std::vector<llvm::Value*> out;
  for (std::size_t p = 0; p < parts_; ++p) {
    llvm::Value* from = b.CreateAdd(at, r_.f.number(static_cast<std::int64_t>(p) * width_));
    llvm::Value* places =
        b.CreateAlignedLoad(type, r_.f.element(b.getInt8Ty(), places_, from), llvm::Align(1));
    out.push_back(b.CreateZExt(places, wide));
  }
  return out;
}

llvm::Value* ShortScans::at_least(llvm::Value* places, int number) {
  // Not a constant: else LLVM would compare bytes, and then widen the mask for each vector.
  llvm::Value* below = r_.b.CreateAdd(unknown_zero_, r_.f.number(number - 1));
  auto* type = llvm::cast<llvm::FixedVectorType>(places->getType());
  llvm::Value* all =
      r_.b.CreateVectorSplat(type->getNumElements(), r_.b.CreateTrunc(below, type->getElementType()));
  return r_.b.CreateICmpSGT(places, all);
}

/// One step of the scan: lane j = lane j - by o lane j, where both are of one row. `before`: the lanes of the
/// group before, as they were before this step.
ScanRows::Parts ShortScans::step(const Parts& lanes, const Parts& before,
                                 const std::vector<llvm::Value*>& places, int by) {
  Parts all = before;
  all.insert(all.end(), lanes.begin(), lanes.end());
  Parts out = lanes;
  for (std::size_t p = 0; p < parts_; ++p) {
    const std::size_t own = before.size() + p;
    const Registers left = by < width_ ? r_.shifted(all[own - 1], all[own], by)
                                       : all[own - static_cast<std::size_t>(by / width_)];
    const Registers joined = r_.join(left, lanes[p]);
    llvm::Value* has_left = at_least(places[p], by);
    for (std::size_t c = 0; c < joined.size(); ++c)
      out[p][c] = r_.b.CreateSelect(has_left, joined[c], lanes[p][c]);
  }
  return out;
}

/// The exclusive prefixes: each element's are the inclusive ones of that to its left, or the seed.
ScanRows::Parts ShortScans::in_turn(const Parts& inclusive, const Parts& before,
                                    const std::vector<llvm::Value*>& places) {
  const Registers seed = r_.spread(r_.seed());
  Parts out;
  for (std::size_t p = 0; p < parts_; ++p) {
    Registers left = r_.shifted(p ? inclusive[p - 1] : before[0], inclusive[p], 1);
    llvm::Value* has_left = at_least(places[p], 1);
    for (std::size_t c = 0; c < left.size(); ++c) left[c] = r_.b.CreateSelect(has_left, left[c], seed[c]);
    out.push_back(std::move(left));
  }
  return out;
}

/// Scans a group of elements from `at` on, of which `count` are stored (null: all). Takes and gives for each
/// step the last vectors of the group before.
ScanRows::Parts ShortScans::scan_group(llvm::Value* at, Parts lanes, Parts before, llvm::Value* count) {
  const auto places = places_from(at);
  auto old = before.begin();
  const auto last = [&](const Parts& of, std::size_t some) {
    return Parts(of.end() - static_cast<std::ptrdiff_t>(some), of.end());
  };
  Parts kept;
  const auto take = [&](const Parts& now, std::size_t some) {
    const Parts mine(old, old + static_cast<std::ptrdiff_t>(some));
    old += static_cast<std::ptrdiff_t>(some);
    const Parts next = last(now, some);
    kept.insert(kept.end(), next.begin(), next.end());
    return mine;
  };
  for (int by = 1; by < group; by *= 2) lanes = step(lanes, take(lanes, parts_before(by)), places, by);
  if (r_.seeded()) {
    const Registers seed = r_.spread(r_.seed());
    for (Registers& part : lanes) part = r_.join(seed, part);
  }
  for (std::size_t p = 0; p < parts_ && r_.has_totals(); ++p) {
    llvm::Value* from = r_.b.CreateAdd(at, r_.f.number(static_cast<std::int64_t>(p) * width_));
    for (std::size_t c = 0; c < totals_.size(); ++c) {
      llvm::Type* cell = r_.e.memory_type_of(r_.type(c));
      r_.b.CreateAlignedStore(r_.e.to_memory(r_.type(c), lanes[p][c]), r_.f.element(cell, totals_[c], from),
                              llvm::Align(size_of(r_.type(c))));
    }
  }
  if (r_.exclusive()) lanes = in_turn(lanes, take(lanes, 1), places);
  r_.put_group(at, lanes, count);
  return kept;
}

void ShortScans::put_totals(llvm::Value* item) {
  auto& b = r_.b;
  const Registers seed = r_.seed();
  r_.f.loop(r_.f.number(0), rows_, 1, {}, "row_totals", [&](llvm::Value* row, const auto&) {
    llvm::Value* end = offset(b.CreateAdd(row, r_.f.number(1)));
    llvm::Value* is_empty = b.CreateICmpEQ(end, offset(row));
    // Of an empty row that is the first one, too, there is no element before the end.
    llvm::Value* last = b.CreateSelect(is_empty, end, b.CreateSub(end, r_.f.number(1)));
    Registers total;
    for (std::size_t c = 0; c < totals_.size(); ++c) {
      llvm::Type* cell = r_.e.memory_type_of(r_.type(c));
      llvm::Value* v =
          b.CreateAlignedLoad(cell, r_.f.element(cell, totals_[c], last), llvm::Align(size_of(r_.type(c))));
      total.push_back(b.CreateSelect(is_empty, seed[c], r_.e.from_memory(r_.type(c), v)));
    }
    r_.put_total(total, b.CreateAdd(item, row));
    return Registers{};
  });
}

}  // namespace anabranch::cpu
