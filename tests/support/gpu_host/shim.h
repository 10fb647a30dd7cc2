// What a CUDA text needs to compile with g++: put before it by HostModule (executor.h). Threads of a block
// are fibers of one OS thread; barriers and warp primitives call back into the executor, all else is plain
// C++. Not for any other source: it takes CUDA's names.
#pragma once

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#define GPU_HOST 1

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace gpu_host {

struct Indices {
  uint3 thread, block;
  dim3 block_size, grid_size;
};

struct Site {
  const char* file;
  int line;
};

enum class Block { sync, sync_or, sync_and, sync_count };
enum class Warp { sync, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, any, all };

/// The executor's side. Each call lets other threads go on.
struct Api {
  int (*block)(Block operation, int predicate, Site site);
  std::uint64_t (*warp)(Warp operation, unsigned mask, std::uint64_t value, int lane, int width, Site site);
  void (*yield)();
  void (*trap)(const char* what, Site site);
};

}  // namespace gpu_host

#define GPU_HOST_EXPORT __attribute__((visibility("default")))

#ifndef GPU_HOST_EXECUTOR

extern "C" {
GPU_HOST_EXPORT const gpu_host::Api* gpu_host_api = nullptr;
static thread_local const gpu_host::Indices* gpu_host_now = nullptr;
/// Where the executor says which thread runs, for the calling OS thread.
GPU_HOST_EXPORT const gpu_host::Indices** gpu_host_current() { return &gpu_host_now; }
}

namespace gpu_host {

/// Calls an entry with parameters that lie one behind the other, each at its own alignment.
template <class... P>
struct Entry {
  static constexpr size_t place(size_t n) {
    const size_t sizes[] = {sizeof(P)..., 0}, alignments[] = {alignof(P)..., 1};
    size_t at = 0;
    for (size_t k = 0; k <= n; ++k) {
      at = (at + alignments[k] - 1) / alignments[k] * alignments[k];
      if (k < n) at += sizes[k];
    }
    return at;
  }
  template <size_t... k>
  static void call(void (*f)(P...), const char* words, std::integer_sequence<size_t, k...>) {
    f(read<P>(words + place(k))...);
  }
  template <class T>
  static T read(const char* at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
  }
};
template <class... P>
void call(void (*f)(P...), const void* words) {
  Entry<P...>::call(f, static_cast<const char*>(words), std::make_integer_sequence<size_t, sizeof...(P)>());
}
template <class... P>
constexpr size_t bytes(void (*)(P...)) {
  return Entry<P...>::place(sizeof...(P));
}

template <class T>
std::uint64_t to_bits(T value) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "shuffles take numbers of at most 8 bytes");
  std::uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
// Conversions of halves, which a GPU has instructions for: by the compiler's own type.
inline std::uint16_t bits_of_half(_Float16 x) {
  std::uint16_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline std::uint16_t float_to_half(float x) { return bits_of_half(static_cast<_Float16>(x)); }
inline std::uint16_t double_to_half(double x) { return bits_of_half(static_cast<_Float16>(x)); }
inline float half_to_float(std::uint16_t bits) { return static_cast<float>(from_bits<_Float16>(bits)); }
template <class T>
T shuffle(Site site, Warp operation, unsigned mask, T value, int lane, int width = 32) {
  return from_bits<T>(gpu_host_api->warp(operation, mask, to_bits(value), lane, width, site));
}
inline std::uint64_t vote(Site site, Warp operation, unsigned mask, bool predicate = false) {
  return gpu_host_api->warp(operation, mask, predicate, 0, 32, site);
}

}  // namespace gpu_host

#define threadIdx (gpu_host_now->thread)
#define blockIdx (gpu_host_now->block)
#define blockDim (gpu_host_now->block_size)
#define gridDim (gpu_host_now->grid_size)
#define warpSize 32

#define __global__ GPU_HOST_EXPORT
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__ static thread_local
#define __forceinline__ inline  // without optimisation, inlining by force costs a quarter of the compile time
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

#define GPU_HOST_SITE \
  gpu_host::Site { __FILE__, __LINE__ }
