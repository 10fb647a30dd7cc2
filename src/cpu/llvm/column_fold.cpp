#include "cpu/llvm/column_fold.h"

#include <algorithm>

namespace anabranch::cpu {

ColumnFold::ColumnFold(Rows& rows, const kernel::Kernel& kernel)
    : r_(rows), f_(rows.f), b_(rows.b), kernel_(kernel), width_(rows.narrow_width()), memory_(rows, width_) {
  lanes_ = memory_.room((rows.commutative() ? order::wide_lanes : 1) * vectors);
  tree_ = memory_.room(64 * vectors);
}

template <class Body>
void ColumnFold::each_vector(Body&& body) {
  if (full_) {
    for (int v = 0; v < vectors; ++v) body(f_.number(v));
    return;
  }
  llvm::Value* count = b_.CreateAdd(b_.CreateSub(end_, first_), f_.number(width_ - 1));
  f_.each(f_.number(0), b_.CreateUDiv(count, f_.number(width_)), 1, "vectors", body);
}

Registers ColumnFold::get(const FrameVectors::Memory& memory, llvm::Value* line, llvm::Value* vector) {
  return memory_.get(memory, b_.CreateAdd(b_.CreateMul(line, f_.number(vectors)), vector));
}

void ColumnFold::put(const FrameVectors::Memory& memory, llvm::Value* line, llvm::Value* vector,
                     const Registers& values) {
  memory_.put(memory, b_.CreateAdd(b_.CreateMul(line, f_.number(vectors)), vector), values);
}

llvm::Value* ColumnFold::column(llvm::Value* vector) {
  return b_.CreateAdd(first_, b_.CreateMul(vector, f_.number(width_)));
}

/// The lanes of a vector that hold rows; null: all.
llvm::Value* ColumnFold::present(llvm::Value* vector) {
  return full_ ? nullptr : r_.first_lanes(b_.CreateSub(end_, column(vector)), width_);
}

/// Element k of the rows of a vector; lanes behind the last row hold anything.
Registers ColumnFold::elements(llvm::Value* k, llvm::Value* vector) {
  Emitter& e = r_.e;
  const auto here = e.mark();
  llvm::Value* const outside = std::exchange(e.mask, present(vector));
  const int narrower = std::exchange(e.width, width_);
  e.bind(*kernel_.index.back(), {e.affine(column(vector), 1)});
  e.bind(*kernel::row_of(kernel_)->index, {e.uniform(k)});
  Registers out = r_.body_values();
  e.width = narrower;
  e.mask = outside;
  e.undo(here);
  return out;
}

/// In the lanes that hold rows: an operator's loop need not end in others.
Registers ColumnFold::join(llvm::Value* vector, const Registers& x, const Registers& y) {
  llvm::Value* const outside = std::exchange(r_.e.mask, present(vector));
  Registers out = r_.join(x, y);
  r_.e.mask = outside;
  return out;
}

/// Elements [begin, end) of each row, one block: its result goes to line 0.
void ColumnFold::block(llvm::Value* begin, llvm::Value* end) {
  if (!r_.commutative()) {
    each_vector([&](llvm::Value* v) { put(lanes_, f_.number(0), v, elements(begin, v)); });
    f_.each(b_.CreateAdd(begin, f_.number(1)), end, 1, "ordered", [&](llvm::Value* k) {
      each_vector([&](llvm::Value* v) {
        put(lanes_, f_.number(0), v, join(v, get(lanes_, f_.number(0), v), elements(k, v)));
      });
    });
    return;
  }
  llvm::Value* is_short = b_.CreateICmpSLT(b_.CreateSub(end, begin), f_.number(order::wide_from));
  llvm::Value* count =
      b_.CreateSelect(is_short, f_.number(order::narrow_lanes), f_.number(order::wide_lanes));
  llvm::Value* last = b_.CreateSub(count, f_.number(1));
  f_.each(f_.number(0), count, 1, "clear", [&](llvm::Value* lane) {
    each_vector([&](llvm::Value* v) { put(lanes_, lane, v, r_.identity(width_)); });
  });
  f_.each(begin, end, 1, "lanes", [&](llvm::Value* k) {
    llvm::Value* lane = b_.CreateAnd(b_.CreateSub(k, begin), last);
    each_vector([&](llvm::Value* v) { put(lanes_, lane, v, join(v, get(lanes_, lane, v), elements(k, v))); });
  });
  llvm::Value* steps = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, count, b_.getTrue());
  f_.each(f_.number(0), steps, 1, "halve", [&](llvm::Value* step) {
    llvm::Value* half = b_.CreateLShr(count, b_.CreateAdd(step, f_.number(1)));
    f_.each(f_.number(0), half, 1, "low", [&](llvm::Value* lane) {
      each_vector([&](llvm::Value* v) {
        put(lanes_, lane, v, join(v, get(lanes_, lane, v), get(lanes_, b_.CreateAdd(lane, half), v)));
      });
    });
  });
}

