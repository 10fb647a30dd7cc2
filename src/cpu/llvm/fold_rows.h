#pragma once

#include <utility>
#include <vector>

#include "cpu/llvm/skeleton.h"
#include "kernel/fold_operator.h"

/// How one row is reduced, in the canonical order of ir/fold_order.h.
///
/// For commutative operators every lane and every partial total starts from the operator's exact
/// identity (-0 for floating addition, +inf for minimum, ...): joining it changes no bit, so there is no
/// first element to treat apart and no branch on an empty rest. Ordered operators have no identity;
/// their first element is peeled.
namespace anabranch::cpu {

namespace order = ir::fold_order;
using Registers = std::vector<llvm::Value*>;  ///< one per component: scalars, or vectors of lanes

/// One function of the image in which bodies are evaluated for one row at a time.
class Rows {
 public:
  Rows(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> types, bool entry,
       const kernel::Kernel& kernel, const Machine& machine, int lanes)
      : f(module, name, types, entry, machine),
        e(f, kernel, machine),
        b(f.b),
        kernel_(kernel),
        row_(kernel::reduce_of(kernel).row),
        operators_(kernel),
        body_(kernel.body),
        combine_(operators_.combine),
        seeded_combine_(operators_.seeded_combine),
        seed_(operators_.seed),
        types_(kernel::result_types(kernel)),
        lanes_(lanes),
        commutative_(kernel::reduce_of(kernel).order == order::OperatorClass::commutative) {
    enter_launch(e, kernel);
    // What cannot fail is computed once even where rows may all be empty.
    e.emit_certain(body_, Level::launch);
    e.emit_certain(seed_, Level::launch);
  }

  Frame f;
  Emitter e;
  llvm::IRBuilder<>& b;

  std::size_t components() const { return types_.size(); }
  ScalarType type(std::size_t c) const { return types_[c]; }
  bool commutative() const { return commutative_; }

  /// Binds item and index of a row.
  void enter(llvm::Value* item, std::span<llvm::Value* const> index) {
    enter_item(e, kernel_, e.uniform(item));
    bind_index(index);
  }
  void bind_index(std::span<llvm::Value* const> index) {
    for (std::size_t d = 0; d < index.size(); ++d) e.bind(*kernel_.index[d], {e.uniform(index[d])});
  }
  /// For a row given by its position: also its index.
  void enter(llvm::Value* item, llvm::Value* position) {
    const ItemPart positions = e.part(kernel_.domain, e.uniform(item));
    llvm::Value* start = kernel_.domain.over_items ? item_start(e, kernel_, positions) : f.number(0);
    const auto index = decode(e, positions.extents, b.CreateSub(position, start));
    enter(item, index);
  }
  llvm::Value* length(llvm::Value* item) { return e.extent(row_.length, e.uniform(item)).v; }

  /// What all elements of the row share. Only where the row has an element.
  void emit_row() {
    for (const Level level : {Level::launch, Level::item, Level::row}) e.emit_level(body_, level);
  }

  /// Then a few instructions more per row or round are lost beside the body, and another copy of it is dear.
  bool computes_much() const { return body_[0].cost > 32; }

  bool has_row_work() const {
    for (const ir::Node* node : body_[0].nodes)
      if (e.level_of(*node) != Level::lane && !e.knows(*node)) return true;
    return false;
  }

