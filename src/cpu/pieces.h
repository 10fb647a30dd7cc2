#pragma once

#include <cstdint>
#include <vector>

#include "cpu/launch.h"

namespace anabranch::cpu {

/// A part of a kernel's domain, run by one call of an entry.
struct Piece {
  std::int64_t begin = 0;  ///< output positions; of a long row: blocks
  std::int64_t end = 0;
  std::int64_t item = 0;  ///< that holds position `begin`, or the long row
  int long_row = -1;      ///< index into Cut::long_rows: this piece is blocks of that row
};

/// A row that is reduced by several pieces and joined afterwards.
struct LongRow {
  std::int64_t row = 0;
  std::int64_t item = 0;
  std::int64_t blocks = 0;
  std::int64_t first_partial = 0;  ///< where its partial results begin, in blocks
};

struct Cut {
  std::vector<Piece> pieces;
  std::vector<LongRow> long_rows;
  std::int64_t partials = 0;  ///< blocks of all long rows
};

/// Cuts the domain into pieces of about `piece_elements` elements (0: chosen from kernel and data).
Cut cut(const plan::Kernel& kernel, const Bindings& bindings, std::int64_t piece_elements);

/// offsets[i] of an offset buffer.
inline std::int64_t offset_at(const void* offsets, OffsetType type, std::int64_t i) {
  return type == OffsetType::int32 ? static_cast<const std::int32_t*>(offsets)[i]
                                   : static_cast<const std::int64_t*>(offsets)[i];
}

}  // namespace anabranch::cpu
