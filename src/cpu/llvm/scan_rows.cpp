#include "cpu/llvm/scan_rows.h"

#include <algorithm>

namespace anabranch::cpu {

using ir::scan_order::group;

namespace {

/// Operators up to this cost are written out for all steps and vectors of a group.
constexpr std::int64_t unrolled_cost = 16;
/// Values, of all components, that the vectors of a group may be in registers.
constexpr std::size_t most_registers = 32;
/// Cells before a group in memory that a shift by half a group may read.
constexpr std::int64_t before_group = group;

}  // namespace

ScanRows::ScanRows(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> types,
                   bool entry, const kernel::Kernel& kernel, const Machine& machine)
    : RowCode(module, name, types, entry, kernel, machine),
      scan_(std::get<kernel::Scan>(kernel.form)),
      reduction_(scan_.reduction),
      combine_(reduction_.combine),
      seed_(reduction_.seed) {
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
    llvm::Value* place = f.local(cell, static_cast<std::uint64_t>(before_group + group));
    // Lanes that hold no element are computed, too: from anything, but not from nothing.
    llvm::Type* line = llvm::FixedVectorType::get(b.getInt8Ty(), 64);
    for (std::size_t at = 0; at < static_cast<std::size_t>(before_group + group) * size_of(type(c)); at += 64)
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

Registers ScanRows::join(const Registers& x, const Registers& y) {
  return apply(combine_, reduction_.left, reduction_.right, reduction_.combine, x, y);
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

Registers ScanRows::one_of(const Registers& carry) {
  if (!in_registers_) return carry;
  Registers out;
  for (llvm::Value* v : carry) out.push_back(b.CreateExtractElement(v, std::uint64_t{0}));
  return out;
}

// Outputs ---------------------------------------------------------------------------------------------------

void ScanRows::enter_outputs(llvm::Value* item, std::span<llvm::Value* const> index, llvm::Value* length) {
  bases_.clear();
  for (const kernel::KernelOutput& output : kernel_.outputs) {
    if (output.write != kernel::KernelOutput::Write::element) {
      bases_.push_back(nullptr);
      continue;
    }
    const ItemPart part = e.part(output.array, e.uniform(item));
    llvm::Value* row = f.number(0);
    for (std::size_t d = 0; d < index.size(); ++d)
      row = b.CreateAdd(b.CreateMul(row, part.extents[d].v), index[d]);
    llvm::Value* base = b.CreateAdd(part.base.v, b.CreateMul(row, length));
    bases_.push_back(exclusive() ? b.CreateAdd(base, f.number(1)) : base);
  }
}

void ScanRows::put_elements(llvm::Value* k, const Registers& values, llvm::Value* mask) {
  const int outside = std::exchange(e.width, values[0]->getType()->isVectorTy() ? lanes_in(values[0]) : 1);
  llvm::Value* const outside_mask = std::exchange(e.mask, mask);
  for (std::size_t i = 0; i < kernel_.outputs.size(); ++i) {
    if (!bases_[i]) continue;
    const kernel::KernelOutput& output = kernel_.outputs[i];
    for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
      e.store(f.buffer(output.array.first_buffer + static_cast<int>(c)), types_[output.first + c],
              e.affine(b.CreateAdd(bases_[i], k), 1), e.varying(values[output.first + c]));
  }
  e.mask = outside_mask;
  e.width = outside;
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

void ScanRows::put_first(const Registers& seed) { put_elements(f.number(-1), seed, nullptr); }

void ScanRows::put_total(const Registers& total, llvm::Value* position) {
  llvm::Value* at = b.CreateAdd(position, output_bias(e, kernel_));
  for (const kernel::KernelOutput& output : kernel_.outputs)
    if (output.write == kernel::KernelOutput::Write::position)
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
        e.store(f.buffer(output.array.first_buffer + static_cast<int>(c)), types_[output.first + c],
                e.uniform(at), e.uniform(total[output.first + c]));
}

// Blocks ----------------------------------------------------------------------------------------------------

Registers ScanRows::last_block(llvm::Value* begin, llvm::Value* end, Registers carry) {
  llvm::Value* to_store = exclusive() ? b.CreateSub(end, f.number(1)) : end;
  const auto rest_from = [&](llvm::Value* k) {
    return Group{k, b.CreateSub(end, k), b.CreateSub(to_store, k)};
  };
  if (in_registers_ && !body_is_large()) {
    llvm::Value* behind_first = b.CreateSub(b.CreateSub(end, begin), f.number(1));
    llvm::Value* last = b.CreateAdd(begin, b.CreateAnd(behind_first, f.number(-group)));
    carry = f.loop(begin, last, group, std::move(carry), "groups",
                   [&](llvm::Value* k, const Registers& now) { return full_group(k, now).carry; });
    carry = any_group(rest_from(last), carry, has_totals()).carry;
  } else {
    carry = f.loop(begin, end, group, std::move(carry), "groups", [&](llvm::Value* k, const Registers& now) {
      Group next = rest_from(k);
      next.count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next.count, f.number(group));
      next.stored = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next.stored, f.number(group));
      return any_group(next, now, true).carry;
    });
  }
  return has_totals() ? one_of(carry) : nothing();
}

Registers ScanRows::whole_block(llvm::Value* begin, Registers carry) {
  const std::size_t n = components();
  llvm::Value* end = b.CreateAdd(begin, f.number(ir::fold_order::block));
  Registers state = std::move(carry);
  for (llvm::Value* v : spread(nothing())) state.push_back(v);
  const auto middle = static_cast<std::ptrdiff_t>(n);
  state = f.loop(begin, end, group, std::move(state), "groups", [&](llvm::Value* k, const Registers& all) {
    const Registers now(all.begin(), all.begin() + middle), total(all.begin() + middle, all.end());
    const Passed passed = in_registers_ && !body_is_large()
                              ? full_group(k, now)
                              : any_group({k, f.number(group), f.number(group)}, now, true);
    Registers next = passed.carry;
    const Parts totals = join_all(b.CreateICmpEQ(k, begin), total, {passed.total});
    next.insert(next.end(), totals[0].begin(), totals[0].end());
    return next;
  });
  return one_of(Registers(state.begin() + middle, state.end()));
}

/// One bit: has the group that begins at k no carry? Null: it has one.
llvm::Value* ScanRows::lacks_carry(llvm::Value* k) {
  return seeded() ? nullptr : b.CreateICmpEQ(k, f.number(0));
}

/// carry o each of them; where `none` is set and true, they themselves.
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

// Groups in registers ---------------------------------------------------------------------------------------

/// Lane j - by of the lanes of `before` and `lanes`, which follow each other.
Registers ScanRows::shifted(const Registers& before, const Registers& lanes, int by) {
  std::vector<int> pick;
  for (int j = 0; j < lanes_; ++j) pick.push_back(lanes_ - by + j);
  Registers out;
  for (std::size_t c = 0; c < components(); ++c)
    out.push_back(b.CreateShuffleVector(before[c], lanes[c], pick));
  return out;
}

Registers ScanRows::last_lane(const Registers& lanes) {
  const std::vector<int> pick(static_cast<std::size_t>(lanes_), lanes_ - 1);
  Registers out;
  for (llvm::Value* v : lanes) out.push_back(b.CreateShuffleVector(v, pick));
  return out;
}

/// The scan of a group without a carry. Lanes without an element change no other lane.
ScanRows::Parts ScanRows::prefixes(Parts lanes) {
  for (int by = 1; by < lanes_ * static_cast<int>(lanes.size()); by *= 2)
    for (std::size_t p = lanes.size(); p-- > 0;) {
      if (by >= lanes_) {
        const auto parts = static_cast<std::size_t>(by / lanes_);
        if (p >= parts) lanes[p] = join(lanes[p - parts], lanes[p]);
        continue;
      }
      if (p > 0) {
        lanes[p] = join(shifted(lanes[p - 1], lanes[p], by), lanes[p]);
        continue;
      }
      Registers none;
      for (llvm::Value* v : lanes[0]) none.push_back(llvm::PoisonValue::get(v->getType()));
      const Registers joined = join(shifted(none, lanes[0], by), lanes[0]);
      std::vector<llvm::Constant*> has_left;
      for (int j = 0; j < lanes_; ++j) has_left.push_back(b.getInt1(j >= by));
      llvm::Value* mask = llvm::ConstantVector::get(has_left);
      for (std::size_t c = 0; c < components(); ++c)
        lanes[0][c] = b.CreateSelect(mask, joined[c], lanes[0][c]);
    }
  return lanes;
}

ScanRows::Passed ScanRows::full_group(llvm::Value* k, const Registers& carry) {
  Parts lanes;
  for (std::int64_t at = 0; at < group; at += lanes_)
    lanes.push_back(elements(b.CreateAdd(k, f.number(at)), lanes_));
  lanes = prefixes(std::move(lanes));
  Passed out;
  out.total = last_lane(lanes.back());
  lanes.push_back(out.total);
  lanes = join_all(lacks_carry(k), carry, std::move(lanes));
  out.carry = lanes.back();
  lanes.pop_back();
  for (std::size_t p = 0; p < lanes.size(); ++p)
    put_elements(b.CreateAdd(k, f.number(static_cast<std::int64_t>(p) * lanes_)), lanes[p], nullptr);
  return out;
}

/// A group of so many vectors whose elements are in memory.
ScanRows::Passed ScanRows::few_parts(const Group& of, std::size_t parts, const Registers& carry,
                                     bool wants_total) {
  Parts lanes;
  for (std::size_t p = 0; p < parts; ++p)
    lanes.push_back(get_lanes(f.number(static_cast<std::int64_t>(p) * lanes_), lanes_));
  lanes = prefixes(std::move(lanes));
  Passed out{carry, carry};
  if (wants_total) {
    for (std::size_t p = 0; p < parts; ++p)
      put_lanes(f.number(static_cast<std::int64_t>(p) * lanes_), lanes[p]);
    out.total = spread(get_lanes(b.CreateSub(of.count, f.number(1)), 1));
    lanes.push_back(out.total);
  }
  lanes = join_all(lacks_carry(of.k), carry, std::move(lanes));
  if (wants_total) out.carry = lanes.back();
  for (std::size_t p = 0; p < parts; ++p)
    put_some(of, f.number(static_cast<std::int64_t>(p) * lanes_), lanes[p]);
  return out;
}

// Groups in memory ------------------------------------------------------------------------------------------

llvm::Value* ScanRows::lane_address(std::size_t c, llvm::Value* lane) {
  return f.element(e.memory_type_of(types_[c]), group_[c], lane);
}

void ScanRows::put_lanes(llvm::Value* lane, const Registers& values) {
  for (std::size_t c = 0; c < components(); ++c)
    b.CreateAlignedStore(e.to_memory(types_[c], values[c]), lane_address(c, lane),
                         llvm::Align(size_of(types_[c])));
}

Registers ScanRows::get_lanes(llvm::Value* lane, int width) {
  Registers out;
  for (std::size_t c = 0; c < components(); ++c) {
    llvm::Type* cell = e.memory_type_of(types_[c]);
    if (width > 1) cell = llvm::FixedVectorType::get(cell, static_cast<unsigned>(width));
    llvm::Value* v = b.CreateAlignedLoad(cell, lane_address(c, lane), llvm::Align(size_of(types_[c])));
    out.push_back(e.from_memory(types_[c], v));
  }
  return out;
}

/// The mask of those lanes of a vector from `lane` on that are before `count`.
llvm::Value* ScanRows::lanes_before(llvm::Value* count, llvm::Value* lane) {
  return lanes_ == 1 ? nullptr : lanes_below(count, lane, lanes_);
}

void ScanRows::elements_to_memory(const Group& of) {
  f.loop(f.number(0), of.count, lanes_, {}, "elements", [&](llvm::Value* at, const auto&) {
    e.mask = lanes_before(of.count, at);
    const Registers values = elements(b.CreateAdd(of.k, at), lanes_);
    e.mask = nullptr;
    put_lanes(at, values);
    return Registers{};
  });
}

ScanRows::Passed ScanRows::any_group(const Group& of, const Registers& carry, bool wants_total) {
  elements_to_memory(of);
  if (!in_registers_) return rolled_group(of, carry);
  const auto all = static_cast<std::size_t>(group / lanes_);
  if (all == 1) return few_parts(of, 1, carry, wants_total);
  llvm::BasicBlock *one = f.block("one_vector"), *several = f.block("several_vectors"),
                   *done = f.block("scanned");
  b.CreateCondBr(b.CreateICmpSLE(of.count, f.number(lanes_)), one, several);
  b.SetInsertPoint(one);
  const Passed of_one = few_parts(of, 1, carry, wants_total);
  llvm::BasicBlock* one_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(several);
  const Passed of_all = few_parts(of, all, carry, wants_total);
  llvm::BasicBlock* several_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  return {merge(of_one.carry, one_end, of_all.carry, several_end),
          merge(of_one.total, one_end, of_all.total, several_end)};
}

ScanRows::Passed ScanRows::rolled_group(const Group& of, const Registers& carry) {
  rolled_prefixes(of.count);
  Passed out;
  out.total = get_lanes(b.CreateSub(of.count, f.number(1)), 1);
  llvm::Value* none = lacks_carry(of.k);
  Registers in_lanes = carry;
  if (lanes_ > 1)
    for (llvm::Value*& v : in_lanes) v = b.CreateVectorSplat(static_cast<unsigned>(lanes_), v);
  f.loop(f.number(0), of.count, lanes_, {}, "prefixes", [&](llvm::Value* at, const auto&) {
    e.mask = lanes_before(of.count, at);
    const Registers values = join_all(none, in_lanes, {get_lanes(at, lanes_)})[0];
    e.mask = nullptr;
    put_some(of, at, values);
    return Registers{};
  });
  out.carry = join_all(none, carry, {out.total})[0];
  return out;
}

/// Each step goes from the last vector that holds an element down to the first that has a lane to join, so
/// that lanes are read before they change.
void ScanRows::rolled_prefixes(llvm::Value* count) {
  llvm::Value* before = b.CreateSub(count, f.number(1));
  llvm::Value* steps =
      b.CreateSub(f.number(64), b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, before, b.getFalse()));
  llvm::Value* last = b.CreateSDiv(before, f.number(lanes_));
  f.loop(f.number(0), steps, 1, {}, "steps", [&](llvm::Value* step, const auto&) {
    llvm::Value* by = b.CreateShl(f.number(1), step);
    llvm::Value* first = b.CreateSDiv(by, f.number(lanes_));
    llvm::Value* parts = b.CreateAdd(b.CreateSub(last, first), f.number(1));
    f.loop(f.number(0), parts, 1, {}, "parts", [&](llvm::Value* i, const auto&) {
      llvm::Value* at = b.CreateMul(b.CreateSub(last, i), f.number(lanes_));
      const Registers right = get_lanes(at, lanes_), left = get_lanes(b.CreateSub(at, by), lanes_);
      if (lanes_ == 1) {
        put_lanes(at, join(left, right));
        return Registers{};
      }
      llvm::Value* mask =
          b.CreateAnd(lanes_below(count, at, lanes_), b.CreateNot(lanes_below(by, at, lanes_)));
      e.mask = mask;
      Registers joined = join(left, right);
      e.mask = nullptr;
      for (std::size_t c = 0; c < components(); ++c) joined[c] = b.CreateSelect(mask, joined[c], right[c]);
      put_lanes(at, joined);
      return Registers{};
    });
    return Registers{};
  });
}

}  // namespace anabranch::cpu
