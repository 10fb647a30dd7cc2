#include "cpu/llvm/scan_rows.h"

#include <algorithm>
#include <functional>

#include "ir/walk.h"

namespace anabranch::cpu {

using ir::scan_order::group;

namespace {

/// Operators up to this cost are written out for all steps and vectors of a group.
constexpr std::int64_t unrolled_cost = 16;
/// Values, of all components, that the vectors of a group may be in registers.
constexpr std::size_t most_registers = 32;
/// Cells before a group in memory that a shift by half a group may read, and behind it that the second of two
/// vectors may.
constexpr std::int64_t before_group = group, behind_group = group;
constexpr std::int64_t group_cells = before_group + group + behind_group;

}  // namespace

ScanRows::ScanRows(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> types,
                   bool entry, const kernel::Kernel& kernel, const Machine& machine)
    : RowCode(module, name, types, entry, kernel, machine),
      scan_(std::get<kernel::Scan>(kernel.form)),
      reduction_(scan_.reduction),
      combine_(reduction_.combine),
      seed_(reduction_.seed),
      interior_(e, body_, kernel.body, *row_.index) {
  e.emit_certain(seed_, Level::launch);
  std::vector<ir::Ref> bodies = kernel.body;
  bodies.insert(bodies.end(), reduction_.combine.begin(), reduction_.combine.end());
  lanes_ = machine.forced_lanes ? machine.forced_lanes : suitable_lanes(bodies, machine);
  lanes_ = std::min(lanes_, static_cast<int>(group));
  const auto vectors = static_cast<std::size_t>(group / lanes_);
  in_registers_ = lanes_ > 1 && combine_[0].total && combine_[0].cost <= unrolled_cost &&
                  vectors * components() <= most_registers;
  for (std::size_t c = 0; c < components(); ++c) {
    llvm::Type* cell = e.memory_type_of(type(c));
    // In whole lines of the cache.
    const std::size_t bytes = (static_cast<std::size_t>(group_cells) * size_of(type(c)) + 63) / 64 * 64;
    llvm::Value* place = f.local(cell, bytes / size_of(type(c)));
    // Lanes that hold no element are computed, too: from anything, but not from nothing.
    llvm::Type* line = llvm::FixedVectorType::get(b.getInt8Ty(), 64);
    for (std::size_t at = 0; at < bytes; at += 64)
      b.CreateAlignedStore(llvm::Constant::getNullValue(line), b.CreateConstGEP1_64(b.getInt8Ty(), place, at),
                           llvm::Align(64));
    group_.push_back(f.element(cell, place, f.number(before_group)));
  }
}

bool ScanRows::has_totals() const {
  return std::any_of(kernel_.outputs.begin(), kernel_.outputs.end(), [](const kernel::KernelOutput& o) {
    return o.write == kernel::KernelOutput::Write::position;
  });
}

bool ScanRows::is_staged() const {
  std::vector<bool> is_written(components());
  for (const kernel::KernelOutput& o : kernel_.outputs)
    if (o.write == kernel::KernelOutput::Write::element)
      std::fill_n(is_written.begin() + static_cast<std::ptrdiff_t>(o.first), o.array.type.scalars.size(),
                  true);
  return body_is_large() && !scan_.axis && !has_epilogue() &&
         std::all_of(is_written.begin(), is_written.end(), std::identity());
}

Registers ScanRows::join(const Registers& x, const Registers& y) {
  return apply(combine_, reduction_.left, reduction_.right, reduction_.combine, x, y);
}

bool ScanRows::seed_is_known() const { return seed_[0].total && same_for_all_rows(seed_, reduction_.seed); }

bool ScanRows::operator_is_shared() const {
  const auto is_known = [&](const ir::Node* p) {
    return ir::is_among(reduction_.left, p) || ir::is_among(reduction_.right, p) ||
           e.level_of(*p) == Level::launch;
  };
  return std::all_of(reduction_.combine.begin(), reduction_.combine.end(), [&](const ir::Ref& result) {
    return std::all_of(result->free().begin(), result->free().end(), is_known);
  });
}

Registers ScanRows::nothing() {
  Registers out;
  for (const ScalarType type : types_) out.push_back(llvm::Constant::getNullValue(e.type_of(type)));
  return out;
}

Registers ScanRows::spread(const Registers& scalars) {
  if (!in_registers_) return scalars;
  Registers out;
  for (llvm::Value* v : scalars) out.push_back(b.CreateVectorSplat(static_cast<unsigned>(lanes_), v));
  return out;
}

/// All lanes of a carry are equal. LLVM before 22 exchanges the operands of a subtraction or division when it
/// keeps only one lane of what a loop carries (llvm/llvm-project#169120), so it is not to know which one.
Registers ScanRows::one_of(const Registers& carry, llvm::Value* unknown) {
  if (!in_registers_) return carry;
  llvm::Value* is_odd = b.CreateTrunc(unknown, b.getInt1Ty());
  Registers out;
  for (llvm::Value* v : carry)
    out.push_back(b.CreateSelect(is_odd, b.CreateExtractElement(v, std::uint64_t{0}),
                                 b.CreateExtractElement(v, static_cast<std::uint64_t>(lanes_ - 1))));
  return out;
}

// Outputs ---------------------------------------------------------------------------------------------------

llvm::Value* ScanRows::count_stored() {
  return has(Prefixes::all) ? b.CreateAdd(length_, f.number(1)) : length_;
}

ScanRows::Place ScanRows::place_of(const kernel::KernelOutput& output, llvm::Value* item,
                                   std::span<llvm::Value* const> index, llvm::Value* count) {
  const ItemPart part = e.part(output.array, e.uniform(item));
  const std::size_t axis = scan_.axis ? static_cast<std::size_t>(*scan_.axis) : index.size();
  llvm::Value *row = f.number(0), *step = f.number(1);
  for (std::size_t d = 0; d < axis; ++d) row = b.CreateAdd(b.CreateMul(row, part.extents[d].v), index[d]);
  row = b.CreateMul(row, count);
  for (std::size_t d = axis; d < index.size(); ++d) {
    row = b.CreateAdd(b.CreateMul(row, part.extents[d + 1].v), index[d]);
    step = b.CreateMul(step, part.extents[d + 1].v);
  }
  return {b.CreateAdd(part.base.v, row), step};
}

void ScanRows::enter_outputs(llvm::Value* item, std::span<llvm::Value* const> index) {
  first_.clear();
  llvm::Value* count = count_stored();
  llvm::Value* first = f.number(stores_seed() ? 1 : 0);
  if (from_right()) first = b.CreateSub(b.CreateSub(count, f.number(1)), first);
  first_element_ = first;
  for (const kernel::KernelOutput& output : kernel_.outputs) {
    if (output.write != kernel::KernelOutput::Write::element) {
      first_.push_back(nullptr);
      continue;
    }
    const Place place = place_of(output, item, index, count);
    if (scan_.axis) step_ = place.step;
    first_.push_back(b.CreateAdd(place.begin, b.CreateMul(first, place.step)));
  }
}

template <class At>
void ScanRows::put_lanes_at(std::size_t output, At&& at, const Registers& values, llvm::Value* mask) {
  const int outside = std::exchange(e.width, values[0]->getType()->isVectorTy() ? lanes_in(values[0]) : 1);
  llvm::Value* const outside_mask = std::exchange(e.mask, mask);
  const kernel::KernelOutput& to = kernel_.outputs[output];
  const Value place = at();
  for (std::size_t c = 0; c < to.array.type.scalars.size(); ++c)
    e.store(f.buffer(to.array.first_buffer + static_cast<int>(c)), stored_types_[to.first + c], place,
            e.varying(values[to.first + c]));
  e.mask = outside_mask;
  e.width = outside;
}

void ScanRows::put_at(std::size_t output, llvm::Value* place, const Registers& values, llvm::Value* mask) {
  put_lanes_at(output, [&] { return e.affine(place, 1); }, values, mask);
}

void ScanRows::put_elements(llvm::Value* k, const Registers& prefixes, llvm::Value* mask) {
  const auto behind = [&](llvm::Value* first) {
    return e.add(e.uniform(first), from_right() ? e.affine(b.CreateNeg(k), -1) : e.affine(k, 1));
  };
  const Registers values = stored_in([&] { return behind(first_element_); }, prefixes, mask);
  for (std::size_t i = 0; i < first_.size(); ++i) {
    if (!first_[i]) continue;
    const auto place = [&] {
      if (!step_) return behind(first_[i]);
      return e.add(e.uniform(first_[i]), e.multiply(behind(f.number(0)), e.uniform(step_)));
    };
    put_lanes_at(i, place, values, mask);
  }
}

/// Those of the lanes from `at` on that are to be stored.
void ScanRows::put_some(const Group& of, llvm::Value* at, const Registers& values) {
  llvm::Value* k = b.CreateAdd(of.k, at);
  if (lanes_ > 1) return put_elements(k, values, lanes_below(of.stored, at, lanes_));
  llvm::BasicBlock *store = f.block("store"), *done = f.block("stored");
  b.CreateCondBr(b.CreateICmpSLT(at, of.stored), store, done);
  b.SetInsertPoint(store);
  put_elements(k, values, nullptr);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void ScanRows::put_group(llvm::Value* k, const Parts& lanes, llvm::Value* count) {
  if (stores_seed()) k = b.CreateSub(k, f.number(1));  // these have been shifted
  for (std::size_t p = 0; p < lanes.size(); ++p) {
    llvm::Value* at = f.number(static_cast<std::int64_t>(p) * lanes_);
    put_elements(b.CreateAdd(k, at), lanes[p], count ? lanes_below(count, at, lanes_) : nullptr);
  }
}

void ScanRows::put_first(const Registers& seed) { put_elements(f.number(-1), seed, nullptr); }

void ScanRows::put_total(const Registers& total, llvm::Value* position) {
  llvm::Value* at = b.CreateAdd(position, output_bias(e, kernel_));
  for (const kernel::KernelOutput& output : kernel_.outputs)
    if (output.write == kernel::KernelOutput::Write::position)
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
        e.store(f.buffer(output.array.first_buffer + static_cast<int>(c)), types_[output.first + c],
                e.uniform(at), e.uniform(total[output.first + c]));
}

// Elements --------------------------------------------------------------------------------------------------

llvm::Value* ScanRows::turned(llvm::Value* v) const {
  std::vector<int> pick;
  for (int lane = lanes_in(v); lane-- > 0;) pick.push_back(lane);
  return b.CreateShuffleVector(v, pick);
}

Registers ScanRows::read(llvm::Value* k, int width) {
  if (!from_right()) return elements(k, width);
  return elements(b.CreateSub(b.CreateSub(length_, f.number(1)), k), width, -1);
}

// Blocks ----------------------------------------------------------------------------------------------------

template <class Body>
Registers ScanRows::whole_groups(llvm::Value* begin, llvm::Value* end, Registers state, Body&& body) {
  if (!interior_.helps() || lanes_ == 1 || reads_staged_)
    return f.loop(begin, end, group, state, "groups", body);
  llvm::Value* lo = from_right() ? b.CreateSub(length_, end) : begin;
  llvm::Value* hi = from_right() ? b.CreateSub(length_, begin) : end;
  const Interior::Range inside = interior_.range(e, lo, hi);
  llvm::Value* all =
      b.CreateAnd(inside.known, b.CreateAnd(b.CreateICmpSLE(inside.lo, lo), b.CreateICmpSGE(inside.hi, hi)));
  llvm::Value* middle = b.CreateSelect(all, end, begin);
  e.assumed = &interior_.assumed();
  state = f.loop(begin, middle, group, state, "groups_inside", body);
  e.assumed = nullptr;
  return f.loop(middle, end, group, state, "groups", body);
}

Registers ScanRows::last_block(llvm::Value* begin, llvm::Value* end, Registers carry) {
  llvm::Value* to_store = has(Prefixes::exclusive) ? b.CreateSub(end, f.number(1)) : end;
  const auto rest_from = [&](llvm::Value* k) {
    return Group{k, b.CreateSub(end, k), b.CreateSub(to_store, k)};
  };
  if (in_registers_ && !body_is_large()) {
    llvm::Value* behind_first = b.CreateSub(b.CreateSub(end, begin), f.number(1));
    llvm::Value* last = b.CreateAdd(begin, b.CreateAnd(behind_first, f.number(-group)));
    carry = whole_groups(begin, last, carry,
                         [&](llvm::Value* k, const Registers& now) { return full_group(k, now).carry; });
    carry = any_group(rest_from(last), carry, has_totals()).carry;
  } else {
    carry = f.loop(begin, end, group, carry, "groups", [&](llvm::Value* k, const Registers& now) {
      Group next = rest_from(k);
      next.count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next.count, f.number(group));
      next.stored = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next.stored, f.number(group));
      return any_group(next, now, true).carry;
    });
  }
  return has_totals() ? one_of(carry, end) : nothing();
}

