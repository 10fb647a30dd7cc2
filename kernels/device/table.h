#pragma once

#include <cstddef>
#include <cstdint>

/// The interface of libanabranch-device: data-parallel operations over device memory (CUB's algorithms and kernels of
/// our own, compiled ahead of time) as a table of functions. host_table() has the same for host memory. What each one
/// takes, and what it costs: docs/gpu.md.
///
/// Both sides are built together; the version handshake catches a mixed installation before anything is
/// passed. Everything is of standard layout, and no exception crosses.
namespace anabranch::device {

/// 0, one of the negative numbers below, or a cudaError_t.
using Status = int;
inline constexpr Status done = 0;
inline constexpr Status not_compiled =
    -1;  ///< there is nothing for elements of this size, or so many extents
inline constexpr Status bad_argument =
    -2;  ///< a negative count, one that is too large, or too little temporary storage

/// Temporary storage of a call. With `at` null a call computes nothing: it sets `bytes` to what the same
/// call with storage will need at least (never 0).
struct Temporary {
  void* at;
  std::size_t bytes;
};

/// A cudaStream_t, which is the driver's CUstream too. Calls only enqueue, but for sorts of one column in many small parts:
/// there CUB waits once for what it has counted (and spins).
using Stream = void*;

/// How the bits of an element are to be read.
struct Element {
  enum class Kind : std::int32_t { unsigned_integer, signed_integer, floating } kind;
  std::int32_t bytes;  ///< 1, 2, 4 or 8; floating: 2, 4 or 8
};

/// Where the parts of an array lie: `size` elements each, or from offsets[i] - offsets[0] on. They are rearranged each
/// for itself.
struct Parts {
  std::int64_t count;
  std::int64_t size;
  const std::int64_t* offsets;  ///< count + 1, in device memory; null: all of one size
  std::int64_t elements;        ///< of all
  std::int64_t longest;         ///< no part has more
};
/// Parts, and elements that are sorted, grouped or selected from: positions among them take 32 bits.
inline constexpr std::int64_t most_rearranged = UINT32_MAX - 1;

/// One component of an array that is moved.
struct Column {
  Element element;
  const void* from;
  void* to;  ///< null: not asked for
};

/// What is wrong with the first part that cannot be computed. What has been written then is inside the memory that was
/// given, and positions are such of elements there are.
struct Failure {
  enum class What : std::int32_t {
    nothing,
    out_of_range,  ///< `value`: a place; `bound`: how many there are
    negative,      ///< `value`: a count
    other_extent,  ///< `value`: elements that there are; `bound`: those that there should be
  } what;
  std::int64_t part;
  std::int64_t value, bound;
};

/// Sorts each part in rising order of its first component, equal ones by the next, stably: floats in the order -inf ..
/// -0, +0 .. inf, NaN. `columns`, in host memory, is read during the call; `positions` gets for each element the number
/// in its part that it had before; null: not asked for. One column without positions: NaNs in the order of their bits.
struct Sort {
  const Column* columns;
  std::int32_t count;  ///< columns
  Parts parts;
  std::int64_t* positions;
};

/// The elements whose mask is not 0, in order. `to`: the parts of the result.
struct Select {
  const Column* columns;
  std::int32_t count;
  const std::uint8_t* mask;
  Parts parts, to;
  Failure* failure;
};

/// Places that elements go to. `elements`: the parts of the elements; `to`: of the places that there are.
struct Places {
  Element element;  ///< integers
  const void* data;
  Parts elements, to;
  std::int32_t drops;  ///< a place of -1 is none
};
/// `counts`: how many elements go to each place; `order`: the elements' numbers in their part by place, those that go
/// nowhere last. Either may be null.
struct Group {
  Places places;
  std::int64_t* counts;
  std::int64_t* order;
  Failure* failure;
};
/// For each place the number in its part of the last element that goes there; -1: none does.
struct LastAt {
  Places places;
  std::int64_t* last;
  Failure* failure;
};

/// How elements that meet at a place are joined; bool is an unsigned integer of 0 or 1 and has the bitwise ones.
enum class Join : std::int32_t { add, multiply, minimum, maximum, bit_and, bit_or, bit_xor };
/// For each place the elements, integers, that go there, joined in any order: as many as there are places, in the same
/// parts. Where none goes `neutral`, the bits of the operation's neutral element. Places are signed and of 8 bytes.
struct Accumulate {
  Places places;
  Join join;
  std::uint64_t neutral;
  Element element;
  const void* elements;
  void* joined;
  Failure* failure;
};

/// The number in its part of each element, as often as its count says.
struct Repeat {
  Element element;  ///< integers
  const void* counts;
  Parts parts, to;
  std::int64_t* numbers;
  Failure* failure;
};

/// What all items have together.
struct ItemTotals {
  std::int64_t elements;  ///< too_many_elements: something is wrong with an item
  std::int64_t longest;   ///< elements of the largest item; 0 where there is none
};
inline constexpr std::int64_t too_many_elements = INT64_MAX / 64 + 1;
inline constexpr std::int32_t most_extents = 4;

/// Where each item's elements begin, its size being the product of its extents: offsets[i] becomes the sum of
/// the sizes before item i, offsets[count] that of all. An item without extents has one element.
///
/// Where an extent is negative, or the elements of an item or of all are too many, the total is
/// too_many_elements, and the offsets mean nothing.
struct ItemOffsets {
  struct Extent {
    const std::int64_t* of_item;  ///< one for each item; null: `value` for all
    std::int64_t value;
  };
  Extent extents[most_extents];
  std::int32_t rank;
  std::int64_t count;     ///< items
  std::int64_t* offsets;  ///< count + 1
  ItemTotals* totals;
};

struct Table {
  Status (*devices)(int* count);
  const char* (*text)(Status status);
  Status (*sort)(const Sort*, Temporary*, Stream);
  Status (*select)(const Select*, Temporary*, Stream);
  Status (*group)(const Group*, Temporary*, Stream);
  Status (*last_at)(const LastAt*, Temporary*, Stream);
  Status (*accumulate)(const Accumulate*, Temporary*, Stream);
  Status (*repeat)(const Repeat*, Temporary*, Stream);
  Status (*item_offsets)(const ItemOffsets*, Temporary*, Stream);
};

using TableFunction = const Table* (*)();
inline constexpr const char* library_name = "libanabranch-device.so";
inline constexpr const char* version_symbol = "anabranch_device_version";
inline constexpr const char* table_symbol = "anabranch_device_table";

}  // namespace anabranch::device
