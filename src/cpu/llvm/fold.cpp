#include <bit>
#include <cstddef>

#include "cpu/llvm/skeleton.h"

/// The fold skeleton, in the canonical order of ir/fold_order.h.
///
/// For commutative operators every lane and every partial total starts from the operator's exact identity (-0 for
/// floating addition, +inf for minimum, ...): joining it changes no bit, so there is no first element to treat apart and
/// no branch on an empty rest. Ordered operators have no identity; their first element is peeled.
///
/// Functions of the image: entry0 (rows) holds code for short rows in place; longer rows go block by block through
/// `block`, rows of several blocks through `tree`, which entry2 (finish) shares.
namespace anabranch::cpu {
namespace {

namespace order = ir::fold_order;
using Registers = std::vector<llvm::Value*>;  ///< one per component: scalars, or vectors of lanes

/// Rows below this length are reduced where they are met.
constexpr std::int64_t in_place = order::wide_from;

/// The operator's primitive on component c.
ir::Primitive operator_of(const plan::Kernel& kernel, std::size_t c) {
  const ir::Node* node = kernel.combine[c].get();
  while ((node->op() == ir::Op::tuple && node->children().size() == 1) ||
         (node->op() == ir::Op::project && node->child(0)->type().components() == 1))
    node = node->child(0).get();
  if (node->op() != ir::Op::primitive) throw InternalError("fold kernel: the operator is not commutative");
  return node->payload().primitive;
}

/// x such that join(x, y) and join(y, x) are y, bit for bit.
std::uint64_t identity_of(ir::Primitive primitive, ScalarType type) {
  using enum ir::Primitive;
  const bool f32 = type == ScalarType::float32;
  const bool f64 = type == ScalarType::float64;
  switch (primitive) {
    case add: return f32 ? 0x80000000u : f64 ? std::uint64_t{1} << 63 : 0;
    case multiply: return f32 ? 0x3f800000u : f64 ? 0x3ff0000000000000u : 1;
    case minimum:
      if (f32) return 0x7f800000u;
      if (f64) return 0x7ff0000000000000u;
      return type == ScalarType::uint8 ? 0xff : type == ScalarType::int32 ? 0x7fffffffu : INT64_MAX;
    case maximum:
      if (f32) return 0xff800000u;
      if (f64) return 0xfff0000000000000u;
      return type == ScalarType::uint8 ? 0 : type == ScalarType::int32 ? 0x80000000u : std::uint64_t{1} << 63;
    case bit_and: return type == ScalarType::boolean ? 1 : ~std::uint64_t{0};
    case bit_or:
    case bit_xor: return 0;
    case subtract:
    case divide:
    case remainder:
    case negate:
    case absolute:
    case fma:
    case equal:
    case not_equal:
    case less:
    case less_equal:
    case logical_not:
    case square_root:
    case exponential:
    case logarithm:
    case sine:
    case cosine:
    case cast: break;
  }
  throw InternalError("fold kernel: the operator is not commutative");
}

/// seed o (x0 o x1 o ...) is ((seed o x0) o x1) o ... bit for bit: the operator is associative, or the seed changes nothing
/// but the sign of a zero, the same in both.
bool seed_may_go_first(const plan::Kernel& kernel) {
  if (kernel.seed.empty() || kernel.order != order::OperatorClass::commutative) return false;
  for (std::size_t c = 0; c < kernel.combine.size(); ++c) {
    const ScalarType type = kernel.combine[c]->type().scalars[0];
    const ir::Primitive primitive = operator_of(kernel, c);
    if (!ir::is_float(type) || primitive == ir::Primitive::minimum || primitive == ir::Primitive::maximum) continue;
    const ir::Node& seed = *kernel.seed[c];
    if (seed.op() != ir::Op::constant) return false;
    if (seed.payload().bits != identity_of(primitive, type) &&
        !(primitive == ir::Primitive::add && seed.payload().bits == 0))
      return false;
  }
  return true;
}

/// One function of the image in which bodies are evaluated for one row at a time.
class Rows {
 public:
  Rows(llvm::Module& module, const std::string& name, std::span<llvm::Type* const> types, bool entry,
       const plan::Kernel& kernel, const Machine& machine, int lanes)
      : f(module, name, types, entry, machine),
        e(f, kernel, machine),
        b(f.b),
        kernel_(kernel),
        body_(kernel.body),
        combine_(kernel.combine),
        seed_(kernel.seed),
        lanes_(lanes),
        commutative_(kernel.order == order::OperatorClass::commutative) {
    for (const auto& c : kernel.combine) types_.push_back(c->type().scalars[0]);
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
    const View output = e.view(kernel_.output, e.uniform(item));
    llvm::Value* start = kernel_.over_items ? item_start(e, kernel_, output) : f.number(0);
    const auto index = decode(e, output.extents, b.CreateSub(position, start));
    enter(item, index);
  }
  llvm::Value* length(llvm::Value* item) { return e.extent(kernel_.length, e.uniform(item)).v; }