void ScanRows::stage_block(llvm::Value* begin) {
  llvm::Value* end = b.CreateAdd(begin, f.number(ir::fold_order::block));
  whole_groups(begin, end, {}, [&](llvm::Value* k, const auto&) {
    f.each(f.number(0), f.number(group), lanes_, "elements", [&](llvm::Value* at) {
      llvm::Value* here = b.CreateAdd(k, at);
      put_elements(here, read(here, lanes_), nullptr);
    });
    return Registers{};
  });
}

Registers ScanRows::staged(llvm::Value* k, int width) {
  Registers out(components());
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
    if (!first_[i]) continue;
    const kernel::KernelOutput& output = kernel_.outputs[i];
    llvm::Value* place = from_right() ? b.CreateSub(b.CreateSub(first_[i], k), f.number(width - 1))
                                      : b.CreateAdd(first_[i], k);
    for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c) {
      const ScalarType type = types_[output.first + c];
      llvm::Type *cell = e.memory_type_of(type), *cells = cell;
      if (width > 1) cells = llvm::FixedVectorType::get(cell, static_cast<unsigned>(width));
      llvm::Value* address =
          f.element(cell, f.buffer(output.array.first_buffer + static_cast<int>(c)), place);
      llvm::Value* v = b.CreateAlignedLoad(cells, address, llvm::Align(size_of(type)));
      if (from_right() && width > 1) v = turned(v);
      out[output.first + c] = e.from_memory(type, v);
    }
  }
  return out;
}

