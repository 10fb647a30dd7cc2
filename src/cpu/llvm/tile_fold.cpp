#include "cpu/llvm/tile_fold.h"

#include "kernel/pointwise.h"

namespace anabranch::cpu {

namespace {
/// Levels of a counter tree, for any length of rows.
constexpr std::uint64_t levels_of_blocks = 52, levels_of_lanes = 6;
constexpr std::int64_t rows_of_a_panel = 16;
static_assert(std::uint64_t{1} << (levels_of_lanes - 1) == order::wide_lanes);
}  // namespace

TileFold::TileFold(Rows& rows, const kernel::Kernel& kernel, const Machine& machine)
    : r_(rows), f_(rows.f), b_(rows.b), kernel_(kernel), width_(rows.narrow_width()) {
  // Totals, a vector of each column and what is being computed fit the registers: 32 or 16.
  const bool many = machine.vector_bytes == 64;
  rows_ = many ? 4 : 2;
  vectors_ = (many ? 4 : 3) / static_cast<int>(rows.components());
  lanes_ = levels(levels_of_lanes);
  blocks_ = levels(levels_of_blocks);
}

bool TileFold::suits(const kernel::Kernel& kernel, Rows& rows) {
  return kernel::reduces_tiles(kernel) && rows.in_vectors() && rows.commutative() && rows.stores_flat() &&
         rows.components() <= 2 && rows.costs_little() && rows.seed_is_shared();
}

template <class Body>
void TileFold::each(llvm::Value* from, llvm::Value* to, std::int64_t step, const char* name, Body&& body) {
  f_.loop(from, to, step, {}, name, [&](llvm::Value* i, const Registers&) {
    body(i);
    return Registers{};
  });
}

// ---- tiles in memory

std::vector<llvm::Value*> TileFold::levels(std::uint64_t count) {
  std::vector<llvm::Value*> memory;
  for (std::size_t c = 0; c < r_.components(); ++c)
    memory.push_back(f_.local(r_.e.memory_type_of(r_.type(c)),
                              count * static_cast<std::uint64_t>(rows_ * vectors_ * width_)));
  return memory;
}

llvm::Value* TileFold::cell(llvm::Value* memory, std::size_t c, llvm::Value* level, std::size_t vector) {
  llvm::Value* number = b_.CreateAdd(b_.CreateMul(level, f_.number(std::int64_t{rows_} * vectors_)),
                                     f_.number(static_cast<std::int64_t>(vector)));
  return f_.element(r_.e.memory_type_of(r_.type(c)), memory, b_.CreateMul(number, f_.number(width_)));
}

TileFold::Tile TileFold::get(const std::vector<llvm::Value*>& memory, llvm::Value* level) {
  Tile out(static_cast<std::size_t>(rows_ * vectors_));
  for (std::size_t v = 0; v < out.size(); ++v)
    for (std::size_t c = 0; c < memory.size(); ++c) {
      llvm::Type* cells =
          llvm::FixedVectorType::get(r_.e.memory_type_of(r_.type(c)), static_cast<unsigned>(width_));
      llvm::Value* x =
          b_.CreateAlignedLoad(cells, cell(memory[c], c, level, v), llvm::Align(size_of(r_.type(c))));
      out[v].push_back(r_.e.from_memory(r_.type(c), x));
    }
  return out;
}

void TileFold::put(const std::vector<llvm::Value*>& memory, llvm::Value* level, const Tile& tile) {
  for (std::size_t v = 0; v < tile.size(); ++v)
    for (std::size_t c = 0; c < memory.size(); ++c)
      b_.CreateAlignedStore(r_.e.to_memory(r_.type(c), tile[v][c]), cell(memory[c], c, level, v),
                            llvm::Align(size_of(r_.type(c))));
}

Registers TileFold::flat(const Tile& tile) const {
  Registers out;
  for (const Registers& vector : tile) out.insert(out.end(), vector.begin(), vector.end());
  return out;
}
TileFold::Tile TileFold::tile_of(const Registers& all) const {
  Tile out;
  for (auto at = all.begin(); at != all.end(); at += static_cast<std::ptrdiff_t>(r_.components()))
    out.emplace_back(at, at + static_cast<std::ptrdiff_t>(r_.components()));
  return out;
}

// ---- the order

/// Element k of all rows. What neighbours share is computed, and loaded, once: it is the same code.
TileFold::Tile TileFold::elements(llvm::Value* k) {
  Emitter& e = r_.e;
  Tile out;
  const int outside = std::exchange(e.width, width_);
  for (int row = 0; row < rows_; ++row)
    for (int vector = 0; vector < vectors_; ++vector) {
      const auto here = e.mark();
      e.bind(*kernel_.index[kernel_.index.size() - 2], {e.uniform(b_.CreateAdd(row_, f_.number(row)))});
      e.bind(*kernel_.index.back(),
             {e.affine(b_.CreateAdd(column_, f_.number(std::int64_t{vector} * width_)), 1)});
      e.bind(*kernel::row_of(kernel_)->index, {e.uniform(k)});
      out.push_back(r_.body_values());
      e.undo(here);
    }
  e.width = outside;
  return out;
}

TileFold::Tile TileFold::join(const Tile& x, const Tile& y) {
  Tile out;
  for (std::size_t v = 0; v < x.size(); ++v) out.push_back(r_.join(x[v], y[v]));
  return out;
}

/// Elements first, first + step, ... before `end`, from left to right; of none the identity.
TileFold::Tile TileFold::lane(llvm::Value* first, llvm::Value* end, llvm::Value* step) {
  llvm::Value* behind = b_.CreateSub(b_.CreateAdd(end, step), f_.number(1));
  llvm::Value* rounds = b_.CreateSDiv(b_.CreateSub(behind, first), step);
  const Tile none(static_cast<std::size_t>(rows_ * vectors_), r_.identity(width_));
  return tile_of(
      f_.loop(f_.number(0), rounds, 1, flat(none), "lane", [&](llvm::Value* round, const Registers& so_far) {
        llvm::Value* k = b_.CreateAdd(first, b_.CreateMul(round, step));
        return flat(join(tile_of(so_far), elements(k)));
      }));
}

/// fold_order::CounterTree::push of entry `number`.
void TileFold::push(const std::vector<llvm::Value*>& tree, llvm::Value* number, const Tile& tile) {
  llvm::Value* joins = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b_.CreateNot(number), b_.getFalse());
  llvm::Value* depth = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, number);
  const Registers entry =
      f_.loop(f_.number(0), joins, 1, flat(tile), "carry", [&](llvm::Value* i, const Registers& now) {
        llvm::Value* top = b_.CreateSub(b_.CreateSub(depth, f_.number(1)), i);
        return flat(join(get(tree, top), tile_of(now)));
      });
  put(tree, b_.CreateSub(depth, joins), tile_of(entry));
}