/// Line 0, the result of block `number`, becomes an entry of the tree: fold_order::CounterTree::push.
void ColumnFold::join_earlier(llvm::Value* number) {
  llvm::Value* joins = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b_.CreateNot(number), b_.getFalse());
  llvm::Value* depth = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, number);
  each_vector([&](llvm::Value* v) {
    const Registers entry = f_.loop(f_.number(0), joins, 1, get(lanes_, f_.number(0), v), "carry",
                                    [&](llvm::Value* i, const Registers& now) {
                                      llvm::Value* top = b_.CreateSub(b_.CreateSub(depth, f_.number(1)), i);
                                      return join(v, get(tree_, top, v), now);
                                    });
    put(tree_, b_.CreateSub(depth, joins), v, entry);
  });
}

/// What the tree comes to after so many blocks, into line 0: fold_order::CounterTree::total.
void ColumnFold::joined_blocks(llvm::Value* count) {
  llvm::Value* top = b_.CreateSub(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, count), f_.number(1));
  each_vector([&](llvm::Value* v) {
    const Registers total =
        f_.loop(f_.number(0), top, 1, get(tree_, top, v), "total", [&](llvm::Value* i, const Registers& now) {
          return join(v, get(tree_, b_.CreateSub(b_.CreateSub(top, f_.number(1)), i), v), now);
        });
    put(lanes_, f_.number(0), v, total);
  });
}

llvm::Value* ColumnFold::blocks_of(llvm::Value* length) {
  return b_.CreateSDiv(b_.CreateAdd(length, f_.number(order::block - 1)), f_.number(order::block));
}

/// The result of block `number` of each row goes to line 0.
void ColumnFold::block_of(llvm::Value* number, llvm::Value* length) {
  llvm::Value* begin = b_.CreateMul(number, f_.number(order::block));
  llvm::Value* behind = b_.CreateAdd(begin, f_.number(order::block));
  block(begin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, length));
}

/// What line 0 has for a row.
Registers ColumnFold::first_line(llvm::Value* column) {
  Registers out;
  for (std::size_t c = 0; c < lanes_.size(); ++c) {
    llvm::Type* type = r_.e.memory_type_of(r_.type(c));
    llvm::Value* at = f_.element(type, lanes_[c], b_.CreateSub(column, first_));
    out.push_back(
        r_.e.from_memory(r_.type(c), b_.CreateAlignedLoad(type, at, llvm::Align(size_of(r_.type(c))))));
  }
  return out;
}

/// The rows at hand.
void ColumnFold::tile(const Run& run, llvm::Value* length) {
  llvm::Value* blocks = blocks_of(length);
  f_.each(f_.number(0), blocks, 1, "blocks", [&](llvm::Value* number) {
    f_.leave_if_stopped();
    block_of(number, length);
    join_earlier(number);
  });
  joined_blocks(blocks);
  f_.each(first_, end_, 1, "rows", [&](llvm::Value* column) {
    const auto row = r_.e.mark();
    const Registers total = first_line(column);
    r_.e.bind(*kernel_.index.back(), {r_.e.uniform(column)});
    r_.finish(total, b_.CreateAdd(run.position, b_.CreateSub(column, run.lo)), nullptr);
    r_.e.undo(row);
  });
}

/// Some rows of the run after the other are at hand while `body` emits what is done with them.
template <class Body>
void ColumnFold::each_tile(const Run& run, Body&& body) {
  const auto here = r_.e.mark();
  r_.bind_index(run.outer);
  r_.emit_above_rows();
  const std::int64_t rows = std::int64_t{vectors} * width_;
  const auto tiles = [&](llvm::Value* from, llvm::Value* to, const char* name) {
    f_.each(from, to, rows, name, [&](llvm::Value* first) {
      const auto inside = r_.e.mark();
      first_ = first;
      end_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, run.hi, b_.CreateAdd(first, f_.number(rows)));
      body();
      r_.e.undo(inside);
    });
  };
  llvm::Value* rest = run.lo;
  if (!r_.body_is_large()) {
    rest = b_.CreateAdd(run.lo, b_.CreateAnd(b_.CreateSub(run.hi, run.lo), f_.number(-rows)));
    full_ = true;
    tiles(run.lo, rest, "full_tiles");
    full_ = false;
  }
  tiles(rest, run.hi, "tiles");
  r_.e.undo(here);
}

void ColumnFold::reduce(const Run& run, llvm::Value* length) {
  each_tile(run, [&] { tile(run, length); });
}

void ColumnFold::reduce_blocks(const Run& run, llvm::Value* length, llvm::Value* begin, llvm::Value* end,
                               llvm::Value* partials, llvm::Value* first) {
  llvm::Value* blocks = blocks_of(length);
  each_tile(run, [&] {
    f_.each(begin, end, 1, "blocks", [&](llvm::Value* number) {
      f_.leave_if_stopped();
      block_of(number, length);
      f_.each(first_, end_, 1, "rows", [&](llvm::Value* column) {
        llvm::Value* position = b_.CreateAdd(run.position, b_.CreateSub(column, run.lo));
        llvm::Value* before = b_.CreateMul(b_.CreateSub(position, first), blocks);
        r_.put(partials, b_.CreateAdd(before, number), first_line(column));
      });
    });
  });
}

}  // namespace anabranch::cpu
