#pragma once

#include "scalar.cuh"

/// Warps and blocks. Functions that shuffle must be called by all threads of a warp together.
namespace anabranch {

constexpr int warp_size = 32;
constexpr u32 whole_warp = 0xffffffffu;

ANABRANCH_DEVICE int lane_in_warp() { return static_cast<int>(threadIdx.x) % warp_size; }

// Shuffles of every scalar type, within groups of `width` lanes. Narrower types are widened to a register.

template <class T>
using InRegister = typename Choice<(sizeof(T) < sizeof(i32)), i32, T>::type;

template <class T>
ANABRANCH_DEVICE InRegister<T> to_register(T v) {
  return static_cast<InRegister<T>>(v);
}
ANABRANCH_DEVICE i32 to_register(f16 v) { return v.bits; }
template <class T>
ANABRANCH_DEVICE T from_register(InRegister<T> v) {
  if constexpr (sizeof(T) < sizeof(i32) && is_floating<T>)
    return from_bits<T>(static_cast<u16>(v));
  else
    return static_cast<T>(v);
}

template <class T>
ANABRANCH_DEVICE T shuffle(T v, int lane, int width) {
  return from_register<T>(__shfl_sync(whole_warp, to_register(v), lane, width));
}
template <class T>
ANABRANCH_DEVICE T shuffle_down(T v, int distance, int width) {
  return from_register<T>(__shfl_down_sync(whole_warp, to_register(v), static_cast<u32>(distance), width));
}

/// Bit i is set where `holds` is true in lane i.
ANABRANCH_DEVICE u32 ballot(bool holds) { return __ballot_sync(whole_warp, holds); }

/// Largest of v in this lane and the lanes before it.
ANABRANCH_DEVICE u32 warp_max_scan(u32 v) {
  const int lane = lane_in_warp();
#pragma unroll
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const u32 other = __shfl_up_sync(whole_warp, v, static_cast<u32>(distance), warp_size);
    if (lane >= distance && other > v) v = other;
  }
  return v;
}

/// Largest of v in all threads of the block before this one; 0 in the first. Called by the whole block.
ANABRANCH_DEVICE u32 block_max_before(u32 v) {
  __shared__ u32 of_warp[warp_size];
  const int lane = lane_in_warp();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const u32 here = warp_max_scan(v);
  if (lane == warp_size - 1) of_warp[warp] = here;
  __syncthreads();
  if (warp == 0) {
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    const u32 all = warp_max_scan(lane < warps ? of_warp[lane] : 0);
    if (lane < warps) of_warp[lane] = all;
  }
  __syncthreads();
  const u32 warps_before = warp == 0 ? 0 : of_warp[warp - 1];
  const u32 lanes_before = __shfl_up_sync(whole_warp, here, 1u, warp_size);
  __syncthreads();  // before of_warp is written again
  if (lane == 0) return warps_before;
  return lanes_before > warps_before ? lanes_before : warps_before;
}

}  // namespace anabranch
