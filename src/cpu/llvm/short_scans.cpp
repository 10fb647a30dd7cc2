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
           (output.array.form == kernel::Form::segmented &&
            (rows.has(Prefixes::all) ||
             (output.array.offsets == length.slot && output.array.offset_type == length.offsets)));
  };
  return rows.in_registers() && !rows.body_is_large() && rows.seed_is_known() && rows.operator_is_shared() &&
         kernel.domain.over_items && kernel.domain.extents.empty() && length.kind == Kind::ragged &&
         length.divisor_kind == Kind::constant && length.divisor == 1 && kernel::is_flat_fold(kernel) &&
         !kernel::checks_own_elements(kernel) && kernel::has_epilogue_along_rows(kernel) &&
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
  if (!r_.has_totals() && !all_prefixes()) return;
  for (std::size_t c = 0; c < r_.components(); ++c)
    kept_.push_back(r_.f.local(r_.e.memory_type_of(r_.type(c)), room + group));
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
  find_rows(item, end);
  llvm::BasicBlock *some = r_.f.block("some_elements"), *done = r_.f.block("elements_done");
  b.CreateCondBr(b.CreateICmpSGT(elements_, r_.f.number(0)), some, done);
  b.SetInsertPoint(some);
  if (r_.from_right()) note_places_backwards();
  scan_elements(item);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  if (all_prefixes()) put_rows(item);
  if (r_.has_totals()) put_totals(item);
  return b.CreateAdd(item, rows_);
}

/// The places of a row's elements; the next row overwrites what is behind this one.
void ShortScans::note_row(llvm::Value* at) {
  std::vector<llvm::Constant*> counted;
  for (unsigned i = 0; i < group; ++i) counted.push_back(r_.b.getInt8(static_cast<std::uint8_t>(i)));
  r_.b.CreateAlignedStore(llvm::ConstantVector::get(counted), r_.f.element(r_.b.getInt8Ty(), places_, at),
                          llvm::Align(1));
}

/// Counts the rows and their elements, and, from the left, notes the elements' places. How many elements are scanned:
/// whole groups, of which the last may go on into the rows behind, if these are computed here, since their own turn comes
/// later. Else it is masked.
void ShortScans::find_rows(llvm::Value* item, llvm::Value* end) {
  auto& b = r_.b;
  Frame& f = r_.f;
  llvm::Type* type = length_.offsets == OffsetType::int32 ? b.getInt32Ty() : b.getInt64Ty();
  offsets_ = f.element(type, f.buffer(length_.slot), item);
  first_ = f.number(0);
  first_ = offset(f.number(0));
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
  if (!r_.from_right()) note_row(at);
  row->addIncoming(next_row, note);
  at->addIncoming(next, note);
  b.CreateBr(header);
  b.SetInsertPoint(done);
  rows_ = row;
  elements_ = at;
  llvm::Value* whole = b.CreateAnd(b.CreateAdd(elements_, f.number(group - 1)), f.number(-group));
  scanned_ = b.CreateSelect(b.CreateICmpSLE(whole, offset(left)), whole, elements_);
}

/// The last row is the first in the order of the scan.
void ShortScans::note_places_backwards() {
  auto& b = r_.b;
  r_.f.each(r_.f.number(0), rows_, 1, "rows_backwards",
            [&](llvm::Value* i) { note_row(b.CreateSub(scanned_, offset(b.CreateSub(rows_, i)))); });
}

void ShortScans::scan_elements(llvm::Value* item) {
  auto& b = r_.b;
  Frame& f = r_.f;
  const auto here = r_.e.mark();
  enter_item(r_.e, kernel_, r_.e.uniform(item));
  r_.emit_row();
  r_.enter_row(scanned_);
  r_.enter_outputs(item, {});
  llvm::Value* full = b.CreateAnd(scanned_, f.number(-group));
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
  b.CreateCondBr(b.CreateICmpSLT(full, scanned_), rest, done);
  b.SetInsertPoint(rest);
  llvm::Value* count = b.CreateSub(scanned_, full);
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
  std::size_t count = r_.has(Prefixes::exclusive) ? 1 : 0;
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
  if (!kept_.empty()) keep(at, lanes);
  if (all_prefixes()) return kept;
  if (r_.has(Prefixes::exclusive)) lanes = in_turn(lanes, take(lanes, 1), places);
  r_.put_group(at, lanes, count);
  return kept;
}

llvm::Value* ShortScans::place_kept(std::size_t c, llvm::Value* element) const {
  return r_.f.element(r_.e.memory_type_of(r_.type(c)), kept_[c], r_.b.CreateAdd(element, r_.f.number(group)));
}

