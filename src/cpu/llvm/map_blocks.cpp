#include <llvm/ADT/SmallVector.h>

#include <algorithm>

#include "cpu/llvm/map.h"
#include "kernel/pointwise.h"

/// Maps over some rows at a time: tiles, and dimensions so short that all along them is computed together.
namespace anabranch::cpu {
namespace {

/// The elements of these vectors in turn: of each the first, of each the second, and so on, in as many vectors.
std::vector<llvm::Value*> in_turn(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& v) {
  if (v.size() == 1) return v;
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(v[0]->getType())->getNumElements());
  std::vector<llvm::Value*> out;
  if (v.size() % 2 == 0) {
    std::vector<llvm::Value*> even, odd;
    for (std::size_t i = 0; i < v.size(); i += 2) even.push_back(v[i]), odd.push_back(v[i + 1]);
    even = in_turn(b, even), odd = in_turn(b, odd);
    for (std::size_t i = 0; i < even.size(); ++i)
      for (const int half : {0, 1}) {
        llvm::SmallVector<int> chosen;
        for (int lane = 0; lane < lanes; ++lane)
          chosen.push_back((lane + half * lanes) / 2 + (lane % 2) * lanes);
        out.push_back(b.CreateShuffleVector(even[i], odd[i], chosen));
      }
    return out;
  }
  const int count = static_cast<int>(v.size());
  for (int i = 0; i < count; ++i) {
    llvm::Value* all = llvm::PoisonValue::get(v[0]->getType());
    for (int part = 0; part < count; ++part) {
      llvm::SmallVector<int> chosen;
      for (int lane = 0; lane < lanes; ++lane) {
        const int at = i * lanes + lane;
        chosen.push_back(at % count == part ? lanes + at / count : lane);
      }
      all = b.CreateShuffleVector(all, v[static_cast<std::size_t>(part)], chosen);
    }
    out.push_back(all);
  }
  return out;
}

}  // namespace

llvm::Value* Map::lesser(llvm::Value* x, llvm::Value* y) {
  return f_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
}
llvm::Value* Map::greater(llvm::Value* x, llvm::Value* y) {
  return f_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
}

/// Of the last `dimensions` dimensions.
Map::Inner Map::inner_of(llvm::Value* begin, llvm::Value* end, std::size_t dimensions) {
  auto& b = f_.b;
  const auto extents = e_.part(kernel_.domain, e_.uniform(f_.number(0))).extents;
  const auto split = extents.end() - static_cast<std::ptrdiff_t>(dimensions);
  Inner out{.extents = {split, extents.end()},
            .outer_extents = {extents.begin(), split},
            .size = f_.number(1),
            .of_item = f_.number(1),
            .first = nullptr,
            .behind = nullptr};
  for (const Value& extent : out.extents) out.size = b.CreateMul(out.size, extent.v);
  for (const Value& extent : out.outer_extents) out.of_item = b.CreateMul(out.of_item, extent.v);
  out.first = b.CreateUDiv(begin, out.size);
  llvm::Value* last = b.CreateUDiv(b.CreateSub(end, f_.number(1)), out.size);
  out.behind = b.CreateAdd(last, f_.number(1));
  return out;
}

void Map::enter_inner(const Inner& inner, llvm::Value* number) {
  auto& b = f_.b;
  llvm::Value* item = kernel_.domain.over_items ? b.CreateUDiv(number, inner.of_item) : f_.number(0);
  enter_item(e_, kernel_, e_.uniform(item));
  e_.emit_level(regions_, Level::item);
  llvm::Value* in_item = b.CreateSub(number, b.CreateMul(item, inner.of_item));
  const auto outer = decode(e_, inner.outer_extents, in_item);
  for (std::size_t d = 0; d < outer.size(); ++d) e_.bind(*kernel_.index[d], {e_.uniform(outer[d])});
}