#define __syncthreads() ((void)gpu_host_api->block(gpu_host::Block::sync, 0, GPU_HOST_SITE))
#define __syncthreads_or(p) gpu_host_api->block(gpu_host::Block::sync_or, !!(p), GPU_HOST_SITE)
#define __syncthreads_and(p) gpu_host_api->block(gpu_host::Block::sync_and, !!(p), GPU_HOST_SITE)
#define __syncthreads_count(p) gpu_host_api->block(gpu_host::Block::sync_count, !!(p), GPU_HOST_SITE)
#define GPU_HOST_MASK(...) (0xffffffffu __VA_OPT__(&(__VA_ARGS__)))
#define __syncwarp(...) \
  ((void)gpu_host::vote(GPU_HOST_SITE, gpu_host::Warp::sync, GPU_HOST_MASK(__VA_ARGS__)))
#define __shfl_sync(mask, ...) gpu_host::shuffle(GPU_HOST_SITE, gpu_host::Warp::shuffle, mask, __VA_ARGS__)
#define __shfl_up_sync(mask, ...) \
  gpu_host::shuffle(GPU_HOST_SITE, gpu_host::Warp::shuffle_up, mask, __VA_ARGS__)
#define __shfl_down_sync(mask, ...) \
  gpu_host::shuffle(GPU_HOST_SITE, gpu_host::Warp::shuffle_down, mask, __VA_ARGS__)
#define __shfl_xor_sync(mask, ...) \
  gpu_host::shuffle(GPU_HOST_SITE, gpu_host::Warp::shuffle_xor, mask, __VA_ARGS__)
#define __ballot_sync(mask, p) \
  static_cast<unsigned>(gpu_host::vote(GPU_HOST_SITE, gpu_host::Warp::ballot, mask, !!(p)))