/// The inclusive prefixes of elements from this one on.
Registers ShortScans::get_kept(llvm::Value* element, int width) {
  Registers out;
  for (std::size_t c = 0; c < kept_.size(); ++c) {
    llvm::Type* cells = r_.e.memory_type_of(r_.type(c));
    if (width > 1) cells = llvm::FixedVectorType::get(cells, static_cast<unsigned>(width));
    llvm::Value* v = r_.b.CreateAlignedLoad(cells, place_kept(c, element), llvm::Align(size_of(r_.type(c))));
    out.push_back(r_.e.from_memory(r_.type(c), v));
  }
  return out;
}

/// Keeps a group's inclusive prefixes.
void ShortScans::keep(llvm::Value* at, const Parts& lanes) {
  auto& b = r_.b;
  for (std::size_t p = 0; p < parts_; ++p) {
    llvm::Value* from = b.CreateAdd(at, r_.f.number(static_cast<std::int64_t>(p) * width_));
    if (r_.from_right()) from = b.CreateSub(scanned_, b.CreateAdd(from, r_.f.number(width_)));
    for (std::size_t c = 0; c < kept_.size(); ++c) {
      llvm::Value* v = r_.e.to_memory(r_.type(c), lanes[p][c]);
      b.CreateAlignedStore(r_.from_right() ? r_.turned(v) : v, place_kept(c, from),
                           llvm::Align(size_of(r_.type(c))));
    }
  }
}

/// Copies all prefixes of the rows. More than a row's are copied where other rows come behind, which overwrite them.
void ShortScans::put_rows(llvm::Value* item) {
  auto& b = r_.b;
  const Registers seed = r_.seed();
  const auto places = [&](llvm::Value* row) {
    std::vector<llvm::Value*> out;
    for (const kernel::KernelOutput& output : kernel_.outputs)
      out.push_back(
          output.write == kernel::KernelOutput::Write::element
              ? r_.e.offset_at(output.array.offsets, output.array.offset_type, b.CreateAdd(item, row))
              : nullptr);
    return out;
  };
  const std::vector<llvm::Value*> ends = places(rows_);
  r_.f.each(r_.f.number(0), rows_, 1, "row_prefixes", [&](llvm::Value* row) {
    llvm::Value* from = offset(row);
    llvm::Value* count = b.CreateSub(offset(b.CreateAdd(row, r_.f.number(1))), from);
    std::vector<llvm::Value*> to = places(row);
    const auto put_seed = [&] {
      for (std::size_t o = 0; o < to.size(); ++o)
        if (to[o]) r_.put_at(o, r_.from_right() ? b.CreateAdd(to[o], count) : to[o], seed, nullptr);
    };
    if (!r_.from_right()) {
      put_seed();
      for (llvm::Value*& place : to)
        if (place) place = b.CreateAdd(place, r_.f.number(1));
    }
    put_row(from, count, to, ends);
    if (r_.from_right()) put_seed();
  });
}

/// `to`, `ends`: of the row and of all rows, per output.
void ShortScans::put_row(llvm::Value* from, llvm::Value* count, std::span<llvm::Value* const> to,
                         std::span<llvm::Value* const> ends) {
  auto& b = r_.b;
  Frame& f = r_.f;
  const auto put = [&](bool masked) {
    for (std::size_t p = 0; p < parts_; ++p) {
      llvm::Value* at = f.number(static_cast<std::int64_t>(p) * width_);
      const Registers values = get_kept(b.CreateAdd(from, at), width_);
      llvm::Value* mask = masked ? r_.lanes_below(count, at, width_) : nullptr;
      for (std::size_t o = 0; o < to.size(); ++o)
        if (to[o]) r_.put_at(o, b.CreateAdd(to[o], at), values, mask);
    }
  };
  llvm::Value* fits = b.getTrue();
  for (std::size_t o = 0; o < to.size(); ++o)
    if (to[o]) fits = b.CreateAnd(fits, b.CreateICmpSLE(b.CreateAdd(to[o], f.number(group)), ends[o]));
  llvm::BasicBlock *whole = f.block("whole_copy"), *masked = f.block("masked_copy"),
                   *done = f.block("copied");
  b.CreateCondBr(fits, whole, masked);
  b.SetInsertPoint(whole);
  put(false);
  b.CreateBr(done);
  b.SetInsertPoint(masked);
  put(true);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void ShortScans::put_totals(llvm::Value* item) {
  auto& b = r_.b;
  const Registers seed = r_.seed();
  r_.f.each(r_.f.number(0), rows_, 1, "row_totals", [&](llvm::Value* row) {
    llvm::Value *begin = offset(row), *end = offset(b.CreateAdd(row, r_.f.number(1)));
    llvm::Value* is_empty = b.CreateICmpEQ(end, begin);
    llvm::Value* last = r_.from_right() ? begin : b.CreateSub(end, r_.f.number(1));
    Registers total = get_kept(last, 1);
    for (std::size_t c = 0; c < total.size(); ++c) total[c] = b.CreateSelect(is_empty, seed[c], total[c]);
    r_.put_total(total, b.CreateAdd(item, row));
  });
}

}  // namespace anabranch::cpu
