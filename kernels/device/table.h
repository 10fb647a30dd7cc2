#pragma once

#include <cstddef>
#include <cstdint>

/// The interface of libanabranch-device: data-parallel primitives over device memory (CUB, compiled ahead of
/// time) as a table of functions. host_table() has the same for host memory. The types each one takes:
/// docs/gpu.md.
///
/// Both sides are built together; the version handshake catches a mixed installation before anything is
/// passed. Everything is of standard layout, and no exception crosses.
namespace anabranch::device {

enum class Element : std::int32_t { int32, int64, float32, float64 };

/// 0, one of the negative numbers below, or a cudaError_t.
using Status = int;
inline constexpr Status done = 0;
inline constexpr Status not_compiled = -1;  ///< this combination of types is not there
inline constexpr Status bad_argument = -2;  ///< a negative count, or too little temporary storage

/// Temporary storage of a call. With `at` null a call computes nothing: it sets `bytes` to what the same
/// call with storage will need at least (never 0).
struct Temporary {
  void* at;
  std::size_t bytes;
};

/// A cudaStream_t, which is the driver's CUstream too. Calls only enqueue.
using Stream = void*;

/// Stable. The keys are compared by their bits first_bit .. last_bit - 1 (last_bit 0: all) in rising
/// order of significance, floats and signed numbers in their order: -0 equals +0, a NaN is beyond the
/// infinity of its sign. Values are moved only. Input and output must not overlap.
struct SortPairs {
  Element key;
  std::int32_t value_bytes;  ///< 4 or 8
  std::int32_t descending;
  std::int32_t first_bit, last_bit;
  const void* keys;
  const void* values;
  void* keys_out;
  void* values_out;
  std::int64_t count;
};

/// Each of the segments offsets[s] .. offsets[s + 1] - 1, stably, rising; no NaN among the keys. For falling
/// order complement integer keys, negate floats. What lies in no segment is not written.
struct SegmentedSortPairs {
  Element key;
  std::int32_t value_bytes;  ///< 4: positions, by which a gather then moves what belongs to the keys
  const void* keys;
  const void* values;
  void* keys_out;
  void* values_out;
  std::int64_t count;  ///< of the keys
  const std::int64_t* offsets;
  std::int64_t segments;
};

/// The elements whose flag is not 0, in order. `selected` receives their number.
struct Select {
  std::int32_t element_bytes;  ///< 1, 4, 8 or 16
  const void* from;
  const std::uint8_t* flags;
  void* to;
  std::int64_t* selected;
  std::int64_t count;
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
  Status (*sort_pairs)(const SortPairs*, Temporary*, Stream);
  Status (*segmented_sort_pairs)(const SegmentedSortPairs*, Temporary*, Stream);
  Status (*select)(const Select*, Temporary*, Stream);
  Status (*item_offsets)(const ItemOffsets*, Temporary*, Stream);
};

using TableFunction = const Table* (*)();
inline constexpr const char* library_name = "libanabranch-device.so";
inline constexpr const char* version_symbol = "anabranch_device_version";
inline constexpr const char* table_symbol = "anabranch_device_table";

}  // namespace anabranch::device
