#pragma once

#include <utility>
#include <vector>

#include "cpu/llvm/interior.h"
#include "cpu/llvm/row_code.h"
#include "kernel/fold_operator.h"

/// How one row is reduced, in the canonical order of ir/fold_order.h.
///
/// For commutative operators every lane and every partial total starts from the operator's exact identity (-0
/// for floating addition, +inf for minimum, ...): joining it changes no bit, so the first element needs no
/// special case, and the last vector of a row is padded with it. Ordered operators have no identity; their
/// first element is peeled.
namespace anabranch::cpu {

namespace order = ir::fold_order;

/// A function of the image that reduces rows.
class Rows : public RowCode {
 public:
  Rows(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> types, bool entry,
       const kernel::Kernel& kernel, const Machine& machine, int lanes)
      : RowCode(module, name, types, entry, kernel, machine),
        operators_(kernel),
        combine_(operators_.combine),
        seeded_combine_(operators_.seeded_combine),
        seed_(operators_.seed),
        interior_(e, body_, kernel.body, *row_.index),
        lanes_(lanes),
        commutative_(kernel::reduce_of(kernel).order == order::OperatorClass::commutative) {
    e.emit_certain(seed_, Level::launch);
  }

  bool commutative() const { return commutative_; }

  Registers identity(int width) {
    Registers out;
    for (std::size_t c = 0; c < components(); ++c) {
      llvm::Value* one =
          e.constant(types_[c], ir::neutral_element(kernel::operator_of(kernel_, c), types_[c]));
      out.push_back(width == 1 ? one : b.CreateVectorSplat(static_cast<unsigned>(width), one));
    }
    return out;
  }

  /// What a total is where there is no element: the identity, or anything that does no harm.
  Registers nothing() {
    if (commutative_) return identity(1);
    Registers out;
    for (const ScalarType type : types_) out.push_back(llvm::Constant::getNullValue(e.type_of(type)));
    return out;
  }

  Registers join(const Registers& x, const Registers& y) { return apply(combine_, operators_.combine, x, y); }

  /// Some of the operators' results.
  Registers apply(const Regions& regions, const std::vector<ir::Ref>& results, const Registers& x,
                  const Registers& y) {
    return RowCode::apply(regions, operators_.left, operators_.right, results, x, y);
  }

  /// total o elements [begin, end), from left to right. `base`: a position in memory that most reads add to
  /// element numbers, or 0; the loop then counts positions, so that addresses need no addition.
  Registers sequential(llvm::Value* begin, llvm::Value* end, const Registers& total, llvm::Value* base) {
    return f.loop(b.CreateAdd(base, begin), b.CreateAdd(base, end), 1, total, "sequential",
                  [&](llvm::Value* at, const Registers& so_far) {
                    return join(so_far, elements(b.CreateSub(at, base), 1));
                  });
  }
  /// Such a base: where the current item's elements begin in memory.
  llvm::Value* base() {
    for (const auto& array : kernel_.arrays)
      if (array.form == kernel::Form::segmented) return e.base_of(*array.parameter).v;
    return f.number(0);
  }

  /// Per component that has one.
  Registers seed() { return scalars(seed_, operators_.seed); }

  /// The lanes of [begin, end), fewer than order::wide_from elements and at least one, joined.
  Registers in_narrow_lanes(llvm::Value* begin, llvm::Value* end) {
    if (lanes_ == 1) return in_rolled_lanes(begin, end, order::narrow_lanes);
    const int width = narrow_width();
    const Parts none(static_cast<std::size_t>(order::narrow_lanes) / static_cast<std::size_t>(width),
                     identity(width));
    return join_lanes(in_turns(begin, end, none, width));
  }

  /// The same of order::wide_from elements or more, a block at most.
  Registers in_wide_lanes(llvm::Value* begin, llvm::Value* end) {
    if (lanes_ == 1) return in_rolled_lanes(begin, end, order::wide_lanes);
    const Parts none(static_cast<std::size_t>(order::wide_lanes) / static_cast<std::size_t>(lanes_),
                     identity(lanes_));
    if (interior_.helps()) return join_lanes(around_borders(begin, end, none));
    if (body_is_large()) return join_lanes(in_turns(begin, end, none, lanes_));
    // All groups but the last.
    llvm::Value* last = before_last(begin, end, order::wide_lanes);
    return join_lanes(in_turns(last, end, whole_groups(begin, last, none), lanes_));
  }