Registers ScanRows::whole_block(llvm::Value* begin, Registers carry) {
  const bool outside = std::exchange(reads_staged_, is_staged());
  const std::size_t n = components();
  llvm::Value* end = b.CreateAdd(begin, f.number(ir::fold_order::block));
  Registers state = std::move(carry);
  for (llvm::Value* v : spread(nothing())) state.push_back(v);
  const auto middle = static_cast<std::ptrdiff_t>(n);
  state = whole_groups(begin, end, state, [&](llvm::Value* k, const Registers& all) {
    const Registers now(all.begin(), all.begin() + middle), total(all.begin() + middle, all.end());
    const Passed passed = in_registers_ && (reads_staged_ || !body_is_large())
                              ? full_group(k, now)
                              : any_group({k, f.number(group), f.number(group)}, now, true);
    Registers next = passed.carry;
    const Parts totals = join_all(b.CreateICmpEQ(k, begin), total, {passed.total});
    next.insert(next.end(), totals[0].begin(), totals[0].end());
    return next;
  });
  reads_staged_ = outside;
  return one_of(Registers(state.begin() + middle, state.end()), f.parameter(0));
}

Registers ScanRows::block_total(llvm::Value* begin) {
  const bool outside = std::exchange(reads_staged_, is_staged());
  llvm::Value* end = b.CreateAdd(begin, f.number(ir::fold_order::block));
  Registers out = whole_groups(begin, end, nothing(), [&](llvm::Value* k, const Registers& total) {
    Registers of_group;
    if (in_registers_) {
      const bool in_memory = body_is_large() && !reads_staged_;
      of_group = total_of(in_memory ? group_in_memory(k, f.number(group)) : group_elements(k));
    } else {
      elements_to_memory({k, f.number(group), f.number(group)});
      of_group = rolled_total();
    }
    return join_all(b.CreateICmpEQ(k, begin), total, {of_group})[0];
  });
  reads_staged_ = outside;
  return out;
}

llvm::Value* ScanRows::lacks_carry(llvm::Value* k) {
  return seeded() ? nullptr : b.CreateICmpEQ(k, f.number(0));
}

ScanRows::Parts ScanRows::join_all(llvm::Value* none, const Registers& carry, Parts values) {
  const auto join_each = [&] {
    Parts out;
    for (const Registers& v : values) out.push_back(join(carry, v));
    return out;
  };
  if (!none) return join_each();
  llvm::BasicBlock *some = f.block("carry"), *done = f.block("carried");
  llvm::BasicBlock* before = b.GetInsertBlock();
  f.branch_likely_weakly(b.CreateNot(none), some, done);
  b.SetInsertPoint(some);
  const Parts joined = join_each();
  llvm::BasicBlock* some_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = merge(joined[i], some_end, values[i], before);
  return values;
}

}  // namespace anabranch::cpu