/// A vector of each of some rows, then the next one: for maps that read across.
void Map::tiles(llvm::Value* begin, llvm::Value* end) {
  auto& b = f_.b;
  e_.emit_level(regions_, Level::launch);
  const Inner rows = inner_of(begin, end, 1);
  llvm::Value* length = rows.size;
  const auto columns_of_row = [&](llvm::Value* row, llvm::Value* lo, llvm::Value* hi) {
    const auto here = e_.mark();
    enter_inner(rows, row);
    e_.emit_level(regions_, Level::row);
    llvm::Value* start = b.CreateMul(row, length);
    lo = greater(lo, b.CreateSub(begin, start));
    hi = greater(lo, lesser(hi, b.CreateSub(end, start)));
    vector_loop(lo, hi, b.CreateAdd(start, lo),
                [&](const Value& inner) { e_.bind(*kernel_.index.back(), {inner}); }, is_large(), {});
    e_.undo(here);
  };
  f_.each(rows.first, rows.behind, kernel::tile_rows, "tiles", [&](llvm::Value* top) {
    llvm::Value* bottom = lesser(b.CreateAdd(top, f_.number(kernel::tile_rows)), rows.behind);
    // With more columns there are more rows of the array in use at once than the first cache has ways.
    f_.each(f_.number(0), length, lanes_, "tile", [&](llvm::Value* left) {
      llvm::Value* right = lesser(b.CreateAdd(left, f_.number(lanes_)), length);
      f_.each(top, bottom, 1, "tile_rows", [&](llvm::Value* row) { columns_of_row(row, left, right); });
    });
  });
}

// Short dimensions ------------------------------------------------------------------------------------------

/// Are positions along a short dimension computed together?
bool Map::computes_together() {
  if (short_.extent == 1 || lanes_ == 1) return false;
  if (columns_are_short()) return true;
  // Rows that have borders have code of their own for what is inside of them.
  return kernel_.domain.extents.back().value % lanes_ == 0 &&
         !Interior(e_, regions_, kernel_.body, *kernel_.index.back()).helps();
}

/// Blocks are the two inner dimensions, one of which is short: all along that one at once, for a vector along the other.
/// What is left at the ends, and what other threads have parts of, is computed row by row.
void Map::blocks(llvm::Value* begin, llvm::Value* end) {
  auto& b = f_.b;
  e_.emit_level(regions_, Level::launch);
  const Inner inner = inner_of(begin, end, 2);
  llvm::Value* length = inner.extents[1].v;
  const ir::Node& along = *kernel_.index[along_.dimension];
  f_.each(inner.first, inner.behind, 1, "blocks", [&](llvm::Value* block) {
    const auto here = e_.mark();
    enter_inner(inner, block);
    llvm::Value* start = b.CreateMul(block, inner.size);
    const Range all{greater(f_.number(0), b.CreateSub(begin, start)),
                    lesser(inner.size, b.CreateSub(end, start))};
    e_.set_level(along, Level::lane);
    const Range done =
        columns_are_short() ? columns_together(start, all) : rows_together(start, length, inner.size, all);
    if (columns_are_short()) e_.set_level(along, Level::row);
    f_.each(f_.number(0), f_.number(2), 1, "ends", [&](llvm::Value* side) {
      llvm::Value* before = b.CreateICmpEQ(side, f_.number(0));
      rows_of_block(
          start, length,
          {b.CreateSelect(before, all.first, done.second), b.CreateSelect(before, done.first, all.second)});
    });
    e_.undo(here);
  });
}

