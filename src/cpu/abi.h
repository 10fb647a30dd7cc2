#pragma once

#include <atomic>
#include <cstdint>

/// The binary interface of a compiled kernel. A kernel image is one position-independent blob: code and its
/// constants, no relocation to the outside; library routines are reached through `functions`. So an image can
/// be mapped read-execute from a cache and run by a process that has never loaded LLVM.
///
/// Image: an ImageHeader, then the blob. Entries are offsets into the blob:
///   map    entry 0  elements: output positions [begin, end), counted over the whole chunk in output order
///   fold   entry 0  rows:     whole rows [begin, end), counted like output positions
///          entry 1  blocks:   blocks [begin, end) of the one row scratch->row, results to scratch->partials
///          entry 2  blocks of several: the same of scratch->rows neighbours from scratch->row on, of one row of the
///                             output, the results of each behind those of the one before it; of kernels that reduce
///                             across (kernel::reduces_across)
///   scan   entry 0  rows:     the same as of a fold; elements go where each output has them
///          entry 1  blocks:   scans blocks [begin, end) of the one row scratch->row, none of them its last. Their
///                             carries are in scratch->partials; where that is null, scratch->state goes on
///                             from block to block
///          entry 2  totals:   totals of such blocks, without a carry, to scratch->partials; of large bodies it
///                             leaves the elements where their prefixes will be
///          entry 3  carries:  puts the carries of such blocks in place of their totals; scratch->state goes on
///   recurrence  entry 0  rows:  the same as of a scan
/// For commutative operators, blocks of a fold skips a last block of the row that is too short for wide lanes.
/// So a row whose blocks were computed by several calls is finished by rows [row, row + 1) with these
/// scratch->partials, of a scan with this scratch->state; else these are null. Where the output is segmented,
/// scratch->first_item is the item that holds position `begin` (else computed inside).
///
/// Of a fold or scan of rows whose lengths differ (kernel::has_short_rows) there are two images, each compiled when it is
/// first needed: one for short rows, which has entry 0 only and calls `args->any_rows` for others, and one
/// for rows of any length, with all entries. Of a kernel with a gather that is known beforehand there are as many more, which
/// fetch ahead what it will read.
namespace anabranch::cpu {

inline constexpr std::uint32_t abi_version = 8;

/// Polled by kernels in long loops: once it is not 0 the entry returns, and its results are meaningless.
/// Kernels read it as four plain bytes.
using StopWord = std::atomic<std::uint32_t>;
static_assert(sizeof(StopWord) == 4 && StopWord::is_always_lock_free);

/// The record of a failed check: the first that fails ends the entry, and later ones are not recorded. The
/// entry's results are meaningless then. Zero-initialised by the launcher, one per piece.
struct ErrorRecord {
  std::int64_t failed = 0;  ///< the number of the check, plus one; 0: none
  std::int64_t value = 0;   ///< index: the offending linear or dimension index; division: the dividend
  std::int64_t bound = 0;   ///< index: the extent it was compared with; division: see kernel/check_error.h
};

struct KernelArgs;
struct Scratch;
using Entry = void (*)(const KernelArgs* args, std::int64_t begin, std::int64_t end, Scratch* scratch);

struct KernelArgs {
  void* const* buffers;          ///< one per buffer slot, already biased for offsets[0] != 0
  const std::int64_t* scalars;   ///< one per scalar slot
  const void* const* functions;  ///< cpu/routines.h
  ErrorRecord* error;            ///< of this piece
  std::int64_t items;            ///< items of the chunk (1 where the kernel is not over items)
  std::int64_t ahead;            ///< elements that folds prefetch ahead; 0: what they read is in a cache
  /// Where the positions of a gather that is known beforehand end in memory (kernel/known_gather.h); of images that fetch
  /// ahead what it will read.
  const void* positions_end;
  const StopWord* stop;  ///< of the run
  Entry any_rows;        ///< entry 0 of the image for rows of any length; for the one for short rows
};

struct Scratch {
  std::int64_t first_item = 0;
  std::int64_t row = 0;
  std::int64_t row_item = 0;  ///< item of `row`
  void* partials = nullptr;   ///< block b, component c: 8-byte cell at [b * components + c]
  /// Of a scan, after some blocks of its row: the carry of the next one, in cells like a block's, and the
  /// counter tree of their totals, a cell for each level.
  void* state = nullptr;
  std::int64_t rows = 1;  ///< from `row` on, of entry 2 of a fold
};

inline constexpr char image_magic[] = "ANABRK01";
/// The header's size is the blob's alignment, so an image at an aligned address has an aligned blob.
inline constexpr std::uint64_t image_align = 64;

struct alignas(image_align) ImageHeader {
  char magic[8] = {};  ///< image_magic
  std::uint32_t abi = abi_version;
  std::uint32_t entries = 0;
  std::uint64_t entry[4] = {};  ///< offsets into the blob
  std::uint64_t blob_bytes = 0;
};

}  // namespace anabranch::cpu