  Registers identity(int width) {
    Registers out;
    for (std::size_t c = 0; c < components(); ++c) {
      llvm::Value* one =
          e.constant(types_[c], kernel::identity_of(kernel::operator_of(kernel_, c), types_[c]));
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
    const int width = x[0]->getType()->isVectorTy() ? lanes_in(x[0]) : 1;
    const int outside = std::exchange(e.width, width);
    const auto here = e.mark();
    for (std::size_t c = 0; c < components(); ++c) {
      e.bind(*operators_.left[c], {e.varying(x[c])});
      e.bind(*operators_.right[c], {e.varying(y[c])});
    }
    e.emit_region(regions, 0);
    Registers out;
    for (const auto& root : results) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    e.width = outside;
    return out;
  }

  /// Elements k .. k + width - 1.
  Registers elements(llvm::Value* k, int width) {
    const int outside = std::exchange(e.width, width);
    // Where the body waits for reads here and there, the processor's own prefetching falls behind.
    if (width > 1 && reads_anywhere() && !computes_much()) e.ahead = f.ahead();
    const auto here = e.mark();
    e.bind(*row_.index, {e.affine(k, 1)});
    e.emit_level(body_, Level::lane);
    Registers out;
    for (const auto& root : kernel_.body) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    e.ahead = nullptr;
    e.width = outside;
    return out;
  }

  /// total o elements [begin, end), from left to right. `base`:
  /// a position in memory that element numbers are added to by most reads, or 0;
  /// the loop counts positions then, which leaves addresses without an addition.
  Registers sequential(llvm::Value* begin, llvm::Value* end, Registers total, llvm::Value* base) {
    return f.loop(b.CreateAdd(base, begin), b.CreateAdd(base, end), 1, std::move(total), "sequential",
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

  /// Short rows: prefetches what a row at the current item's place may hold at most. Rows follow each other
  /// in memory, so every line is asked for in time, whatever the lengths; counting them would cost more.
  void prefetch_row() {
    std::vector<std::pair<llvm::Value*, ScalarType>> streams;  // where each begins in memory
    for (const ir::Node* node : body_[0].nodes) {
      if (node->op() != ir::Op::index && node->op() != ir::Op::linear_index) continue;
      if (node->child(1) != row_.index) continue;
      const ir::Node& array = *node->child(0);
      for (std::size_t c = 0; c < array.type().scalars.size(); ++c)
        streams.emplace_back(
            f.element(e.memory_type_of(array.type().scalars[c]), e.buffer_of(array, c), e.base_of(array).v),
            array.type().scalars[c]);
    }
    if (streams.empty()) return;
    llvm::BasicBlock *some = f.block("prefetch"), *done = f.block("prefetched");
    b.CreateCondBr(b.CreateICmpSGT(f.ahead(), f.number(0)), some, done);
    b.SetInsertPoint(some);
    constexpr std::int64_t line = 64;
    for (const auto& [from, type] : streams)
      for (std::int64_t at = 0; at < order::sequential * static_cast<std::int64_t>(size_of(type));
           at += line) {
        llvm::Value* address = f.element(e.memory_type_of(type), from, f.ahead());
        f.prefetch(b.CreateConstGEP1_64(b.getInt8Ty(), address, static_cast<std::uint64_t>(at)));
      }
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  /// Per component that has one.
  Registers seed() {
    const auto here = e.mark();
    e.emit_region(seed_, 0);
    Registers out;
    for (const auto& root : operators_.seed) out.push_back(e.value(root).v);
    e.undo(here);
    return out;
  }

  /// Lanes over [begin, end), a multiple of `count` elements; the lanes joined.
  Registers in_lanes(llvm::Value* begin, llvm::Value* end, int count) {
    if (lanes_ == 1) return in_rolled_lanes(begin, end, count);
    const int width = count == order::narrow_lanes ? count : lanes_;
    const auto parts = static_cast<std::size_t>(count / width);
    Registers start;
    for (std::size_t p = 0; p < parts; ++p)
      for (llvm::Value* v : identity(width)) start.push_back(v);
    const std::size_t n = components();
    const auto part = [n](const Registers& all, std::size_t p) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(p * n);
      return Registers(first, first + static_cast<std::ptrdiff_t>(n));
    };
    const bool rotate = parts > 1 && body_is_large();
    const Registers sums = f.loop(
        begin, end, rotate ? width : count, start, "lanes", [&](llvm::Value* k, const Registers& so_far) {
          Registers next;
          if (rotate) {
            // Whole groups turn the partial totals round to where they were.
            next.assign(so_far.begin() + static_cast<std::ptrdiff_t>(n), so_far.end());
            for (llvm::Value* v : join(part(so_far, 0), elements(k, width))) next.push_back(v);
            return next;
          }
          for (std::size_t p = 0; p < parts; ++p) {
            llvm::Value* at = b.CreateAdd(k, f.number(static_cast<std::int64_t>(p) * width));
            for (llvm::Value* v : join(part(so_far, p), elements(at, width))) next.push_back(v);
          }
          return next;
        });
    std::vector<Registers> left;
    for (std::size_t p = 0; p < parts; ++p) left.push_back(part(sums, p));
    for (std::size_t half = parts / 2; half >= 1; half /= 2)
      for (std::size_t p = 0; p < half; ++p) left[p] = join(left[p], left[p + half]);
    return halve(left[0]);
  }

  /// Elements [begin, end) of a row, in order, of ordered operators: at least one.
  Registers ordered(llvm::Value* begin, llvm::Value* end) {
    Registers first = elements(begin, 1);
    return sequential(b.CreateAdd(begin, f.number(1)), end, std::move(first), base());
  }

  /// What wide lanes leave: elements [begin, end), fewer than order::wide_from, perhaps none.
  Registers rest(llvm::Value* begin, llvm::Value* end) {
    llvm::Value* count = b.CreateSub(end, begin);
    llvm::BasicBlock *many = f.block("narrow"), *few = f.block("few");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(b.CreateICmpSGT(count, f.number(order::sequential)), many, few);
    b.SetInsertPoint(many);
    Registers taken{b.CreateAdd(begin, b.CreateAnd(count, f.number(-order::narrow_lanes)))};
    for (llvm::Value* v : in_lanes(begin, taken[0], order::narrow_lanes)) taken.push_back(v);
    llvm::BasicBlock* many_end = b.GetInsertBlock();
    b.CreateBr(few);
    b.SetInsertPoint(few);
    Registers none = identity(1);
    none.insert(none.begin(), begin);
    const Registers all = merge(taken, many_end, none, before);
    const Registers tail = sequential(all[0], end, identity(1), base());
    return join(Registers(all.begin() + 1, all.end()), tail);
  }

  /// Either, by the block that control came from.
  Registers merge(const Registers& x, llvm::BasicBlock* x_end, const Registers& y, llvm::BasicBlock* y_end) {
    Registers out;
    for (std::size_t c = 0; c < x.size(); ++c) {
      llvm::PHINode* phi = b.CreatePHI(x[c]->getType(), 2);
      phi->addIncoming(x[c], x_end);
      phi->addIncoming(y[c], y_end);
      out.push_back(phi);
    }
    return out;
  }

  /// seed o total, stored at the row's position. `is_empty`: null where the row has elements, as it has
  /// wherever a seed lacks.
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

  void put_out(const Registers& total, llvm::Value* position) {
    llvm::Value* at = b.CreateAdd(position, output_bias(e, kernel_));
    for (const kernel::KernelOutput& output : kernel_.outputs)
      for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c)
        e.store(f.buffer(output.array.first_buffer + static_cast<int>(c)), types_[output.first + c],
                e.uniform(at), e.uniform(total[output.first + c]));
  }

  // Partial results: one cell of eight bytes per component.
  llvm::Value* cell(llvm::Value* cells, llvm::Value* block, std::size_t c) {
    llvm::Value* i = b.CreateAdd(b.CreateMul(block, f.number(static_cast<std::int64_t>(components()))),
                                 f.number(static_cast<std::int64_t>(c)));
    return f.element(f.i64(), cells, i);
  }
  void put(llvm::Value* cells, llvm::Value* block, const Registers& values) {
    for (std::size_t c = 0; c < components(); ++c)
      b.CreateAlignedStore(e.to_memory(types_[c], values[c]), cell(cells, block, c), llvm::Align(8));
  }
  Registers get(llvm::Value* cells, llvm::Value* block) {
    Registers out;
    for (std::size_t c = 0; c < components(); ++c) {
      llvm::Value* v =
          b.CreateAlignedLoad(e.memory_type_of(types_[c]), cell(cells, block, c), llvm::Align(8));
      out.push_back(e.from_memory(types_[c], v));
    }
    return out;
  }
  llvm::Value* cells(std::int64_t blocks) {
    return f.local(f.i64(), static_cast<std::uint64_t>(blocks) * components());
  }

 private:
  static int lanes_in(llvm::Value* v) {
    return static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements());
  }

  /// Bodies that read here and there, or compute much, are emitted once and take their turns with the partial
  /// totals: the moves between registers are lost beside them, and the code is a quarter of the size.
  bool body_is_large() const { return reads_anywhere() || computes_much(); }

  /// Not only along the row.
  bool reads_anywhere() const {
    for (const ir::Node* node : body_[0].nodes)
      if ((node->op() == ir::Op::index || node->op() == ir::Op::linear_index) && !node->payload().in_bounds)
        return true;
    return false;
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
  Registers in_rolled_lanes(llvm::Value* begin, llvm::Value* end, int count) {
    llvm::Value* lane = cells(count);
    f.loop(f.number(0), f.number(count), 1, {}, "clear", [&](llvm::Value* j, const auto&) {
      put(lane, j, identity(1));
      return Registers{};
    });
    f.loop(begin, end, 1, {}, "lanes", [&](llvm::Value* k, const auto&) {
      llvm::Value* j = b.CreateAnd(b.CreateSub(k, begin), f.number(count - 1));
      put(lane, j, join(get(lane, j), elements(k, 1)));
      return Registers{};
    });
    for (int half = count / 2; half >= 1; half /= 2)
      f.loop(f.number(0), f.number(half), 1, {}, "halve", [&](llvm::Value* j, const auto&) {
        put(lane, j, join(get(lane, j), get(lane, b.CreateAdd(j, f.number(half)))));
        return Registers{};
      });
    return get(lane, f.number(0));
  }

  const kernel::Kernel& kernel_;
  const kernel::Row& row_;
  kernel::Operators operators_;
  Regions body_, combine_, seeded_combine_, seed_;
  std::vector<ScalarType> types_;
  int lanes_;
  bool commutative_;
};

}  // namespace anabranch::cpu
