#include <bit>

#include "cpu/llvm/scan_rows.h"

/// How a group of elements is scanned, in registers and in memory.
namespace anabranch::cpu {

using ir::scan_order::group;

// Groups in registers ---------------------------------------------------------------------------------------

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

/// The last lane of a whole group's scan, as scalars: a tree of neighbours. Vectors are halved in number by joining
/// their even lanes to their odd ones; of the one that is left lanes j and j + h are, where j is a multiple of 2h.
Registers ScanRows::total_of(Parts lanes) {
  std::vector<int> even, odd;
  for (int j = 0; j < lanes_; ++j) {
    even.push_back(2 * j);
    odd.push_back(2 * j + 1);
  }
  for (; lanes.size() > 1; lanes.resize(lanes.size() / 2))
    for (std::size_t p = 0; p + 1 < lanes.size(); p += 2) {
      Registers left, right;
      for (std::size_t c = 0; c < components(); ++c) {
        left.push_back(b.CreateShuffleVector(lanes[p][c], lanes[p + 1][c], even));
        right.push_back(b.CreateShuffleVector(lanes[p][c], lanes[p + 1][c], odd));
      }
      lanes[p / 2] = join(left, right);
    }
  Registers total = lanes[0];
  for (int h = 1; h < lanes_; h *= 2) {
    std::vector<int> pick;
    for (int j = 0; j < lanes_; ++j) pick.push_back(j ^ h);
    Registers right;
    for (llvm::Value* v : total) right.push_back(b.CreateShuffleVector(v, pick));
    total = join(total, right);
  }
  for (llvm::Value*& v : total) v = b.CreateExtractElement(v, std::uint64_t{0});
  return total;
}

ScanRows::Parts ScanRows::group_elements(llvm::Value* k) {
  Parts lanes;
  for (std::int64_t at = 0; at < group; at += lanes_) {
    llvm::Value* here = b.CreateAdd(k, f.number(at));
    lanes.push_back(reads_staged_ ? staged(here, lanes_) : read(here, lanes_));
  }
  return lanes;
}

ScanRows::Parts ScanRows::group_in_memory(llvm::Value* k, llvm::Value* count) {
  elements_to_memory({k, count, count});
  Parts lanes;
  for (std::int64_t at = 0; at < group; at += lanes_) lanes.push_back(get_lanes(f.number(at), lanes_));
  return lanes;
}

ScanRows::Passed ScanRows::full_group(llvm::Value* k, const Registers& carry) {
  Parts lanes = prefixes(group_elements(k));
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
  f.each(f.number(0), of.count, lanes_, "elements", [&](llvm::Value* at) {
    llvm::Value* here = b.CreateAdd(of.k, at);
    if (reads_staged_) {  // these are whole groups
      return put_lanes(at, staged(here, lanes_));
    }
    e.mask = lanes_before(of.count, at);
    const Registers values = read(here, lanes_);
    e.mask = nullptr;
    put_lanes(at, values);
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
  f.each(f.number(0), of.count, lanes_, "prefixes", [&](llvm::Value* at) {
    e.mask = lanes_before(of.count, at);
    const Registers values = join_all(none, in_lanes, {get_lanes(at, lanes_)})[0];
    e.mask = nullptr;
    put_some(of, at, values);
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
  f.each(f.number(0), steps, 1, "steps", [&](llvm::Value* step) {
    llvm::Value* by = b.CreateShl(f.number(1), step);
    llvm::Value* first = b.CreateSDiv(by, f.number(lanes_));
    llvm::Value* parts = b.CreateAdd(b.CreateSub(last, first), f.number(1));
    f.each(f.number(0), parts, 1, "parts", [&](llvm::Value* i) {
      llvm::Value* at = b.CreateMul(b.CreateSub(last, i), f.number(lanes_));
      const Registers right = get_lanes(at, lanes_), left = get_lanes(b.CreateSub(at, by), lanes_);
      if (lanes_ == 1) {
        return put_lanes(at, join(left, right));
      }
      llvm::Value* mask =
          b.CreateAnd(lanes_below(count, at, lanes_), b.CreateNot(lanes_below(by, at, lanes_)));
      e.mask = mask;
      Registers joined = join(left, right);
      e.mask = nullptr;
      for (std::size_t c = 0; c < components(); ++c) joined[c] = b.CreateSelect(mask, joined[c], right[c]);
      put_lanes(at, joined);
    });
  });
}

/// The last lane of a whole group's scan: neighbours are joined, then neighbours of these, to the front of the group.
Registers ScanRows::rolled_total() {
  std::vector<int> even, odd;
  for (int j = 0; j < lanes_; ++j) {
    even.push_back(2 * j);
    odd.push_back(2 * j + 1);
  }
  constexpr std::int64_t steps = std::countr_zero(static_cast<std::uint64_t>(group));
  f.each(f.number(0), f.number(steps), 1, "steps", [&](llvm::Value* step) {
    llvm::Value* pairs = b.CreateLShr(f.number(group / 2), step);
    f.each(f.number(0), pairs, lanes_, "pairs", [&](llvm::Value* at) {
      llvm::Value* from = b.CreateShl(at, 1);
      Registers left = get_lanes(from, lanes_);
      Registers right = get_lanes(b.CreateAdd(from, f.number(lanes_)), lanes_);
      if (lanes_ > 1)
        for (std::size_t c = 0; c < components(); ++c) {
          llvm::Value *first = left[c], *second = right[c];
          left[c] = b.CreateShuffleVector(first, second, even);
          right[c] = b.CreateShuffleVector(first, second, odd);
        }
      e.mask = lanes_before(pairs, at);
      const Registers joined = join(left, right);
      e.mask = nullptr;
      put_lanes(at, joined);
    });
  });
  return get_lanes(f.number(0), 1);
}

}  // namespace anabranch::cpu
