#include "cpu/llvm/column_scan.h"

#include <algorithm>

#include "kernel/pointwise.h"

namespace anabranch::cpu {

namespace order = ir::fold_order;
using ir::scan_order::group;

namespace {

/// Vectors of rows of a tile, and of one whose rows are longer than a block: their tree is in the stack frame.
constexpr std::int64_t vectors_of_tile = 64, vectors_with_tree = 8;
/// Levels of the tree over a row's blocks.
constexpr std::uint64_t levels = 52;
/// Vectors that memory is fetched ahead along the rows of the array.
constexpr std::int64_t vectors_ahead = 8;
/// Operators up to this cost are written out for all steps and elements of a group of so many values.
constexpr std::int64_t unrolled_cost = 4;
constexpr std::size_t most_values = 2 * group;
constexpr std::size_t most_components = 4;

}  // namespace

bool ColumnScan::suits(const kernel::Kernel& kernel, const ScanRows& rows) {
  return kernel::scans_across(kernel) && rows.lanes() > 1 && rows.components() <= most_components;
}

ColumnScan::ColumnScan(ScanRows& rows, const kernel::Kernel& kernel)
    : r_(rows),
      f_(rows.f),
      b_(rows.b),
      kernel_(kernel),
      width_(rows.lanes()),
      memory_(rows, width_),
      in_registers_(!rows.body_is_large() && rows.operator_cost() <= unrolled_cost &&
                    rows.components() * group <= most_values) {
  group_ = memory_.room(group);
  seed_ = memory_.room(vectors_of_tile);
  carry_ = memory_.room(vectors_of_tile);
  total_ = memory_.room(vectors_of_tile);
  tree_ = memory_.room(levels * vectors_with_tree);
}

/// The vector of a tree's level.
llvm::Value* ColumnScan::of_tree(llvm::Value* level, llvm::Value* vector) {
  return b_.CreateAdd(b_.CreateMul(level, f_.number(vectors_with_tree)), vector);
}

/// Calls body(vector) for each vector of the tile that is full, and for the last if it is not: the lanes without a row are
/// masked, since an operator's loop need not end there. Full ones are masked, too, where the code is to be small.
template <class Body>
void ColumnScan::each_vector(bool is_small, Body&& body) {
  llvm::Value* masked = f_.number(0);
  if (!is_small) {
    masked = whole_;
    f_.each(f_.number(0), whole_, 1, "vectors", body);
  }
  f_.each(masked, vectors_, 1, "masked_vectors", [&](llvm::Value* vector) {
    llvm::Value* const outside =
        std::exchange(r_.e.mask, r_.first_lanes(b_.CreateSub(end_, column(vector)), width_));
    body(vector);
    r_.e.mask = outside;
  });
}

// Rows of a vector ------------------------------------------------------------------------------------------

llvm::Value* ColumnScan::column(llvm::Value* vector) {
  return b_.CreateAdd(first_, b_.CreateMul(vector, f_.number(width_)));
}

template <class Code>
Registers ColumnScan::in_lanes(llvm::Value* vector, Code&& code) {
  Emitter& e = r_.e;
  const auto here = e.mark();
  const int narrower = std::exchange(e.width, width_);
  e.bind(*kernel_.index.back(), {e.affine(column(vector), 1)});
  Registers out = code();
  e.width = narrower;
  e.undo(here);
  return out;
}

/// Element k of the rows of a vector, in the order of the scan.
Registers ColumnScan::elements(llvm::Value* k, llvm::Value* vector) {
  if (r_.from_right()) k = b_.CreateSub(b_.CreateSub(length_, f_.number(1)), k);
  r_.e.ahead = ahead_;
  Registers out = in_lanes(vector, [&] {
    r_.e.bind(*kernel::row_of(kernel_)->index, {r_.e.uniform(k)});
    return r_.body_values();
  });
  r_.e.ahead = nullptr;
  return out;
}

/// The element of outputs that result `number` of a row is, in the order of the scan.
llvm::Value* ColumnScan::element_of(llvm::Value* number) {
  return r_.from_right() ? b_.CreateSub(b_.CreateSub(count_, f_.number(1)), number) : number;
}

/// Where an output has it.
llvm::Value* ColumnScan::place(std::size_t output, llvm::Value* number, llvm::Value* vector) {
  llvm::Value* further = b_.CreateMul(element_of(number), places_[output].step);
  return b_.CreateAdd(b_.CreateAdd(places_[output].begin, further), column(vector));
}

void ColumnScan::put_result(llvm::Value* number, llvm::Value* vector, const Registers& prefixes) {
  const Registers values = in_lanes(vector, [&] {
    return r_.stored_in([&] { return r_.e.uniform(element_of(number)); }, prefixes, r_.e.mask);
  });
  for (std::size_t o = 0; o < places_.size(); ++o)
    if (places_[o].begin) r_.put_at(o, place(o, number, vector), values, r_.e.mask);
}

void ColumnScan::prefetch_results(llvm::Value* number, llvm::Value* vector) {
  for (std::size_t o = 0; o < places_.size(); ++o) {
    if (!places_[o].begin) continue;
    const kernel::KernelArray& array = kernel_.outputs[o].array;
    llvm::Value* further = b_.CreateAdd(place(o, number, vector), ahead_);
    for (std::size_t c = 0; c < array.type.scalars.size(); ++c)
      f_.prefetch(f_.element(r_.e.memory_type_of(array.type.scalars[c]),
                             f_.buffer(array.first_buffer + static_cast<int>(c)), further),
                  /*to_write=*/true);
  }
}

// Groups ----------------------------------------------------------------------------------------------------

/// Of a group in memory.
ScanRows::Parts ColumnScan::prefixes_in_registers() {
  ScanRows::Parts lanes;
  for (std::int64_t j = 0; j < group; ++j) lanes.push_back(memory_.get(group_, f_.number(j)));
  for (std::size_t by = 1; by < lanes.size(); by *= 2)
    for (std::size_t j = lanes.size(); j-- > by;) lanes[j] = r_.join(lanes[j - by], lanes[j]);
  return lanes;
}

/// Each step goes from the last element to the first that has one to join, so that these are read before they change.
void ColumnScan::prefixes_in_memory(llvm::Value* count) {
  for (std::int64_t by = 1; by < group; by *= 2)
    f_.each(f_.number(0), b_.CreateSub(count, f_.number(by)), 1, "step", [&](llvm::Value* i) {
      llvm::Value* j = b_.CreateSub(b_.CreateSub(count, f_.number(1)), i);
      memory_.put(group_, j,
                  r_.join(memory_.get(group_, b_.CreateSub(j, f_.number(by))), memory_.get(group_, j)));
    });
}

/// A group of the rows of a vector, in a block that begins at `block`.
void ColumnScan::scan_group(const Group& of, llvm::Value* block, llvm::Value* vector) {
  llvm::Value* first = b_.CreateAdd(of.k, f_.number(r_.stores_seed() ? 1 : 0));
  f_.each(f_.number(0), of.count, 1, "elements", [&](llvm::Value* j) {
    prefetch_results(b_.CreateAdd(first, j), vector);
    memory_.put(group_, j, elements(b_.CreateAdd(of.k, j), vector));
  });
  llvm::Value* none = r_.lacks_carry(of.k);
  const Registers carry = memory_.get(carry_, vector);
  Registers total, last;
  if (of.is_full && !r_.e.mask) {
    ScanRows::Parts lanes = prefixes_in_registers();
    total = lanes.back();
    lanes = r_.join_all(none, carry, std::move(lanes));
    last = lanes.back();
    lanes.pop_back();
    for (std::size_t j = 0; j < lanes.size(); ++j)
      put_result(b_.CreateAdd(first, f_.number(static_cast<std::int64_t>(j))), vector, lanes[j]);
    if_stored(b_.CreateAdd(first, f_.number(group - 1)),
              [&](llvm::Value* number) { put_result(number, vector, last); });
  } else {
    prefixes_in_memory(of.count);
    total = memory_.get(group_, b_.CreateSub(of.count, f_.number(1)));
    llvm::Value* stored =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, of.count, b_.CreateSub(count_, first));
    f_.each(f_.number(0), stored, 1, "prefixes", [&](llvm::Value* j) {
      const Registers lane = r_.join_all(none, carry, {memory_.get(group_, j)})[0];
      put_result(b_.CreateAdd(first, j), vector, lane);
    });
    last = r_.join_all(none, carry, {total})[0];
  }
  memory_.put(carry_, vector, last);
  llvm::Value* is_first = b_.CreateICmpEQ(of.k, block);
  memory_.put(total_, vector, r_.join_all(is_first, memory_.get(total_, vector), {total})[0]);
}

