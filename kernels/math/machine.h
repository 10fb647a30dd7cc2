#pragma once

/// The machine that the mathematical functions are written for: operations that IEEE 754 rounds exactly, and
/// operations on the bits of floats. A recipe over nothing but these gives the same bits wherever it runs
/// (payloads of NaNs aside). Recipes are templates over the type `F` of a value:
///
///  * float and double: C++ for one value, on the host (the interpreter) and inside CUDA texts. Defined here.
///  * cpu::Lanes<float>, cpu::Lanes<double>: all lanes of a vector, as LLVM IR (src/cpu/llvm/lanes.h).
///
/// What a recipe may use, F being its type:
///
///   a + b, a - b, a * b, a / b, -a       rounded to nearest even, never contracted; an operand may be a
///                                        literal of the type: 0x1.8p23f in a recipe of float
///   fma(a, b, c), sqrt(a), absolute(a)   fma rounds once; up to two of a, b, c may be literals
///   a < b, a <= b, a > b, a >= b, a == b, a != b    IEEE, giving a MaskOf<F>
///   p & q, p | q, !p                     on masks. No && and ||, no if: lanes differ
///   select(p, a, b)                      a where p holds, else b: of floats, of bits, of masks. At most one of
///                                        a and b is a literal
///   bits(a), real<F>(u)                  the bits of a float and back; BitsOf<F> is u32 or u64
///   u + v, u - v, u * v, u & v, u | v, u ^ v, ~u    of bits, unsigned and wrapping; v may be a literal
///   u << n, u >> n                       zeros move in; n a literal or bits below the width
///   shift_signed(u, n)                   to the right, the sign moves in; n a literal
///   u < v, u == v, u != v, less_signed(u, v)        giving a MaskOf<F>
///   multiply_high(u, v)                  the high half of the product
///   lookup(table, u)                     table[u] of an array of u32 or u64 constants; u is in range. Not in
///                                        fast paths
///
/// A float becomes an integer by adding a number so large that its last bit counts ones (1.5 * 2^23 or
/// 1.5 * 2^52); there is no other conversion, because machines differ where one does not fit.
///
/// A function with ordinary and rare operands has a fast path, `f_fast(x)`, that says where its value holds,
/// and `f_full(x)`, which is right for every x and gives the same bits where the fast path holds. All others
/// are one recipe.
#if !defined(__CUDACC__) && !defined(GPU_HOST)
#include <math.h>
#define ANABRANCH_MATH inline
#define ANABRANCH_MATH_TABLE inline constexpr
#else
#define ANABRANCH_MATH __device__ __forceinline__
#define ANABRANCH_MATH_TABLE static __device__ const
#endif

namespace anabranch::math {

using u32 = unsigned int;
using u64 = unsigned long long;

template <class F>
struct Types;
template <>
struct Types<float> {
  using Bits = u32;
  using Mask = bool;
  static constexpr int width = 32;
};
template <>
struct Types<double> {
  using Bits = u64;
  using Mask = bool;
  static constexpr int width = 64;
};
template <class F>
using BitsOf = typename Types<F>::Bits;
template <class F>
using MaskOf = typename Types<F>::Mask;

/// A value that a recipe of float computes with, and one of double.
template <class F>
concept Float32 = Types<F>::width == 32;
template <class F>
concept Float64 = Types<F>::width == 64;

/// What a fast path gives.
template <class F>
struct Fast {
  F value;
  MaskOf<F> holds;
};

// One value, in C++ -----------------------------------------------------------------------------------------

ANABRANCH_MATH float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
ANABRANCH_MATH double fma(double a, double b, double c) { return ::fma(a, b, c); }
ANABRANCH_MATH float sqrt(float a) { return ::sqrtf(a); }
ANABRANCH_MATH double sqrt(double a) { return ::sqrt(a); }

#if defined(__CUDACC__)
ANABRANCH_MATH u32 bits(float a) { return __float_as_uint(a); }
ANABRANCH_MATH u64 bits(double a) { return static_cast<u64>(__double_as_longlong(a)); }
template <class F>
ANABRANCH_MATH F real(u32 u) {
  return __uint_as_float(u);
}
template <class F>
ANABRANCH_MATH F real(u64 u) {
  return __longlong_as_double(static_cast<long long>(u));
}
#else
ANABRANCH_MATH u32 bits(float a) { return __builtin_bit_cast(u32, a); }
ANABRANCH_MATH u64 bits(double a) { return __builtin_bit_cast(u64, a); }
template <class F>
ANABRANCH_MATH F real(u32 u) {
  return __builtin_bit_cast(F, u);
}
template <class F>
ANABRANCH_MATH F real(u64 u) {
  return __builtin_bit_cast(F, u);
}
#endif

ANABRANCH_MATH float absolute(float a) { return real<float>(bits(a) & 0x7fffffffu); }
ANABRANCH_MATH double absolute(double a) { return real<double>(bits(a) & 0x7fffffffffffffffull); }

template <class T>
ANABRANCH_MATH T select(bool p, T a, T b) {
  return p ? a : b;
}
ANABRANCH_MATH u32 shift_signed(u32 u, int n) { return static_cast<u32>(static_cast<int>(u) >> n); }
ANABRANCH_MATH u64 shift_signed(u64 u, int n) { return static_cast<u64>(static_cast<long long>(u) >> n); }
ANABRANCH_MATH bool less_signed(u32 u, u32 v) { return static_cast<int>(u) < static_cast<int>(v); }
ANABRANCH_MATH bool less_signed(u64 u, u64 v) {
  return static_cast<long long>(u) < static_cast<long long>(v);
}
ANABRANCH_MATH u32 multiply_high(u32 u, u32 v) {
  return static_cast<u32>((static_cast<u64>(u) * static_cast<u64>(v)) >> 32);
}
ANABRANCH_MATH u64 multiply_high(u64 u, u64 v) {
#if defined(__CUDACC__)
  return __umul64hi(u, v);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<u64>((static_cast<Wide>(u) * static_cast<Wide>(v)) >> 64);
#endif
}
template <class U, int n>
ANABRANCH_MATH U lookup(const U (&table)[n], U u) {
  return table[u];
}

}  // namespace anabranch::math