  /// What all elements of the row share. Only where the row has an element.
  void emit_row() {
    for (const Level level : {Level::launch, Level::item, Level::row}) e.emit_level(body_, level);
  }

  bool has_row_work() const {
    for (const ir::Node* node : body_[0].nodes)
      if (e.level_of(*node) != Level::lane && !e.knows(*node)) return true;
    return false;
  }

  Registers identity(int width) {
    Registers out;
    for (std::size_t c = 0; c < components(); ++c) {
      llvm::Value* one = e.constant(types_[c], identity_of(operator_of(kernel_, c), types_[c]));
      out.push_back(width == 1 ? one : b.CreateVectorSplat(static_cast<unsigned>(width), one));
    }
    return out;
  }

  Registers join(const Registers& x, const Registers& y) {
    const int width = x[0]->getType()->isVectorTy() ? lanes_in(x[0]) : 1;
    const int outside = std::exchange(e.width, width);
    const auto here = e.mark();
    for (std::size_t c = 0; c < components(); ++c) {
      e.bind(*kernel_.left[c], {e.varying(x[c])});
      e.bind(*kernel_.right[c], {e.varying(y[c])});
    }
    e.emit_region(combine_, 0);
    Registers out;
    for (const auto& root : kernel_.combine) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    e.width = outside;
    return out;
  }

  /// Elements k .. k + width - 1.
  Registers elements(llvm::Value* k, int width) {
    const int outside = std::exchange(e.width, width);
    const auto here = e.mark();
    e.bind(*kernel_.reduction, {e.affine(k, 1)});
    e.emit_level(body_, Level::lane);
    Registers out;
    for (const auto& root : kernel_.body) out.push_back(e.lanes(e.value(root)));
    e.undo(here);
    e.width = outside;
    return out;
  }

  /// total o elements [begin, end), from left to right. `base`: a position in memory that element numbers are added to
  /// by most reads, or 0; the loop counts positions then, which leaves addresses without an addition.
  Registers sequential(llvm::Value* begin, llvm::Value* end, Registers total, llvm::Value* base) {
    return f.loop(b.CreateAdd(base, begin), b.CreateAdd(base, end), 1, std::move(total), "sequential",
                  [&](llvm::Value* at, const Registers& so_far) {
                    return join(so_far, elements(b.CreateSub(at, base), 1));
                  });
  }
  /// Such a base: where the current item's elements begin in memory.
  llvm::Value* base() {
    for (const auto& array : kernel_.arrays)
      if (array.form == plan::Form::segmented) return e.base_of(*array.parameter).v;
    return f.number(0);
  }