/// The row's last inclusive prefix is no exclusive one.
template <class Code>
void ColumnScan::if_stored(llvm::Value* number, Code&& code) {
  if (!r_.has(Prefixes::exclusive)) return code(number);
  llvm::BasicBlock *some = f_.block("store"), *done = f_.block("stored");
  b_.CreateCondBr(b_.CreateICmpSLT(number, count_), some, done);
  b_.SetInsertPoint(some);
  code(number);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

// Tiles -----------------------------------------------------------------------------------------------------

void ColumnScan::begin_rows() {
  if (!r_.seeded()) return;
  each_vector(true, [&](llvm::Value* vector) {
    const Registers seed = in_lanes(vector, [&] { return r_.seed(); });
    memory_.put(seed_, vector, seed);
    memory_.put(carry_, vector, seed);
    if (r_.stores_seed())
      if_stored(f_.number(0), [&](llvm::Value* number) { put_result(number, vector, seed); });
  });
}

/// Elements [begin, end) of each row.
void ColumnScan::scan_block(llvm::Value* begin, llvm::Value* end) {
  llvm::Value* rest = begin;
  if (in_registers_) {
    rest = b_.CreateAdd(begin, b_.CreateAnd(b_.CreateSub(end, begin), f_.number(-group)));
    f_.each(begin, rest, group, "full_groups", [&](llvm::Value* k) {
      each_vector(false,
                  [&](llvm::Value* vector) { scan_group({k, f_.number(group), true}, begin, vector); });
    });
  }
  f_.each(rest, end, group, "groups", [&](llvm::Value* k) {
    llvm::Value* count =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(end, k), f_.number(group));
    each_vector(true, [&](llvm::Value* vector) { scan_group({k, count, false}, begin, vector); });
  });
}

