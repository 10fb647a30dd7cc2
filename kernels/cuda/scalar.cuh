#pragma once

/// The scalar types and the primitives that C++ has no operator for, with the meanings of ir/primitive.h.
/// These headers include nothing: neither CUDA's headers nor the standard library's.

#define ANABRANCH_DEVICE __device__ __forceinline__

namespace anabranch {

using u8 = unsigned char;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

// Integers wrap: they are added as unsigned numbers.

template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<u8> {
  using type = u32;
};
template <>
struct Wrapping<i32> {
  using type = u32;
};
template <>
struct Wrapping<i64> {
  using type = u64;
};
template <class T>
using Wraps = typename Wrapping<T>::type;

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
template <class T>
ANABRANCH_DEVICE T negate(T x) {
  return subtract(T(0), x);
}
ANABRANCH_DEVICE float negate(float x) { return -x; }
ANABRANCH_DEVICE double negate(double x) { return -x; }
template <class T>
ANABRANCH_DEVICE T absolute(T x) {
  return x < T(0) ? negate(x) : x;
}
ANABRANCH_DEVICE u8 absolute(u8 x) { return x; }
ANABRANCH_DEVICE float absolute(float x) { return fabsf(x); }
ANABRANCH_DEVICE double absolute(double x) { return fabs(x); }

/// A NaN on either side is the result; of two equal values the right one.
template <class T>
ANABRANCH_DEVICE T minimum(T x, T y) {
  return x < y || x != x ? x : y;
}
template <class T>
ANABRANCH_DEVICE T maximum(T x, T y) {
  return x > y || x != x ? x : y;
}

ANABRANCH_DEVICE bool has_quotient(u8, u8 y) { return y != 0; }
ANABRANCH_DEVICE bool has_quotient(i32 x, i32 y) { return y != 0 && !(x == -2147483647 - 1 && y == -1); }
ANABRANCH_DEVICE bool has_quotient(i64 x, i64 y) {
  return y != 0 && !(x == -9223372036854775807ll - 1 && y == -1);
}
/// Where `good` says that there is none, anything.
template <class T>
ANABRANCH_DEVICE T divide(bool good, T x, T y) {
  return static_cast<T>(x / (good ? y : T(1)));
}
template <class T>
ANABRANCH_DEVICE T remainder(bool good, T x, T y) {
  return static_cast<T>(x % (good ? y : T(1)));
}
ANABRANCH_DEVICE float remainder(float x, float y) { return fmodf(x, y); }
ANABRANCH_DEVICE double remainder(double x, double y) { return fmod(x, y); }

ANABRANCH_DEVICE float multiply_add(float x, float y, float z) { return fmaf(x, y, z); }
ANABRANCH_DEVICE double multiply_add(double x, double y, double z) { return fma(x, y, z); }
ANABRANCH_DEVICE float square_root(float x) { return sqrtf(x); }
ANABRANCH_DEVICE double square_root(double x) { return sqrt(x); }
ANABRANCH_DEVICE float exponential(float x) { return expf(x); }
ANABRANCH_DEVICE double exponential(double x) { return exp(x); }
ANABRANCH_DEVICE float logarithm(float x) { return logf(x); }
ANABRANCH_DEVICE double logarithm(double x) { return log(x); }
ANABRANCH_DEVICE float sine(float x) { return sinf(x); }
ANABRANCH_DEVICE double sine(double x) { return sin(x); }
ANABRANCH_DEVICE float cosine(float x) { return cosf(x); }
ANABRANCH_DEVICE double cosine(double x) { return cos(x); }

// Casts. Floats saturate, and a NaN gives 0; between integers the low bits stay.

template <class To, class From>
struct Cast {
  static ANABRANCH_DEVICE To of(From x) { return static_cast<To>(x); }
};
template <class From>
struct Cast<bool, From> {
  static ANABRANCH_DEVICE bool of(From x) { return x != From(0); }
};
template <class To, class From>
struct Saturating {
  /// Both borders are floats that hold them exactly: the least number, and one more than the largest.
  static ANABRANCH_DEVICE To between(From lowest, From beyond, To least, To largest, From x) {
    if (x != x) return To(0);
    if (x <= lowest) return least;
    if (x >= beyond) return largest;
    return static_cast<To>(x);
  }
};
template <class From>
struct CastToInt {
  static ANABRANCH_DEVICE u8 of(From x, u8*) {
    return Saturating<u8, From>::between(From(0), From(256), u8(0), u8(255), x);
  }
  static ANABRANCH_DEVICE i32 of(From x, i32*) {
    return Saturating<i32, From>::between(From(-2147483648.0), From(2147483648.0), -2147483647 - 1,
                                          2147483647, x);
  }
  static ANABRANCH_DEVICE i64 of(From x, i64*) {
    return Saturating<i64, From>::between(From(-9223372036854775808.0), From(9223372036854775808.0),
                                          -9223372036854775807ll - 1, 9223372036854775807ll, x);
  }
};
#define ANABRANCH_SATURATES(To, From)                                                                   \
  template <>                                                                                           \
  struct Cast<To, From> {                                                                               \
    static ANABRANCH_DEVICE To of(From x) { return CastToInt<From>::of(x, static_cast<To*>(nullptr)); } \
  };
ANABRANCH_SATURATES(u8, float)
ANABRANCH_SATURATES(u8, double)
ANABRANCH_SATURATES(i32, float)
ANABRANCH_SATURATES(i32, double)
ANABRANCH_SATURATES(i64, float)
ANABRANCH_SATURATES(i64, double)
#undef ANABRANCH_SATURATES

template <class To, class From>
ANABRANCH_DEVICE To cast(From x) {
  return Cast<To, From>::of(x);
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

// Reads.

ANABRANCH_DEVICE bool in_range(i64 i, i64 extent) { return static_cast<u64>(i) < static_cast<u64>(extent); }
/// Position of index (outer, i) where the inner extent is `extent`. Wraps for what is out of range.
ANABRANCH_DEVICE i64 row_major(i64 outer, i64 extent, i64 i) { return add(multiply(outer, extent), i); }

template <class T>
ANABRANCH_DEVICE T load(const T* from, i64 at) {
  return __ldg(from + at);
}
/// Where `good` does not hold, what lies at `elsewhere`: so there is no branch, and the reads of several
/// elements can be in flight together.
template <class T>
ANABRANCH_DEVICE T load_if(bool good, const T* from, i64 at, const void* elsewhere) {
  const u64 place = reinterpret_cast<u64>(from) + static_cast<u64>(at) * sizeof(T);
  return __ldg(reinterpret_cast<const T*>(good ? place : reinterpret_cast<u64>(elsewhere)));
}
/// A bool is a byte in memory.
ANABRANCH_DEVICE bool load_bool(const u8* from, i64 at) { return __ldg(from + at) != 0; }
ANABRANCH_DEVICE bool load_bool_if(bool good, const u8* from, i64 at, const void* elsewhere) {
  return load_if(good, from, at, elsewhere) != 0;
}

/// Elements of one item of an array whose offsets are in memory.
template <class Offset>
ANABRANCH_DEVICE i64 ragged(const Offset* offsets, i64 item, i64 divisor) {
  const i64 size = static_cast<i64>(__ldg(offsets + item + 1)) - static_cast<i64>(__ldg(offsets + item));
  return divisor > 1 ? size / divisor : size;
}

/// Quotients of positions: mostly they fit 32 bits, for which GPUs are several times faster.
ANABRANCH_DEVICE i64 quotient(i64 x, i64 y) {
  if (((static_cast<u64>(x) | static_cast<u64>(y)) >> 32) == 0)
    return static_cast<i64>(static_cast<u32>(x) / static_cast<u32>(y));
  return x / y;
}

ANABRANCH_DEVICE i64 lesser(i64 x, i64 y) { return x < y ? x : y; }

}  // namespace anabranch