  bool in_vectors() const { return lanes_ > 1; }
  /// Lanes of a vector of narrow lanes.
  int narrow_width() const { return std::min(lanes_, static_cast<int>(order::narrow_lanes)); }

  /// Elements [begin, end) of a row, in order, of ordered operators: at least one.
  Registers ordered(llvm::Value* begin, llvm::Value* end) {
    return sequential(b.CreateAdd(begin, f.number(1)), end, elements(begin, 1), base());
  }

  /// seed o total, stored at the row's position. `is_empty`: null where the row is known to have elements, as
  /// it is wherever there is no seed.
  void finish(Registers total, llvm::Value* position, llvm::Value* is_empty) {
    if (!operators_.seed.empty()) {
      const Registers first = operators_.spread(seed(), total);
      // Without an identity there is no total to join where there is no element.
      const bool may_lack = !commutative_ && is_empty;
      llvm::BasicBlock* before = b.GetInsertBlock();
      llvm::BasicBlock* next = may_lack ? f.block("seeded") : nullptr;
      if (may_lack) {
        llvm::BasicBlock* some = f.block("seed");
        b.CreateCondBr(is_empty, next, some);
        b.SetInsertPoint(some);
      }
      total = operators_.spread(apply(seeded_combine_, operators_.seeded_combine, first, total), total);
      if (may_lack) {
        llvm::BasicBlock* some_end = b.GetInsertBlock();
        b.CreateBr(next);
        b.SetInsertPoint(next);
        for (std::size_t c = 0; c < components(); ++c) {
          llvm::PHINode* phi = b.CreatePHI(total[c]->getType(), 2);
          phi->addIncoming(total[c], some_end);
          phi->addIncoming(first[c], before);
          total[c] = phi;
        }
      }
    }
    put_out(total, position);
  }

  /// Elements k .. k + width - 1 in the lanes that are present, the identity in the others.
  Registers some_elements(llvm::Value* k, llvm::Value* present, int width) {
    llvm::Value* const outside = std::exchange(e.mask, present);
    Registers out = elements(k, width);
    e.mask = outside;
    const Registers none = identity(width);
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = b.CreateSelect(present, out[c], none[c]);
    return out;
  }

  /// Whether all rows have one seed.
  bool seed_is_shared() const { return operators_.seed.empty() || same_for_all_rows(seed_, operators_.seed); }
  /// seed o total of `count` rows at a time, one a lane, where they share the seed. Rows without one have elements.
  void finish_rows(Registers totals, llvm::Value* position, int count) {
    if (!operators_.seed.empty()) {
      Registers first = seed();
      for (llvm::Value*& v : first) v = b.CreateVectorSplat(static_cast<unsigned>(count), v);
      first = operators_.spread(first, totals);
      totals = operators_.spread(apply(seeded_combine_, operators_.seeded_combine, first, totals), totals);
    }
    totals = stored_at(totals, position);
    const int outside = std::exchange(e.width, count);
    for (const kernel::KernelOutput& output : kernel_.outputs)
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
        e.store(f.buffer(output.array.first_buffer + static_cast<int>(c)), stored_types_[output.first + c],
                e.affine(position, 1), e.varying(totals[output.first + c]));
    e.width = outside;
  }

  /// As many vectors, of narrow lanes of a row each, as they have lanes become one, with a row's total in each lane: two
  /// vectors of rows become one with half as many lanes for each row, until each has one.
  Registers join_rows(std::vector<Registers> rows) {
    const int width = narrow_width();
    for (int lanes = width; lanes > 1; lanes /= 2) {
      std::vector<int> low, high;
      for (int of_both = 0; of_both < 2 * width; of_both += lanes)
        for (int lane = 0; lane < lanes / 2; ++lane) {
          low.push_back(of_both + lane);
          high.push_back(of_both + lane + lanes / 2);
        }
      std::vector<Registers> joined;
      for (std::size_t i = 0; i < rows.size(); i += 2) {
        Registers x, y;
        for (std::size_t c = 0; c < components(); ++c) {
          x.push_back(b.CreateShuffleVector(rows[i][c], rows[i + 1][c], low));
          y.push_back(b.CreateShuffleVector(rows[i][c], rows[i + 1][c], high));
        }
        joined.push_back(join(x, y));
      }
      rows = std::move(joined);
    }
    return rows[0];
  }