/// Some positions of the block that begins at `start`, one row after the other.
void Map::rows_of_block(llvm::Value* start, llvm::Value* length, Range range) {
  auto& b = f_.b;
  const auto [lo, hi] = range;
  llvm::BasicBlock *some = f_.block("rows_of_block"), *done = f_.block("block_done");
  b.CreateCondBr(b.CreateICmpSLT(lo, hi), some, done);
  b.SetInsertPoint(some);
  llvm::Value* first = b.CreateUDiv(lo, length);
  llvm::Value* behind = b.CreateAdd(b.CreateUDiv(b.CreateSub(hi, f_.number(1)), length), f_.number(1));
  f_.each(first, behind, 1, "rows", [&, lo = lo, hi = hi](llvm::Value* row) {
    const auto here = e_.mark();
    e_.bind(*kernel_.index[kernel_.index.size() - 2], {e_.uniform(row)});
    e_.emit_level(regions_, Level::row);
    llvm::Value* row_start = b.CreateMul(row, length);
    llvm::Value* left = greater(f_.number(0), b.CreateSub(lo, row_start));
    llvm::Value* right = lesser(length, b.CreateSub(hi, row_start));
    vector_loop(left, right, b.CreateAdd(start, b.CreateAdd(row_start, left)),
                [&](const Value& inner) { e_.bind(*kernel_.index.back(), {inner}); }, true, {});
    e_.undo(here);
  });
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

/// For whole vectors of indices [lo, hi) along the dimension that is not short. What does not depend on the index there
/// is loaded in each round, next to its use: there is more of it than there are registers.
void Map::vectors_together(llvm::Value* lo, llvm::Value* hi,
                           const std::function<void(llvm::Value*, const Together&)>& store) {
  const ir::Node& short_index = *kernel_.index[short_.dimension];
  e_.width = lanes_;
  f_.loop(lo, hi, lanes_, {}, "together", [&](llvm::Value* i, const auto&) {
    const auto here = e_.mark();
    e_.bind(*kernel_.index[along_.dimension], {e_.affine(i, 1)});
    // All before the first store: what they have in common is computed once.
    Together all;
    for (std::int64_t p = 0; p < short_.extent; ++p) {
      const auto before = e_.mark();
      e_.bind(short_index, {e_.uniform(f_.number(p))});
      e_.emit_level(regions_, Level::row);
      e_.emit_level(regions_, Level::lane);
      all.push_back(values());
      e_.undo(before);
    }
    store(i, all);
    e_.undo(here);
    return std::vector<llvm::Value*>{};
  });
  e_.width = 1;
}

/// All rows of a block that is whole; gives the positions that were computed.
Map::Range Map::rows_together(llvm::Value* start, llvm::Value* length, llvm::Value* size, Range range) {
  auto& b = f_.b;
  const auto [lo, hi] = range;
  llvm::Value* whole = b.CreateAnd(b.CreateICmpEQ(lo, f_.number(0)), b.CreateICmpEQ(hi, size));
  vectors_together(f_.number(0), b.CreateSelect(whole, length, f_.number(0)),
                   [&](llvm::Value* i, const Together& all) {
                     llvm::Value* position = b.CreateAdd(start, i);
                     for (const Values& row : all) {
                       store(e_.affine(position, 1), row);
                       position = b.CreateAdd(position, length);
                     }
                   });
  return {b.CreateSelect(whole, lo, hi), hi};
}

/// As many whole vectors of rows as there are; gives the positions that were computed.
Map::Range Map::columns_together(llvm::Value* start, Range range) {
  auto& b = f_.b;
  const auto [lo, hi] = range;
  e_.emit_level(regions_, Level::row);
  llvm::Value* columns = f_.number(short_.extent);
  llvm::Value* first = b.CreateUDiv(b.CreateAdd(lo, f_.number(short_.extent - 1)), columns);
  llvm::Value* rows = greater(f_.number(0), b.CreateSub(b.CreateUDiv(hi, columns), first));
  llvm::Value* count = b.CreateAnd(rows, f_.number(-lanes_));
  vectors_together(first, b.CreateAdd(first, count), [&](llvm::Value* i, const Together& all) {
    store_columns(b.CreateAdd(start, b.CreateMul(i, columns)), all);
  });
  llvm::Value* from = lesser(b.CreateMul(first, columns), hi);
  return {from, b.CreateAdd(from, b.CreateMul(count, columns))};
}

/// Rows that are as long as there are vectors, as many as these have lanes.
void Map::store_columns(llvm::Value* position, const Together& columns) {
  auto& b = f_.b;
  for (const kernel::KernelOutput& output : kernel_.outputs)
    for (std::size_t c = 0; c < output.array.type.scalars.size(); ++c) {
      const ScalarType type = output.array.type.scalars[c];
      std::vector<llvm::Value*> vectors;
      for (const Values& column : columns)
        vectors.push_back(e_.lanes(column[static_cast<std::size_t>(output.first) + c]));
      llvm::Value* buffer = f_.buffer(output.array.first_buffer + static_cast<int>(c));
      llvm::Value* at = b.CreateAdd(position, bias_);
      for (llvm::Value* part : in_turn(b, vectors)) {
        e_.store(buffer, type, e_.affine(at, 1), e_.varying(part));
        at = b.CreateAdd(at, f_.number(lanes_));
      }
    }
}

}  // namespace anabranch::cpu
