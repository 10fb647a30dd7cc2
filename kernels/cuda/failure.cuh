#pragma once

#include "scalar.cuh"

/// Failed checks. A kernel never traps: a thread remembers the first check that failed for what it computes
/// at present, goes on with something harmless, and reports when it is done. Of all reports the lowest is
/// kept: by output position, then by element of the row, then by check; so the message is the same in
/// every run.
namespace anabranch {

/// As in src/cuda/unit.h.
struct ErrorRecord {
  u64 position;
  i64 failed;
  i64 value;
  i64 bound;
  u64 lock;
  u64 element;
};

/// Elements that stand for what is computed after all of a row's elements.
constexpr u64 after_elements = ~0ull - 1;
constexpr u64 in_seed = ~0ull;

struct Failure {
  i32 check = 0;  ///< its number plus one; 0: none
  i64 value = 0;
  i64 bound = 0;
  u64 element = 0;

  ANABRANCH_DEVICE bool any() const { return check != 0; }
  ANABRANCH_DEVICE void unless(bool good, i32 number, u64 where, i64 offending, i64 limit) {
    if (!good && check == 0) {
      check = number + 1;
      element = where;
      value = offending;
      bound = limit;
    }
  }
};

ANABRANCH_DEVICE bool is_before(u64 position, const Failure& f, const volatile ErrorRecord* kept) {
  if (position != kept->position) return position < kept->position;
  if (f.element != kept->element) return f.element < kept->element;
  if (f.check != kept->failed) return f.check < kept->failed;
  if (f.value != kept->value) return f.value < kept->value;
  return f.bound < kept->bound;
}

/// Where very much fails, few take the lock: positions only fall, so a stale one says enough.
inline __device__ void report(ErrorRecord* record, u64 position, Failure failure) {
  volatile ErrorRecord* kept = record;
  if (position > kept->position) return;
  // The lock is released in the same round: no thread of a warp waits for another one of it.
  for (bool done = false; !done;) {
    if (atomicCAS(&record->lock, 0ull, 1ull) != 0) continue;
    __threadfence();
    if (is_before(position, failure, kept)) {
      kept->position = position;
      kept->failed = failure.check;
      kept->value = failure.value;
      kept->bound = failure.bound;
      kept->element = failure.element;
    }
    __threadfence();
    atomicExch(&record->lock, 0ull);
    done = true;
  }
}

}  // namespace anabranch