#define __any_sync(mask, p) static_cast<int>(gpu_host::vote(GPU_HOST_SITE, gpu_host::Warp::any, mask, !!(p)))
#define __all_sync(mask, p) static_cast<int>(gpu_host::vote(GPU_HOST_SITE, gpu_host::Warp::all, mask, !!(p)))
#define __trap() gpu_host_api->trap("__trap", GPU_HOST_SITE)
#undef assert
#define assert(condition) \
  ((condition) ? (void)0 : gpu_host_api->trap("assertion failed: " #condition, GPU_HOST_SITE))
inline void __nanosleep(unsigned) { gpu_host_api->yield(); }

// Atomics: real ones, since blocks may run on several OS threads. The second argument converts to the first's
// type, as CUDA's overloads do.
#define GPU_HOST_SAME(T) std::type_identity_t<T>
template <class T>
T atomicCAS(T* at, GPU_HOST_SAME(T) expected, GPU_HOST_SAME(T) value) {
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
namespace gpu_host {
template <class T, class F>
T update(T* at, F&& f) {
  T old, next;
  __atomic_load(at, &old, __ATOMIC_RELAXED);
  do next = f(old);
  while (!__atomic_compare_exchange(at, &old, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return old;
}
}  // namespace gpu_host
template <class T>
T atomicExch(T* at, GPU_HOST_SAME(T) value) {
  T old;
  __atomic_exchange(at, &value, &old, __ATOMIC_SEQ_CST);
  return old;
}
template <class T>
T atomicAdd(T* at, GPU_HOST_SAME(T) value) {
  if constexpr (std::is_integral_v<T>)
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
  else
    return gpu_host::update(at, [&](T old) { return old + value; });
}
template <class T>
T atomicSub(T* at, GPU_HOST_SAME(T) value) {
  return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicMin(T* at, GPU_HOST_SAME(T) value) {
  return gpu_host::update(at, [&](T old) { return value < old ? value : old; });
}
template <class T>
T atomicMax(T* at, GPU_HOST_SAME(T) value) {
  return gpu_host::update(at, [&](T old) { return old < value ? value : old; });
}
template <class T>
T atomicOr(T* at, GPU_HOST_SAME(T) value) {
  return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicAnd(T* at, GPU_HOST_SAME(T) value) {
  return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicXor(T* at, GPU_HOST_SAME(T) value) {
  return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);
}
inline unsigned atomicInc(unsigned* at, unsigned bound) {
  return gpu_host::update(at, [&](unsigned old) { return old >= bound ? 0 : old + 1; });
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#define GPU_HOST_LOAD(name)      \
  template <class T>             \
  inline T name(const T* from) { \
    return *from;                \
  }
GPU_HOST_LOAD(__ldg)
GPU_HOST_LOAD(__ldcs)
GPU_HOST_LOAD(__ldcg)
GPU_HOST_LOAD(__ldca)
GPU_HOST_LOAD(__ldlu)
// Of what the host writes meanwhile.
template <class T>
T __ldcv(const T* from) {
  T value;
  __atomic_load(from, &value, __ATOMIC_RELAXED);
  return value;
}
#define GPU_HOST_STORE(name)                        \
  template <class T>                                \
  inline void name(T* to, GPU_HOST_SAME(T) value) { \
    *to = value;                                    \
  }
GPU_HOST_STORE(__stcs)
GPU_HOST_STORE(__stcg)
GPU_HOST_STORE(__stwb)
GPU_HOST_STORE(__stwt)

// Bits.
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int k = 0; k < 32; ++k) y |= (x >> k & 1u) << (31 - k);
  return y;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline long long __double_as_longlong(double x) {
  return gpu_host::from_bits<long long>(gpu_host::to_bits(x));
}
inline double __longlong_as_double(long long x) { return gpu_host::from_bits<double>(gpu_host::to_bits(x)); }
inline int __float_as_int(float x) { return gpu_host::from_bits<int>(gpu_host::to_bits(x)); }
inline float __int_as_float(int x) { return gpu_host::from_bits<float>(gpu_host::to_bits(x)); }
inline unsigned __float_as_uint(float x) { return gpu_host::from_bits<unsigned>(gpu_host::to_bits(x)); }
inline float __uint_as_float(unsigned x) { return gpu_host::from_bits<float>(gpu_host::to_bits(x)); }

// Arithmetic that nothing contracts (-ffp-contract=off: here nothing does anyway).
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
/// Conversions go to the nearest number there is, and NaN to 0 (to the lowest in the 64-bit ones).
namespace gpu_host {
template <class To, class From>
To saturated(From x, To nan) {
  const From low =
      static_cast<From>(static_cast<To>(std::is_signed_v<To> ? To(1) << (sizeof(To) * 8 - 1) : 0));
  const From high = ldexp(From(1), static_cast<int>(sizeof(To)) * 8 - std::is_signed_v<To>);
  if (x != x) return nan;
  if (x < low) return static_cast<To>(std::is_signed_v<To> ? To(1) << (sizeof(To) * 8 - 1) : 0);
  if (x >= high) return static_cast<To>(std::is_signed_v<To> ? ~(To(1) << (sizeof(To) * 8 - 1)) : ~To(0));
  return static_cast<To>(x);
}
}  // namespace gpu_host
inline int __double2int_rz(double x) { return gpu_host::saturated<int>(x, 0); }
inline long long __double2ll_rz(double x) { return gpu_host::saturated<long long>(x, 1ll << 63); }
inline unsigned __double2uint_rz(double x) { return gpu_host::saturated<unsigned>(x, 0); }
inline unsigned long long __double2ull_rz(double x) {
  return gpu_host::saturated<unsigned long long>(x, 1ull << 63);
}
inline int __float2int_rz(float x) { return gpu_host::saturated<int>(x, 0); }
inline long long __float2ll_rz(float x) { return gpu_host::saturated<long long>(x, 1ll << 63); }
inline double __int2double_rn(int x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

template <class A, class B>
inline std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(fmin(static_cast<T>(a), static_cast<T>(b)));
  else
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
inline std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(fmax(static_cast<T>(a), static_cast<T>(b)));
  else
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
#define __builtin_assume(x) ((void)0)

#define GPU_HOST_VECTOR(T, name, align2, align4)             \
  struct alignas(align2) name##2 { T x, y; };                \
  struct alignas(align4) name##4 { T x, y, z, w; };          \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
GPU_HOST_VECTOR(int, int, 8, 16)
GPU_HOST_VECTOR(unsigned, uint, 8, 16)
GPU_HOST_VECTOR(float, float, 8, 16)
GPU_HOST_VECTOR(double, double, 16, 16)
GPU_HOST_VECTOR(long long, longlong, 16, 16)
GPU_HOST_VECTOR(unsigned long long, ulonglong, 16, 16)

#endif