  Registers seed() {
    const auto here = e.mark();
    e.emit_region(seed_, 0);
    Registers out;
    for (const auto& root : kernel_.seed) out.push_back(e.value(root).v);
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
    const Registers sums =
        f.loop(begin, end, count, start, "lanes", [&](llvm::Value* k, const Registers& so_far) {
          Registers next;
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

  /// A block of `count` elements from `begin` on; `wide` allows for counts from which on the wide lanes are used.
  Registers reduce_block(llvm::Value* begin, llvm::Value* count, bool wide) {
    llvm::Value* end = b.CreateAdd(begin, count);
    if (!commutative_) {
      Registers first = elements(begin, 1);
      return sequential(b.CreateAdd(begin, f.number(1)), end, std::move(first), base());
    }
    llvm::Value* at = begin;
    Registers wide_total = identity(1);
    if (wide) {
      auto [next, total] = maybe(b.CreateICmpSGE(count, f.number(order::wide_from)), at, count, order::wide_lanes);
      at = next;
      wide_total = total;
    }
    llvm::Value* rest = wide ? b.CreateSub(end, at) : count;
    auto [tail, narrow_total] =
        maybe(b.CreateICmpSGT(rest, f.number(order::sequential)), at, rest, order::narrow_lanes);
    Registers total = sequential(tail, end, identity(1), base());
    total = join(narrow_total, total);
    return wide ? join(wide_total, total) : total;
  }

  /// seed o total, stored at the row's position.
  void finish(Registers total, llvm::Value* position, llvm::Value* is_empty) {
    if (!kernel_.seed.empty()) {
      const Registers first = seed();
      // Without an identity there is no total to join where there is no element.
      const bool may_lack = !commutative_ && is_empty;
      llvm::BasicBlock* before = b.GetInsertBlock();
      llvm::BasicBlock* next = may_lack ? f.block("seeded") : nullptr;
      if (may_lack) {
        llvm::BasicBlock* some = f.block("seed");
        b.CreateCondBr(is_empty, next, some);
        b.SetInsertPoint(some);
      }
      total = join(first, total);
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
    for (std::size_t c = 0; c < components(); ++c)
      e.store(f.buffer(kernel_.output.first_buffer + static_cast<int>(c)), types_[c], e.uniform(at),
              e.uniform(total[c]));
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
      llvm::Value* v = b.CreateAlignedLoad(e.memory_type_of(types_[c]), cell(cells, block, c), llvm::Align(8));
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

  /// If `condition`: full groups of `lanes` elements of the `count` from `at` on; gives the position after them and
  /// their total (else `at` and the identity).
  std::pair<llvm::Value*, Registers> maybe(llvm::Value* condition, llvm::Value* at, llvm::Value* count,
                                           std::int64_t lanes) {
    const Registers none = identity(1);
    llvm::BasicBlock* yes = f.block("enough");
    llvm::BasicBlock* next = f.block("rest");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(condition, yes, next);
    b.SetInsertPoint(yes);
    llvm::Value* end = b.CreateAdd(at, b.CreateAnd(count, f.number(-lanes)));
    const Registers total = in_lanes(at, end, static_cast<int>(lanes));
    llvm::BasicBlock* yes_end = b.GetInsertBlock();
    b.CreateBr(next);
    b.SetInsertPoint(next);
    const auto merge = [&](llvm::Value* v, llvm::Value* otherwise) {
      llvm::PHINode* phi = b.CreatePHI(v->getType(), 2);
      phi->addIncoming(v, yes_end);
      phi->addIncoming(otherwise, before);
      return phi;
    };
    std::pair<llvm::Value*, Registers> out{merge(end, at), {}};
    for (std::size_t c = 0; c < components(); ++c) out.second.push_back(merge(total[c], none[c]));
    return out;
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

  const plan::Kernel& kernel_;
  Regions body_, combine_, seed_;
  std::vector<ScalarType> types_;
  int lanes_;
  bool commutative_;
};

class Fold {
 public:
  Fold(llvm::Module& module, const plan::Kernel& kernel, const Machine& machine)
      : module_(module),
        kernel_(kernel),
        machine_(machine),
        i64_(llvm::Type::getInt64Ty(module.getContext())),
        ptr_(llvm::PointerType::getUnqual(module.getContext())) {
    // A register must hold whole lanes of the order; the narrow lanes always fit one emission.
    const int lanes = machine.forced_lanes ? machine.forced_lanes : suitable_lanes(kernel.body, machine);
    lanes_ = lanes == 1 ? 1 : std::clamp(lanes, static_cast<int>(order::narrow_lanes), static_cast<int>(order::wide_lanes));
  }

  void emit() {
    make_block();
    make_tree();
    make_rows();
    make_blocks();
    make_finish();
  }

 private:
  Rows rows(const std::string& name, std::vector<llvm::Type*> types, bool entry) {
    return Rows(module_, name, types, entry, kernel_, machine_, lanes_);
  }

  void close(Rows& r) {
    r.b.CreateRetVoid();
    r.f.finish();
  }

  llvm::Value* block_length(Rows& r, llvm::Value* length, llvm::Value* begin) {
    return r.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, r.b.CreateSub(length, begin), r.f.number(order::block));
  }

  /// block(args, item, position, begin, count, cells): one block of a row, into cells[0].
  void make_block() {
    Rows r = rows("block", {i64_, i64_, i64_, i64_, ptr_}, false);
    block_ = r.f.function();
    block_->addFnAttr(llvm::Attribute::NoInline);
    r.enter(r.f.parameter(0), r.f.parameter(1));
    r.emit_row();
    r.put(r.f.parameter(4), r.f.number(0), r.reduce_block(r.f.parameter(2), r.f.parameter(3), true));
    close(r);
  }

  /// tree(args, item, position, partials, count, cells): the row's total, into cells[0], from `count` partial results or,
  /// where `partials` is null, from the row itself, which has `count` blocks.
  void make_tree() {
    Rows r = rows("tree", {i64_, i64_, ptr_, i64_, ptr_}, false);
    tree_ = r.f.function();
    tree_->addFnAttr(llvm::Attribute::NoInline);
    Frame& f = r.f;
    auto& b = r.b;
    llvm::Value *item = f.parameter(0), *position = f.parameter(1), *partials = f.parameter(2), *count = f.parameter(3);
    r.enter(item, position);
    llvm::Value* length = r.length(item);
    llvm::Value* stack = r.cells(64);
    llvm::Value* fresh = r.cells(1);
    llvm::Value* own = b.CreateIsNull(partials);
    const Registers depth = f.loop(
        f.number(0), count, 1, {f.number(0)}, "tree", [&](llvm::Value* block, const Registers& state) {
          llvm::BasicBlock *compute = f.block("compute"), *ready = f.block("ready");
          llvm::BasicBlock* before = b.GetInsertBlock();
          b.CreateCondBr(own, compute, ready);
          b.SetInsertPoint(compute);
          llvm::Value* begin = b.CreateMul(block, f.number(order::block));
          b.CreateCall(block_, {f.args(), item, position, begin, block_length(r, length, begin), fresh});
          b.CreateBr(ready);
          b.SetInsertPoint(ready);
          llvm::PHINode* from = b.CreatePHI(ptr_, 2);
          from->addIncoming(fresh, compute);
          from->addIncoming(partials, before);
          llvm::PHINode* where = b.CreatePHI(i64_, 2);
          where->addIncoming(f.number(0), compute);
          where->addIncoming(block, before);
          const Registers value = r.get(from, where);

          // Like adding one to a binary number: each trailing one bit of `block` joins two equal subtrees.
          llvm::Value* joins = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b.CreateNot(block), b.getFalse());
          Registers carried = value;
          carried.push_back(state[0]);
          Registers out = f.loop(f.number(0), joins, 1, carried, "carry", [&](llvm::Value*, const Registers& s) {
            llvm::Value* top = b.CreateSub(s.back(), f.number(1));
            Registers next = r.join(r.get(stack, top), Registers(s.begin(), s.end() - 1));
            next.push_back(top);
            return next;
          });
          llvm::Value* top = out.back();
          out.pop_back();
          r.put(stack, top, out);
          return Registers{b.CreateAdd(top, f.number(1))};
        });
    // What remains is joined from the right.
    llvm::Value* top = b.CreateSub(depth[0], f.number(1));
    const Registers total =
        f.loop(f.number(0), top, 1, r.get(stack, top), "total", [&](llvm::Value* i, const Registers& so_far) {
          return r.join(r.get(stack, b.CreateSub(b.CreateSub(top, f.number(1)), i)), so_far);
        });
    r.put(f.parameter(4), f.number(0), total);
    close(r);
  }

  /// entry0(args, begin, end, scratch): whole rows.
  void make_rows() {
    Rows r = rows("entry0", {i64_, i64_, ptr_}, true);
    Frame& f = r.f;
    auto& b = r.b;
    llvm::Value *begin = f.parameter(0), *end = f.parameter(1);
    llvm::BasicBlock *some = f.block("some"), *none = f.block("none");
    b.CreateCondBr(b.CreateICmpSLT(begin, end), some, none);
    b.SetInsertPoint(none);
    b.CreateRetVoid();
    b.SetInsertPoint(some);
    llvm::Value* first = f.number(0);
    if (kernel_.output.form == plan::Form::segmented) {
      first = scratch_field(f, f.parameter(2), offsetof(Scratch, first_item), i64_);
    } else if (kernel_.over_items) {
      llvm::Value* size = f.number(1);
      for (const Value& extent : r.e.view(kernel_.output, r.e.uniform(f.number(0))).extents)
        size = b.CreateMul(size, extent.v);
      first = kernel_.output.extents.empty() ? begin : b.CreateUDiv(begin, size);
    }
    using Kind = plan::Extent::Kind;
    const bool lengths_differ = kernel_.length.kind == Kind::per_item || kernel_.length.kind == Kind::ragged;
    if (r.commutative() && !kernel_.seed.empty() && kernel_.over_items && kernel_.output.extents.empty() &&
        lengths_differ) {
      short_rows_apart(r, begin, end);
    } else {
      each_run(
          r.e, kernel_, begin, end, first, false,
          [&](llvm::Value* item) { enter_item(r.e, kernel_, r.e.uniform(item)); },
          [&](const Run& run) { one_row(r, run); });
    }
    close(r);
  }

  /// One row an item, lengths that differ: runs of short rows get a loop of their own, which the registers and the code of
  /// longer rows do not burden. This is what a sparse matrix meets.
  void short_rows_apart(Rows& r, llvm::Value* begin, llvm::Value* end) {
    Frame& f = r.f;
    auto& b = r.b;
    llvm::BasicBlock *outer = f.block("rows"), *header = f.block("short_rows"), *look = f.block("look"),
                     *row = f.block("short_row"), *longer = f.block("longer_row"), *done = f.block("rows_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateBr(outer);
    b.SetInsertPoint(outer);
    llvm::PHINode* from = b.CreatePHI(i64_, 2, "from");
    from->addIncoming(begin, before);
    b.CreateBr(header);

    b.SetInsertPoint(header);
    llvm::PHINode* item = b.CreatePHI(i64_, 2, "item");
    item->addIncoming(from, outer);
    b.CreateCondBr(b.CreateICmpSLT(item, end), look, done);
    b.SetInsertPoint(look);
    llvm::Value* length = r.length(item);
    f.branch_likely_weakly(b.CreateICmpSLE(length, f.number(order::sequential)), row, longer);

    b.SetInsertPoint(row);
    const auto here = r.e.mark();
    enter_item(r.e, kernel_, r.e.uniform(item));
    llvm::BasicBlock *some = f.block("some_elements"), *ready = f.block("row_done");
    llvm::BasicBlock* row_end = b.GetInsertBlock();
    const bool from_seed = seed_may_go_first(kernel_);
    const Registers none = from_seed ? r.seed() : r.identity(1);
    // The loop looks for itself whether there is an element, unless something comes before it.
    llvm::Value* enter = r.has_row_work() ? b.CreateICmpSGT(length, f.number(0)) : b.getTrue();
    f.branch_likely_weakly(enter, some, ready);
    b.SetInsertPoint(some);
    const auto inside = r.e.mark();
    r.emit_row();
    const Registers sum = r.sequential(f.number(0), length, none, r.base());
    r.e.undo(inside);
    llvm::BasicBlock* some_end = b.GetInsertBlock();
    b.CreateBr(ready);
    b.SetInsertPoint(ready);
    Registers total;
    for (std::size_t c = 0; c < r.components(); ++c) {
      llvm::PHINode* phi = b.CreatePHI(sum[c]->getType(), 2);
      phi->addIncoming(sum[c], some_end);
      phi->addIncoming(none[c], row_end);
      total.push_back(phi);
    }
    if (from_seed) r.put_out(total, item);
    else r.finish(total, item, nullptr);
    r.e.undo(here);
    item->addIncoming(b.CreateAdd(item, f.number(1)), b.GetInsertBlock());
    b.CreateBr(header);

    b.SetInsertPoint(longer);
    const auto there = r.e.mark();
    enter_item(r.e, kernel_, r.e.uniform(item));
    one_row(r, {item, {}, item, f.number(0), f.number(1)});
    r.e.undo(there);
    from->addIncoming(b.CreateAdd(item, f.number(1)), b.GetInsertBlock());
    b.CreateBr(outer);
    b.SetInsertPoint(done);
  }

  void one_row(Rows& r, const Run& run) {
    Frame& f = r.f;
    auto& b = r.b;
    const auto here = r.e.mark();
    r.bind_index(run.outer);
    llvm::Value* length = r.length(run.item);
    llvm::Value* empty = b.CreateICmpSLE(length, f.number(0));

    llvm::BasicBlock *filled = f.block("filled"), *in_blocks = f.block("in_blocks"), *one = f.block("one_block"),
                     *several = f.block("several_blocks"), *called = f.block("called"), *done = f.block("row_done");
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateCondBr(empty, done, filled);
    Registers nothing;
    for (std::size_t c = 0; c < r.components(); ++c)
      nothing.push_back(r.commutative() && !kernel_.seed.empty()
                            ? r.identity(1)[c]
                            : llvm::Constant::getNullValue(r.e.type_of(r.type(c))));

    b.SetInsertPoint(filled);
    const auto limit = r.commutative() ? in_place - 1 : order::block;
    llvm::BasicBlock* short_row = f.block("short_row");
    f.branch_likely_weakly(b.CreateICmpSLE(length, f.number(limit)), short_row, in_blocks);
    b.SetInsertPoint(short_row);
    const auto row_values = r.e.mark();
    r.emit_row();
    const Registers total = r.reduce_block(f.number(0), length, false);
    r.e.undo(row_values);
    llvm::BasicBlock* short_end = b.GetInsertBlock();
    b.CreateBr(done);

    b.SetInsertPoint(in_blocks);
    llvm::Value* result = r.cells(1);
    b.CreateCondBr(b.CreateICmpSLE(length, f.number(order::block)), one, several);
    b.SetInsertPoint(one);
    b.CreateCall(block_, {f.args(), run.item, run.position, f.number(0), length, result});
    b.CreateBr(called);
    b.SetInsertPoint(several);
    llvm::Value* blocks = b.CreateLShr(b.CreateAdd(length, f.number(order::block - 1)),
                                       static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(order::block))));
    b.CreateCall(tree_, {f.args(), run.item, run.position, llvm::Constant::getNullValue(ptr_), blocks, result});
    b.CreateBr(called);
    b.SetInsertPoint(called);
    const Registers long_total = r.get(result, f.number(0));
    llvm::BasicBlock* called_end = b.GetInsertBlock();
    b.CreateBr(done);

    b.SetInsertPoint(done);
    Registers all;
    for (std::size_t c = 0; c < r.components(); ++c) {
      llvm::PHINode* phi = b.CreatePHI(total[c]->getType(), 3);
      phi->addIncoming(nothing[c], before);
      phi->addIncoming(total[c], short_end);
      phi->addIncoming(long_total[c], called_end);
      all.push_back(phi);
    }
    if (kernel_.seed.empty()) {
      llvm::BasicBlock *failed = f.block("empty_fold"), *next = f.block("store");
      f.branch_likely(b.CreateNot(empty), next, failed);
      b.SetInsertPoint(failed);
      f.record(empty_check(), f.number(0), f.number(0));
      b.CreateBr(next);
      b.SetInsertPoint(next);
    }
    r.finish(std::move(all), run.position, empty);
    r.e.undo(here);
  }

  /// entry1(args, begin, end, scratch): blocks of one row into scratch->partials.
  void make_blocks() {
    Rows r = rows("entry1", {i64_, i64_, ptr_}, true);
    Frame& f = r.f;
    llvm::Value* scratch = f.parameter(2);
    llvm::Value* row = scratch_field(f, scratch, offsetof(Scratch, row), i64_);
    llvm::Value* item = scratch_field(f, scratch, offsetof(Scratch, row_item), i64_);
    llvm::Value* partials = scratch_field(f, scratch, offsetof(Scratch, partials), ptr_);
    llvm::Value* length = r.length(item);
    f.loop(f.parameter(0), f.parameter(1), 1, {}, "blocks", [&](llvm::Value* block, const auto&) {
      llvm::Value* begin = r.b.CreateMul(block, f.number(order::block));
      r.b.CreateCall(block_, {f.args(), item, row, begin, block_length(r, length, begin), r.cell(partials, block, 0)});
      return Registers{};
    });
    close(r);
  }

  /// entry2(args, _, end, scratch): the row's total from `end` partial results, the seed, the store.
  void make_finish() {
    Rows r = rows("entry2", {i64_, i64_, ptr_}, true);
    Frame& f = r.f;
    llvm::Value* scratch = f.parameter(2);
    llvm::Value* row = scratch_field(f, scratch, offsetof(Scratch, row), i64_);
    llvm::Value* item = scratch_field(f, scratch, offsetof(Scratch, row_item), i64_);
    llvm::Value* partials = scratch_field(f, scratch, offsetof(Scratch, partials), ptr_);
    llvm::Value* result = r.cells(1);
    r.b.CreateCall(tree_, {f.args(), item, row, partials, f.parameter(1), result});
    r.enter(item, row);
    r.finish(r.get(result, f.number(0)), row, nullptr);
    close(r);
  }

  int empty_check() const {
    for (std::size_t i = 0; i < kernel_.checks.size(); ++i)
      if (kernel_.checks[i].kind == plan::Check::Kind::empty_fold) return static_cast<int>(i);
    throw InternalError("fold kernel: no check for empty rows");
  }

  llvm::Module& module_;
  const plan::Kernel& kernel_;
  const Machine& machine_;
  llvm::Type* i64_;
  llvm::Type* ptr_;
  int lanes_ = 1;
  llvm::Function* block_ = nullptr;
  llvm::Function* tree_ = nullptr;
};

}  // namespace

int emit_fold(llvm::Module& module, const plan::Kernel& kernel, const Machine& machine) {
  Fold(module, kernel, machine).emit();
  return 3;
}

}  // namespace anabranch::cpu
