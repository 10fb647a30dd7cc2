#pragma once

#include <cstdint>

#include "cuda/unit.h"

/// What generate, schedule and pack agree on.
namespace anabranch::cuda {

/// Entries of a fold's unit. Ordered operators have neither `by_eight` nor those by warps, wide values no
/// `few_blocks`, and only folds in order have `tiles_by_warp`.
enum class FoldEntry : int { by_thread, by_eight, by_warp, blocks, finish, few_blocks, tiles_by_warp };

/// Entries of a scan's unit.
enum class ScanEntry : int { packed, by_warp, totals, tree, blocks };

/// The entries' parameter after buffers and scalars, 8 bytes each, in this order.
struct LaunchParams {
  std::int64_t items = 1;
  std::int64_t positions = 0;
  /// All rows have so many blocks, and are computed by blocks; 0: see long_rows.
  std::int64_t row_blocks = 0;
  std::int64_t long_rows = 0;  ///< rows that the list in the workspace has room for; 0: there is no list
};

/// Of one launch of a fold or a scan, beside `LaunchParams`.
struct FoldPlan {
  LaunchParams numbers;
  std::int64_t length = -1;    ///< of all rows, where they have one
  std::int64_t elements = -1;  ///< else: of all rows together, where known
  std::int64_t results = 0;    ///< partial results there may be
};
FoldPlan fold_plan(const kernel::Kernel& kernel, const Bindings& bindings);

/// Threads of a block, except where there are few rows.
inline constexpr unsigned block_threads = 256;
/// Positions that a block of threads computes at a time in a map.
inline constexpr std::int64_t map_tile = 1024;

/// Rows that are longer on average are reduced by warps.
inline constexpr std::int64_t eight_rows = 128;
/// Longer ones are not taken from tiles, where a warp a row would leave most warps without one.
inline constexpr std::int64_t longest_in_tiles = 1024;
/// Threads of a block that joins many partial results, where their values are few registers.
inline constexpr unsigned finish_threads = 1024;
bool has_many_finishers(const kernel::Kernel& kernel);
/// Are values small enough for a block of them in shared memory?
bool has_few_blocks(const kernel::Kernel& kernel);
/// Rows of scans that a warp takes at a time where they are short.
inline constexpr std::int64_t packed_rows = 32;

/// Elements of short rows that a block of threads keeps in shared memory, and what a row costs besides.
inline constexpr std::int64_t tile_elements = 4096;
inline constexpr std::int64_t row_work = 4;

/// Bytes of the workspace before the list of long rows, and of one row in it (kernels/cuda/fold.cuh).
inline constexpr std::int64_t workspace_header = 64;
inline constexpr std::int64_t long_row_bytes = 32;

}  // namespace anabranch::cuda