/// Block `number` has its total, and others follow: fold_order::CounterTree::push and total.
void ColumnScan::next_carry(llvm::Value* number) {
  llvm::Value* joins = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b_.CreateNot(number), b_.getFalse());
  llvm::Value* depth = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, number);
  llvm::Value* top = b_.CreateSub(depth, joins);
  each_vector(true, [&](llvm::Value* vector) {
    const auto below = [&](llvm::Value* level, llvm::Value* i) {
      return memory_.get(tree_, of_tree(b_.CreateSub(b_.CreateSub(level, f_.number(1)), i), vector));
    };
    const Registers entry =
        f_.loop(f_.number(0), joins, 1, memory_.get(total_, vector), "push",
                [&](llvm::Value* i, const Registers& now) { return r_.join(below(depth, i), now); });
    memory_.put(tree_, of_tree(top, vector), entry);
    Registers carry =
        f_.loop(f_.number(0), top, 1, entry, "total",
                [&](llvm::Value* i, const Registers& now) { return r_.join(below(top, i), now); });
    if (r_.seeded()) carry = r_.join(memory_.get(seed_, vector), carry);
    memory_.put(carry_, vector, carry);
  });
}

void ColumnScan::put_totals() {
  llvm::Value* bias = output_bias(r_.e, kernel_);
  each_vector(true, [&](llvm::Value* vector) {
    llvm::Value* position = b_.CreateAdd(run_->position, b_.CreateSub(column(vector), run_->lo));
    for (std::size_t o = 0; o < kernel_.outputs.size(); ++o)
      if (kernel_.outputs[o].write == kernel::KernelOutput::Write::position)
        r_.put_at(o, b_.CreateAdd(position, bias), memory_.get(carry_, vector), r_.e.mask);
  });
}

/// Rows [first, end).
void ColumnScan::tile(llvm::Value* first, llvm::Value* end) {
  first_ = first;
  end_ = end;
  llvm::Value* rows = b_.CreateSub(end, first);
  whole_ = b_.CreateUDiv(rows, f_.number(width_));
  vectors_ = b_.CreateUDiv(b_.CreateAdd(rows, f_.number(width_ - 1)), f_.number(width_));
  begin_rows();
  llvm::Value* blocks =
      b_.CreateSDiv(b_.CreateAdd(length_, f_.number(order::block - 1)), f_.number(order::block));
  f_.each(f_.number(0), blocks, 1, "blocks", [&](llvm::Value* number) {
    f_.leave_if_stopped();
    llvm::Value* begin = b_.CreateMul(number, f_.number(order::block));
    llvm::Value* behind = b_.CreateAdd(begin, f_.number(order::block));
    scan_block(begin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, length_));
    llvm::BasicBlock *more = f_.block("more_blocks"), *done = f_.block("block_done");
    b_.CreateCondBr(b_.CreateICmpSLT(behind, length_), more, done);
    b_.SetInsertPoint(more);
    next_carry(number);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  });
  if (r_.has_totals()) put_totals();
}

/// Where the rows lie.
void ColumnScan::enter(const Run& run) {
  run_ = &run;
  length_ = r_.length(run.item);
  r_.enter_row(length_);
  count_ = r_.count_stored();
  std::vector<llvm::Value*> index = run.outer;
  index.push_back(f_.number(0));
  places_.clear();
  for (const kernel::KernelOutput& output : kernel_.outputs)
    places_.push_back(output.write == kernel::KernelOutput::Write::element
                          ? r_.place_of(output, run.item, index, count_)
                          : ScanRows::Place{nullptr, nullptr});
  ahead_ = f_.number(vectors_ahead * width_);
}

void ColumnScan::scan(const Run& run) {
  const auto here = r_.e.mark();
  r_.bind_index(run.outer);
  r_.emit_above_rows();
  enter(run);
  llvm::Value* has_tree = b_.CreateICmpSGT(length_, f_.number(order::block));
  llvm::Value* rows =
      b_.CreateSelect(has_tree, f_.number(vectors_with_tree * width_), f_.number(vectors_of_tile * width_));
  llvm::Value* tiles =
      b_.CreateUDiv(b_.CreateAdd(b_.CreateSub(run.hi, run.lo), b_.CreateSub(rows, f_.number(1))), rows);
  f_.each(f_.number(0), tiles, 1, "tiles", [&](llvm::Value* number) {
    llvm::Value* first = b_.CreateAdd(run.lo, b_.CreateMul(number, rows));
    tile(first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, run.hi, b_.CreateAdd(first, rows)));
  });
  r_.e.undo(here);
}

}  // namespace anabranch::cpu
