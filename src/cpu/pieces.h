#pragma once

#include <cstdint>
#include <vector>

#include "cpu/launch.h"

namespace anabranch::cpu {

/// A part of a kernel's domain. One task runs it by one call of an entry; a long row is the work of several.
struct Piece {
  std::int64_t begin = 0;  ///< output positions; of a long row: blocks
  std::int64_t end = 0;
  std::int64_t item = 0;  ///< that holds position `begin`, or the long row; -1: its task looks (holder_of)
  int long_row = -1;      ///< index into Cut::long_rows: this piece is blocks of that row
  std::int64_t first_task = 0;  ///< set by Cut::add
};

/// A row that is reduced or scanned by several pieces, and finished afterwards; or some neighbours that lie across, which
/// are reduced side by side.
struct LongRow {
  std::int64_t row = 0;
  std::int64_t item = 0;
  std::int64_t blocks = 0;  ///< that pieces compute: of a scan all but the last
  std::int64_t first_partial =
      0;  ///< where its partial results begin, in blocks, row after row; of a scan its state is behind them
  std::int64_t rows = 1;  ///< from `row` on
};

/// Tasks are numbered across all pieces, in their order. Those of a long row are not listed: a row whose
/// elements are not stored may have any number of them.
struct Cut {
  std::vector<Piece> pieces;
  std::vector<LongRow> long_rows;
  std::int64_t partials = 0;          ///< blocks of all long rows, and the states of scans
  std::int64_t tasks = 0;             ///< of all pieces
  std::int64_t blocks_of_a_task = 1;  ///< of a long row

  void add(Piece piece);
  /// What comes behind all that is there, cut for as many blocks of a task.
  void append(const Cut& next);
  /// What a task runs: a piece, or some blocks of a long row.
  Piece of_task(std::int64_t task) const;
};

/// Cuts the domain into pieces of about `piece_elements` elements (0: chosen from kernel and data). `facts`: of this kernel.
/// `parallel_for` looks for the borders of many; they are the same whatever it does.
Cut cut(const kernel::Kernel& kernel, const CutFacts& facts, const Bindings& bindings,
        std::int64_t piece_elements, const ParallelFor& parallel_for = one_by_one);

/// The item that holds an output position; `row_length`: elements of the row there, of a form with rows.
struct Holder {
  std::int64_t item = 0;
  std::int64_t row_length = 0;
};
Holder holder_of(const kernel::Kernel& kernel, const Bindings& bindings, std::int64_t position);

}  // namespace anabranch::cpu