  void put_out(const Registers& total, llvm::Value* position) {
    const Registers values = stored_at(total, position);
    llvm::Value* biased = b.CreateAdd(position, output_bias(e, kernel_));
    for (const kernel::KernelOutput& output : kernel_.outputs) {
      llvm::Value* at = b.CreateAdd(b.CreateMul(biased, f.number(output.of)), f.number(output.which));
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
        e.store(f.buffer(output.array.first_buffer + static_cast<int>(c)), stored_types_[output.first + c],
                e.uniform(at), e.uniform(values[output.first + c]));
    }
  }

  /// Lanes of a group in several vectors.
  using Parts = std::vector<Registers>;

  Registers flat(const Parts& parts) const {
    Registers out;
    for (const Registers& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  }
  Parts parts_of(const Registers& all, std::size_t count) const {
    Parts out;
    for (std::size_t p = 0; p < count; ++p) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(p * components());
      out.emplace_back(first, first + static_cast<std::ptrdiff_t>(components()));
    }
    return out;
  }

 private:
  /// Where the last group of [begin, end) begins, counted from `begin`: it has at least one element.
  llvm::Value* before_last(llvm::Value* begin, llvm::Value* end, std::int64_t group) {
    llvm::Value* behind_first = b.CreateSub(b.CreateSub(end, begin), f.number(1));
    return b.CreateAdd(begin, b.CreateAnd(behind_first, f.number(-group)));
  }

  /// Joins wide groups to the lanes in `parts`, with one copy of the body for each part of a group.
  Parts whole_groups(llvm::Value* begin, llvm::Value* end, const Parts& parts) {
    const Registers sums = f.loop(
        begin, end, order::wide_lanes, flat(parts), "groups", [&](llvm::Value* k, const Registers& all) {
          Parts next = parts_of(all, parts.size());
          for (std::size_t p = 0; p < next.size(); ++p) {
            llvm::Value* at = b.CreateAdd(k, f.number(static_cast<std::int64_t>(p) * lanes_));
            next[p] = join(next[p], elements(at, lanes_));
          }
          return flat(next);
        });
    return parts_of(sums, parts.size());
  }

  /// Wide lanes of a block: groups that are inside of all borders have code of their own. What is before and behind
  /// them has the same code, which runs twice.
  Parts around_borders(llvm::Value* begin, llvm::Value* end, const Parts& none) {
    const Interior::Range inside = interior_.range(e, begin, end);
    const auto group_at = [&](llvm::Value* position) {
      return b.CreateAnd(b.CreateSub(position, begin), f.number(-order::wide_lanes));
    };
    llvm::Value* first = group_at(b.CreateAdd(inside.lo, f.number(order::wide_lanes - 1)));
    llvm::Value* behind = group_at(inside.hi);
    llvm::Value* some = b.CreateAnd(inside.known, b.CreateICmpSLT(first, behind));
    llvm::Value *from = b.CreateSelect(some, b.CreateAdd(begin, first), end),
                *to = b.CreateSelect(some, b.CreateAdd(begin, behind), end);
    const Registers sums = f.loop(
        f.number(0), f.number(2), 1, flat(none), "borders", [&](llvm::Value* side, const Registers& all) {
          llvm::Value* is_first = b.CreateICmpEQ(side, f.number(0));
          const Parts outside =
              some_in_turns(b.CreateSelect(is_first, begin, to), b.CreateSelect(is_first, from, end),
                            parts_of(all, none.size()));
          e.assumed = &interior_.assumed();
          const Parts out = whole_groups(b.CreateSelect(is_first, from, to), to, outside);
          e.assumed = nullptr;
          return flat(out);
        });
    return parts_of(sums, none.size());
  }

