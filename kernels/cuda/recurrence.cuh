#pragma once

#include "failure.cuh"
#include "items.cuh"

/// The recurrence skeleton: each thread goes along a row of its own, from the first element to the last.
///
/// A kernel K has, besides what a map's has: Value, one scalar per component of the state; enter_row(item, position);
/// length(); begin_row(), what all elements of the row share; initial(), the state before the first element;
/// next(r, state), that after element r; store(r, state).
namespace anabranch {

constexpr int recurrence_threads = 256;

template <class K, class A>
ANABRANCH_DEVICE void recurrence_rows(const A& a) {
  K k(a);
  for (i64 position = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; position < a.positions;
       position += static_cast<i64>(gridDim.x) * blockDim.x) {
    k.failure = Failure();
    k.enter_row(k.item_of(position), position);
    const i64 length = k.length();
    if (length <= 0) continue;
    k.begin_row();
    typename K::Value state = k.initial();
    for (i64 r = 0; r < length; ++r) {
      if (K::checked && k.failure.any()) break;
      state = k.next(r, state);
      k.store(r, state);
    }
    if (K::checked && k.failure.any()) report(a.error, static_cast<u64>(position), k.failure);
  }
}

}  // namespace anabranch
