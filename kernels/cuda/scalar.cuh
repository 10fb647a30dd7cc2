#pragma once

/// The scalar types, and what the recipes of kernel/primitive_recipe.h need that C++ has no operator for.
/// These headers include nothing: neither CUDA's headers nor the standard library's.

#define ANABRANCH_DEVICE __device__ __forceinline__

#include "half.cuh"

namespace anabranch {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

template <class T>
constexpr bool is_floating = T(0.5f) != T(0);
template <>
inline constexpr bool is_floating<f16> = true;
template <class T>
constexpr bool is_signed = T(-1) < T(0);

template <bool Condition, class Then, class Else>
struct Choice {
  using type = Then;
};
template <class Then, class Else>
struct Choice<false, Then, Else> {
  using type = Else;
};

/// Integers wrap: they are added as unsigned numbers at least as wide as int.
template <class T>
using Wraps =
    typename Choice<is_floating<T>, T, typename Choice<sizeof(T) == sizeof(u64), u64, u32>::type>::type;

template <class T>
ANABRANCH_DEVICE T add(T x, T y) {
  return static_cast<T>(static_cast<Wraps<T>>(x) + static_cast<Wraps<T>>(y));
}
template <class T>
ANABRANCH_DEVICE T subtract(T x, T y) {
  return static_cast<T>(static_cast<Wraps<T>>(x) - static_cast<Wraps<T>>(y));
}
template <class T>
ANABRANCH_DEVICE T multiply(T x, T y) {
  return static_cast<T>(static_cast<Wraps<T>>(x) * static_cast<Wraps<T>>(y));
}

/// The least and the largest of an integer type, and as floats, which are exact: the least, and one more than
/// the largest.
template <class T>
struct Border {
  static constexpr int bits = 8 * sizeof(T);
  static constexpr T least = is_signed<T> ? static_cast<T>(u64(1) << (bits - 1)) : T(0);
  static constexpr T largest = static_cast<T>(~least);
  static constexpr float lowest = static_cast<float>(least);
  static constexpr float beyond = 2 * static_cast<float>(largest / 2 + 1);
};

/// Whether x / y is a number of that type.
template <class T>
ANABRANCH_DEVICE bool has_quotient(T x, T y) {
  return y != 0 && !(is_signed<T> && x == Border<T>::least && y == static_cast<T>(-1));
}

// Bits of integers. What moves in and what is counted does not depend on the sign.

template <class T>
using Unsigned =
    typename Choice<sizeof(T) == sizeof(u64), u64,
                    typename Choice<sizeof(T) == sizeof(u32), u32,
                                    typename Choice<sizeof(T) == sizeof(u16), u16, u8>::type>::type>::type;

template <class T>
ANABRANCH_DEVICE T shift_left(T x, T by) {
  return static_cast<T>(static_cast<Wraps<T>>(x) << by);
}
template <class T>
ANABRANCH_DEVICE T shift_right_unsigned(T x, T by) {
  return static_cast<T>(static_cast<Unsigned<T>>(x) >> by);
}
template <class T>
ANABRANCH_DEVICE T count_ones(T x) {
  if constexpr (sizeof(T) == sizeof(u64))
    return static_cast<T>(__popcll(static_cast<u64>(x)));
  else
    return static_cast<T>(__popc(static_cast<Unsigned<T>>(x)));
}
template <class T>
ANABRANCH_DEVICE T leading_zeros(T x) {
  if constexpr (sizeof(T) == sizeof(u64))
    return static_cast<T>(__clzll(static_cast<i64>(x)));
  else
    return static_cast<T>(__clz(static_cast<i32>(static_cast<Unsigned<T>>(x))) - (32 - Border<T>::bits));
}
template <class T>
ANABRANCH_DEVICE T trailing_zeros(T x) {
  if (x == 0) return static_cast<T>(Border<T>::bits);
  if constexpr (sizeof(T) == sizeof(u64))
    return static_cast<T>(__ffsll(static_cast<i64>(x)) - 1);
  else
    return static_cast<T>(__ffs(static_cast<i32>(static_cast<Unsigned<T>>(x))) - 1);
}

// Floats to integers: truncated and saturated; a NaN gives 0.

template <class To, class From>
ANABRANCH_DEVICE To saturate(From x) {
  if (x != x) return To(0);
  if (x <= From(Border<To>::lowest)) return Border<To>::least;
  if (x >= From(Border<To>::beyond)) return Border<To>::largest;
  return static_cast<To>(x);
}

// Bits: constants that have no decimal text, and cells of partial results.

template <class T>
ANABRANCH_DEVICE T from_bits(u64 bits) {
  union {
    u64 bits;
    T value;
  } both;
  both.bits = bits;
  return both.value;
}
template <class T>
ANABRANCH_DEVICE u64 to_bits(T value) {
  union {
    u64 bits;
    T value;
  } both;
  both.bits = 0;
  both.value = value;
  return both.bits;
}

template <class To, class From>
ANABRANCH_DEVICE To reinterpreted(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return from_bits<To>(to_bits(value));
}

// Reads.

ANABRANCH_DEVICE bool in_range(i64 i, i64 extent) { return static_cast<u64>(i) < static_cast<u64>(extent); }
/// Position of index (outer, i) where the inner extent is `extent`. Wraps for what is out of range.
ANABRANCH_DEVICE i64 row_major(i64 outer, i64 extent, i64 i) { return add(multiply(outer, extent), i); }

template <class T>
ANABRANCH_DEVICE T load(const T* from, i64 at) {
  return __ldg(from + at);
}
ANABRANCH_DEVICE f16 load(const f16* from, i64 at) {
  return from_bits<f16>(__ldg(reinterpret_cast<const u16*>(from) + at));
}
/// What is no constant is an array that the kernel overwrites.
template <class T>
ANABRANCH_DEVICE T load(T* from, i64 at) {
  return from[at];
}
/// Reads at `elsewhere` where `good` does not hold: without a branch many reads are in flight at once.
template <class T>
ANABRANCH_DEVICE T load_if(bool good, const T* from, i64 at, const void* elsewhere) {
  const u64 place = reinterpret_cast<u64>(from) + static_cast<u64>(at) * sizeof(T);
  return load(reinterpret_cast<const T*>(good ? place : reinterpret_cast<u64>(elsewhere)), 0);
}
/// A bool is a byte in memory.
ANABRANCH_DEVICE bool load_bool(const u8* from, i64 at) { return __ldg(from + at) != 0; }
ANABRANCH_DEVICE bool load_bool(u8* from, i64 at) { return from[at] != 0; }
ANABRANCH_DEVICE bool load_bool_if(bool good, const u8* from, i64 at, const void* elsewhere) {
  return load_if(good, from, at, elsewhere) != 0;
}

/// Elements of one item of an array whose offsets are in memory.
template <class Offset>
ANABRANCH_DEVICE i64 ragged(const Offset* offsets, i64 item, i64 divisor) {
  const i64 size = static_cast<i64>(__ldg(offsets + item + 1)) - static_cast<i64>(__ldg(offsets + item));
  return divisor > 1 ? size / divisor : size;
}

/// Quotients of positions: the operands mostly fit 32 bits, for which GPUs divide several times faster.
ANABRANCH_DEVICE i64 quotient(i64 x, i64 y) {
  if (((static_cast<u64>(x) | static_cast<u64>(y)) >> 32) == 0)
    return static_cast<i64>(static_cast<u32>(x) / static_cast<u32>(y));
  return x / y;
}

ANABRANCH_DEVICE i64 lesser(i64 x, i64 y) { return x < y ? x : y; }

// Loops that may not terminate.

/// Rounds of a loop between two reads of the stop word, which is in the host's memory.
constexpr u32 rounds_between_looks = 4096;

/// A thread's view of whether the run was told to stop. The word is in page-locked host memory, and the host
/// sets it while kernels run; their results are meaningless then.
struct StopWord {
  const u32* word;  ///< null: the run cannot be stopped
  u32 rounds = 0;   ///< since the last look
  bool raised = false;

  explicit ANABRANCH_DEVICE StopWord(const u32* of_run) : word(of_run) {}
  /// To be called after `more` rounds of any loop.
  ANABRANCH_DEVICE void count(u32 more) {
    rounds += more;
    if (rounds < rounds_between_looks) return;
    rounds = 0;
    raised = word && __ldcv(word) != 0;
  }
};

}  // namespace anabranch
