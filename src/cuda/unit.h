#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"

/// What a kernel of a plan becomes on a GPU: one CUDA C++ text with a few entry points, and the rule by which
/// they are launched for a given chunk. Nothing here needs a GPU, a driver or a toolkit.
namespace anabranch::cuda {

/// Device addresses are numbers on the host.
using Address = std::uint64_t;

/// One translation unit. It includes the headers of kernels/cuda and kernels/math by name; `headers()` has their texts.
struct Unit {
  std::string source;                ///< readable: names from the program, #line with the user's place
  std::vector<std::string> entries;  ///< `extern "C"` functions; a Launch names one by its number
};

struct Header {
  std::string name;  ///< as the unit includes it
  std::string text;
};
/// The skeletons and the block layer (kernels/cuda) and the mathematical functions (kernels/math), built into the library.
std::span<const Header> headers();

int entry_count(const kernel::Kernel& kernel);
/// All entries in one text.
Unit generate(const kernel::Kernel& kernel);
/// One entry by itself. A run compiles only those that its schedules ask for: each takes as long as the next,
/// a fold has up to five, and a chunk needs one to three.
Unit generate(const kernel::Kernel& kernel, int entry);

/// What the slots of a kernel are bound to in one launch, and what the host knows about the chunk.
struct Bindings {
  std::span<const Address> buffers;       ///< one per buffer slot, biased for offsets[0] != 0
  std::span<const std::int64_t> scalars;  ///< one per scalar slot
  std::int64_t items = 1;                 ///< of the chunk
  std::int64_t positions = 0;             ///< size of the domain: output positions of all items together
  /// Fold, scan, of rows whose lengths differ: elements of all together, or a number not less; -1: not known.
  std::int64_t elements = -1;
  /// The same of the longest one.
  std::int64_t longest = -1;
  /// The same of all that are longer than a block of the canonical order, together.
  std::int64_t in_long_rows = -1;
};

inline constexpr std::uint64_t no_failure = ~std::uint64_t{0};

/// The record of failed checks: of all that failed in a launch, the one at the lowest output position (then
/// the lowest element of the row, then the lowest check), so that it is the same in every run. In device
/// memory, initialised as here.
struct ErrorRecord {
  std::uint64_t position = no_failure;  ///< no_failure: no check failed
  std::uint64_t lowest = no_failure;    ///< used on the device only
  std::int64_t failed = 0;              ///< the number of the check, plus one
  std::int64_t value = 0;               ///< index: the offending index
  std::int64_t bound = 0;               ///< index: the extent it was compared with
  std::uint64_t element = 0;            ///< of the row; used on the device only
  std::uint64_t lock = 0;               ///< used on the device only
  std::uint64_t zero = 0;               ///< is read in place of what is out of range
};

/// One launch of an entry. All entries of a unit take one structure by value: `words`.
struct Launch {
  int entry = 0;
  unsigned grid = 1;
  unsigned block = 1;
  std::int64_t tiles = 0;  ///< that it deals to its blocks (deal_tiles); 0: none
};

/// How one kernel is run over one chunk: launches, one after the other on a stream.
struct Schedule {
  std::vector<Launch> launches;
  std::int64_t workspace = 0;  ///< bytes of device memory that the launches share
  std::int64_t zeroed = 0;     ///< so many bytes at its start must be 0 before the first launch
  std::string why;             ///< the rule that applied, for `explain` and the trace
};

/// Chosen from the kernel and the chunk's numbers alone: the same on every GPU but for the grid sizes, and
/// without any effect on the bits of the result. Blocks have 256 threads.
///
///  * Nothing is launched where there is no position.
///  * A map is one launch.
///  * A fold whose rows all have one length of more than 4096 elements (a block of the canonical order): the
///    rows' blocks by one launch, one warp per block, or where there are few one block of threads; then a
///    launch that joins each row's partial results.
///  * Other folds by the average length of a row: up to 16 elements one thread per row, up to 128 eight
///    threads, beyond that a warp; also a warp where the number of elements is not known. Where elements are
///    in order (in_order.h), rows of up to 1024 are taken from tiles in shared memory: up to 48 by one thread,
///    up to 128 by eight, beyond that by a warp. Where rows of more than 4096 elements are possible (by the
///    longest, or by all elements together), the first launch enters those in a list in the workspace, and two
///    more compute their blocks, as above, and join them.
///  * Ordered operators have one thread per row, and one thread per block of a long row, whose elements a
///    block of threads computes where there are few.
///  * A scan, by the average length of a row: up to 32 elements a warp takes as many rows at a time as fit
///    its lanes, beyond that one. Rows of more than 4096 elements are entered in a list there, too; three
///    more launches compute the totals of their blocks, join them, and scan the blocks. Those launches alone
///    do rows of one such length, unless there are enough rows to keep the GPU busy with a warp each.
Schedule schedule(const kernel::Kernel& kernel, bool in_order, const Bindings& bindings, int multiprocessors);
Schedule schedule(const kernel::Kernel& kernel, const Bindings& bindings, int multiprocessors);

/// For launches of a schedule that deal tiles: grids for as many blocks as a multiprocessor runs at a time of each entry, by the
/// driver. Where `blocks_at_a_time` gives 0 it is not known, and the schedule stays as it was made, for four.
void deal_tiles(Schedule& schedule, int multiprocessors,
                const std::function<int(int entry)>& blocks_at_a_time);

/// Does the kernel read arrays in their order (in_order.h)? Callers that schedule it often keep the answer.
bool is_in_order(const kernel::Kernel& kernel);

std::vector<int> entries_of(const Schedule& schedule);
std::vector<int> all_entries(const kernel::Kernel& kernel);
/// The entries that every schedule of the kernel has, whatever the chunk.
std::vector<int> certain_entries(const kernel::Kernel& kernel);

/// The entries' parameter, as 8-byte words: buffers, scalars, items, positions, blocks of a row, rows in the
/// list, error record, workspace, stop word (0: there is none).
std::vector<std::uint64_t> pack(const kernel::Kernel& kernel, const Bindings& bindings, Address error,
                                Address workspace, Address stop = 0);

}  // namespace anabranch::cuda
