#pragma once

#include "scalar.cuh"

/// Arrays that are read or written in the order of positions: a thread takes four neighbouring positions at a
/// time, with reads and writes of up to 16 bytes.
namespace anabranch {

constexpr int four = 4;

/// Positions, counted in i64, or in i32 from where a tile begins.
template <class Index>
struct RangeOf {
  Index begin, end;
  ANABRANCH_DEVICE bool has_four(Index at) const { return at >= begin && at + four <= end; }
  ANABRANCH_DEVICE bool has(Index at) const { return at >= begin && at < end; }
  /// For ranges that are not empty.
  ANABRANCH_DEVICE Index nearest(Index at) const {
    if (at < begin) return begin;
    return at < end ? at : end - 1;
  }
};
using Range = RangeOf<i64>;

/// Whether the four elements from `at` on, and every four after them, are aligned for vector reads.
template <class T>
ANABRANCH_DEVICE bool is_aligned(const T* array, i64 at) {
  constexpr u64 bytes = sizeof(T) < 4 ? four * sizeof(T) : 16;
  return (reinterpret_cast<u64>(array) + static_cast<u64>(at) * sizeof(T)) % bytes == 0;
}

/// Where a kernel's quads begin, so that they are aligned in all of its arrays.
struct Quad {
  i64 first = 0;      ///< a position below `four`
  bool even = false;  ///< such a position exists; else elements are read one by one

  template <class K>
  explicit ANABRANCH_DEVICE Quad(const K& k) {
    for (i64 at = 0; at < four && !even; ++at)
      if (k.is_aligned(at)) {
        first = at;
        even = true;
      }
  }
  /// The first position of the quad that contains this one.
  ANABRANCH_DEVICE i64 of(i64 at) const { return at - ((at - first) & (four - 1)); }
};

template <class Words, class T>
ANABRANCH_DEVICE Words load_words(const T* from) {
  return __ldg(reinterpret_cast<const Words*>(from));
}
/// Of an array that the kernel overwrites.
template <class Words, class T>
ANABRANCH_DEVICE Words load_words(T* from) {
  return *reinterpret_cast<const Words*>(from);
}

ANABRANCH_DEVICE void prefetch_line(const void* at) {
#ifdef GPU_HOST
  static_cast<void>(*static_cast<const volatile u8*>(at));  // as if read: it has to be there
#else
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}
/// Has elements [begin, end) brought into the L2 cache, whose latency is a fraction of the memory's, without
/// waiting: by a block of threads, a line of 128 bytes each.
template <class T>
ANABRANCH_DEVICE void prefetch(const T* array, i64 begin, i64 end) {
  constexpr i64 line = 128 / sizeof(T);
  const i64 at = begin + static_cast<i64>(threadIdx.x) * line;
  if (at < end) prefetch_line(array + at);
}

/// From: T or const T.
template <class From, class Index, class T>
ANABRANCH_DEVICE void load_four(From* from, Index at, T* to) {
  if constexpr (sizeof(T) == 1) {
    const u32 all = load_words<u32>(from + at);
#pragma unroll
    for (int i = 0; i < four; ++i) to[i] = static_cast<T>(all >> (8 * i));
  } else if constexpr (sizeof(T) == 2) {
    const u64 all = load_words<u64>(from + at);
#pragma unroll
    for (int i = 0; i < four; ++i) to[i] = from_bits<T>(all >> (16 * i));
  } else if constexpr (sizeof(T) == 4) {
    const uint4 all = load_words<uint4>(from + at);
    to[0] = from_bits<T>(all.x);
    to[1] = from_bits<T>(all.y);
    to[2] = from_bits<T>(all.z);
    to[3] = from_bits<T>(all.w);
  } else {
    static_assert(sizeof(T) == 8, "the width of a scalar");
    const ulonglong2 low = load_words<ulonglong2>(from + at);
    const ulonglong2 high = load_words<ulonglong2>(from + at + 2);
    to[0] = from_bits<T>(low.x);
    to[1] = from_bits<T>(low.y);
    to[2] = from_bits<T>(high.x);
    to[3] = from_bits<T>(high.y);
  }
}

template <class T>
ANABRANCH_DEVICE void store_four(T* to, i64 at, T a, T b, T c, T d) {
  if constexpr (sizeof(T) == 1) {
    *reinterpret_cast<u32*>(to + at) =
        static_cast<u32>(to_bits(a) | to_bits(b) << 8 | to_bits(c) << 16 | to_bits(d) << 24);
  } else if constexpr (sizeof(T) == 2) {
    *reinterpret_cast<u64*>(to + at) = to_bits(a) | to_bits(b) << 16 | to_bits(c) << 32 | to_bits(d) << 48;
  } else if constexpr (sizeof(T) == 4) {
    *reinterpret_cast<uint4*>(to + at) = uint4{static_cast<u32>(to_bits(a)), static_cast<u32>(to_bits(b)),
                                               static_cast<u32>(to_bits(c)), static_cast<u32>(to_bits(d))};
  } else {
    static_assert(sizeof(T) == 8, "the width of a scalar");
    *reinterpret_cast<ulonglong2*>(to + at) = ulonglong2{to_bits(a), to_bits(b)};
    *reinterpret_cast<ulonglong2*>(to + at + 2) = ulonglong2{to_bits(c), to_bits(d)};
  }
}

}  // namespace anabranch