  /// `in_turns` of any number of elements, by the wide lanes' vectors.
  Parts some_in_turns(llvm::Value* begin, llvm::Value* end, const Parts& parts) {
    llvm::BasicBlock *some = f.block("outside"), *done = f.block("outside_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(b.CreateICmpSLT(begin, end), some, done);
    b.SetInsertPoint(some);
    const Registers joined = flat(in_turns(begin, end, parts, lanes_));
    llvm::BasicBlock* some_end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(done);
    return parts_of(merge(joined, some_end, flat(parts), before), parts.size());
  }

  /// Joins the elements [begin, end), at least one, to the lanes in `parts`: one vector after the other, to
  /// each part in turn, the last one padded. The body is emitted twice, whatever the number of parts: the
  /// parts rotate through the registers, and are rotated back at the end.
  Parts in_turns(llvm::Value* begin, llvm::Value* end, const Parts& parts, int width) {
    const std::size_t count = parts.size();
    const auto turn = [&](Parts now, const Registers& next) {
      now[0] = join(now[0], next);
      std::rotate(now.begin(), now.begin() + 1, now.end());
      return now;
    };
    llvm::Value* last = before_last(begin, end, width);
    const Registers sums =
        f.loop(begin, last, width, flat(parts), "lanes", [&](llvm::Value* k, const Registers& all) {
          return flat(turn(parts_of(all, count), elements(k, width)));
        });
    Parts out =
        turn(parts_of(sums, count), some_elements(last, first_lanes(b.CreateSub(end, last), width), width));
    // After t turns part p is where part p - t was.
    llvm::Value* turns = b.CreateAdd(b.CreateSDiv(b.CreateSub(last, begin), f.number(width)), f.number(1));
    for (std::size_t step = 1; step < count; step *= 2) {
      llvm::Value* odd = b.CreateAnd(turns, f.number(static_cast<std::int64_t>(step)));
      // A mask of all lanes or none, by a vector comparison: a scalar condition would become a branch.
      llvm::Value* all = first_lanes(b.CreateMul(odd, f.number(width)), width);
      Parts back = out;
      for (std::size_t p = 0; p < count; ++p)
        for (std::size_t c = 0; c < components(); ++c)
          back[p][c] = b.CreateSelect(all, out[(p + count - step) % count][c], out[p][c]);
      out = std::move(back);
    }
    return out;
  }

  /// The parts' lanes joined by halving.
  Registers join_lanes(Parts parts) {
    for (std::size_t half = parts.size() / 2; half >= 1; half /= 2)
      for (std::size_t p = 0; p < half; ++p) parts[p] = join(parts[p], parts[p + half]);
    return halve(parts[0]);
  }

  /// Lane j = lane j o lane j + h, for h = L/2 ... 1.
  Registers halve(Registers all) {
    for (int half = lanes_in(all[0]) / 2; half >= 1; half /= 2) {
      Registers low, high;
      for (llvm::Value* v : all) {
        if (half == 1) {
          low.push_back(b.CreateExtractElement(v, std::uint64_t{0}));
          high.push_back(b.CreateExtractElement(v, std::uint64_t{1}));
          continue;
        }
        std::vector<int> first, second;
        for (int j = 0; j < half; ++j) {
          first.push_back(j);
          second.push_back(j + half);
        }
        low.push_back(b.CreateShuffleVector(v, first));
        high.push_back(b.CreateShuffleVector(v, second));
      }
      all = join(low, high);
    }
    return all;
  }

  /// The same lanes without vectors: an array in the stack frame.
  Registers in_rolled_lanes(llvm::Value* begin, llvm::Value* end, std::int64_t count) {
    llvm::Value* lane = cells(count);
    f.each(f.number(0), f.number(count), 1, "clear", [&](llvm::Value* j) { put(lane, j, identity(1)); });
    f.each(begin, end, 1, "lanes", [&](llvm::Value* k) {
      llvm::Value* j = b.CreateAnd(b.CreateSub(k, begin), f.number(count - 1));
      put(lane, j, join(get(lane, j), elements(k, 1)));
    });
    for (std::int64_t half = count / 2; half >= 1; half /= 2)
      f.each(f.number(0), f.number(half), 1, "halve", [&](llvm::Value* j) {
        put(lane, j, join(get(lane, j), get(lane, b.CreateAdd(j, f.number(half)))));
      });
    return get(lane, f.number(0));
  }

  kernel::Operators operators_;
  Regions combine_, seeded_combine_, seed_;
  Interior interior_;  ///< along the row
  int lanes_;
  bool commutative_;
};

}  // namespace anabranch::cpu