/// fold_order::CounterTree::total of so many entries.
TileFold::Tile TileFold::total(const std::vector<llvm::Value*>& tree, llvm::Value* count) {
  llvm::Value* top = b_.CreateSub(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, count), f_.number(1));
  return tile_of(
      f_.loop(f_.number(0), top, 1, flat(get(tree, top)), "total", [&](llvm::Value* i, const Registers& now) {
        llvm::Value* below = b_.CreateSub(b_.CreateSub(top, f_.number(1)), i);
        return flat(join(get(tree, below), tile_of(now)));
      }));
}

/// Elements [begin, end) of each row, one block.
TileFold::Tile TileFold::block(llvm::Value* begin, llvm::Value* end) {
  llvm::Value* is_short = b_.CreateICmpSLT(b_.CreateSub(end, begin), f_.number(order::wide_from));
  llvm::Value* count =
      b_.CreateSelect(is_short, f_.number(order::narrow_lanes), f_.number(order::wide_lanes));
  llvm::Value* unused =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, b_.CreateSub(count, f_.number(1)), b_.getTrue());
  each(f_.number(0), count, 1, "lanes", [&](llvm::Value* number) {
    llvm::Value* turned = b_.CreateLShr(b_.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, number), unused);
    push(lanes_, number, lane(b_.CreateAdd(begin, turned), end, count));
  });
  return get(lanes_, f_.number(0));  // a power of two of lanes is one entry
}

/// The results of a tile, of which the first is at `position`.
void TileFold::compute(llvm::Value* first_of_row, llvm::Value* length) {
  llvm::Value* blocks =
      b_.CreateSDiv(b_.CreateAdd(length, f_.number(order::block - 1)), f_.number(order::block));
  each(f_.number(0), blocks, 1, "blocks", [&](llvm::Value* number) {
    f_.leave_if_stopped();
    llvm::Value* begin = b_.CreateMul(number, f_.number(order::block));
    llvm::Value* behind = b_.CreateAdd(begin, f_.number(order::block));
    push(blocks_, number, block(begin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, length)));
  });
  const Tile totals = total(blocks_, blocks);
  llvm::Value* columns = r_.e.part(kernel_.domain, r_.e.uniform(f_.number(0))).extents.back().v;
  for (int row = 0; row < rows_; ++row)
    for (int vector = 0; vector < vectors_; ++vector) {
      llvm::Value* at = b_.CreateAdd(first_of_row, b_.CreateMul(columns, f_.number(row)));
      at = b_.CreateAdd(at, b_.CreateAdd(column_, f_.number(std::int64_t{vector} * width_)));
      r_.finish_rows(totals[static_cast<std::size_t>(row * vectors_ + vector)], at, width_);
    }
}

void TileFold::reduce(std::span<llvm::Value* const> outer, llvm::Value* lo, llvm::Value* hi,
                      llvm::Value* columns, llvm::Value* position, llvm::Value* length) {
  const auto here = r_.e.mark();
  r_.bind_index(outer);
  r_.emit_above_rows();
  // The last tiles of both dimensions reach back over results that others have, too: they are the same.
  const auto at_most = [&](llvm::Value* x, llvm::Value* limit, std::int64_t size) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, b_.CreateSub(limit, f_.number(size)));
  };
  // What a few rows of results and a tile's columns read stays in the second cache.
  each(lo, hi, rows_of_a_panel, "panels", [&](llvm::Value* panel) {
    llvm::Value* behind =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, b_.CreateAdd(panel, f_.number(rows_of_a_panel)));
    each(f_.number(0), columns, least_columns(), "tile_columns", [&](llvm::Value* column) {
      column_ = at_most(column, columns, least_columns());
      each(panel, behind, rows_, "tile_rows", [&](llvm::Value* row) {
        row_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lo, at_most(row, behind, rows_));
        compute(b_.CreateAdd(position, b_.CreateMul(b_.CreateSub(row_, lo), columns)), length);
      });
    });
  });
  r_.e.undo(here);
}

}  // namespace anabranch::cpu
