#pragma once

#include "scalar.cuh"

/// Failed checks. A kernel never traps: a thread remembers the first check that failed for the position it is
/// computing, continues with a harmless value, and reports when it is done. Only the lowest report is kept
/// (by output position, then by element of the row, then by check), so the message is the same in every run.
namespace anabranch {

/// The same layout as in src/cuda/unit.h.
struct ErrorRecord {
  u64 position;
  u64 lowest;
  i64 failed;
  i64 value;
  i64 bound;
  u64 element;
  u64 lock;
  u64 zero;
};

/// Elements of a row have smaller numbers; larger ones stand for what is computed of all of them, in a fold after them.
constexpr u64 own_elements = (1ull << 62) - 1;
constexpr u64 after_elements = ~0ull - 1;
constexpr u64 in_seed = ~0ull;

struct Failure {
  i32 check = 0;  ///< its number plus one; 0: none
  i64 value = 0;
  i64 bound = 0;
  u64 element = 0;

  ANABRANCH_DEVICE bool any() const { return check != 0; }
  /// Elements may be checked in any order: the failure of the lowest is kept, and of its checks the first.
  ANABRANCH_DEVICE void unless(bool good, i32 number, u64 where, i64 offending, i64 limit) {
    if (!good && (check == 0 || where < element)) {
      check = number + 1;
      element = where;
      value = offending;
      bound = limit;
    }
  }
};

/// The lowest position at which a failure has been reported so far; ~0: none.
ANABRANCH_DEVICE u64 lowest_failed(const ErrorRecord* record) {
  return static_cast<const volatile ErrorRecord*>(record)->lowest;
}

/// What follows the elements may be computed by several threads, with different values: these count, too.
ANABRANCH_DEVICE bool is_before(u64 position, const Failure& f, const volatile ErrorRecord* kept) {
  if (position != kept->position) return position < kept->position;
  if (f.element != kept->element) return f.element < kept->element;
  if (f.check != kept->failed) return f.check < kept->failed;
  if (f.value != kept->value) return f.value < kept->value;
  return f.bound < kept->bound;
}

/// Without the lock: is a failure kept that comes before this one, or that of the same element, which is the same? Of a long
/// row all threads may report at one position.
ANABRANCH_DEVICE bool is_known(u64 position, const Failure& f, const volatile ErrorRecord* kept) {
  if (position > kept->lowest) return true;
  if (position != kept->position) return false;
  __threadfence();
  const u64 element = kept->element;  // the last of all while the others are written
  return element < f.element || (element == f.element && element < own_elements);
}

/// With many failures few threads take the lock: what comes behind one that is known is dropped.
/// Threads of a warp may wait for one of the same warp, which needs independent scheduling of threads
/// (compute capability 7.0).
inline __device__ void report(ErrorRecord* record, u64 position, Failure failure) {
  volatile ErrorRecord* kept = record;
  if (is_known(position, failure, kept) || position > atomicMin(&record->lowest, position)) return;
  while (atomicCAS(&record->lock, 0ull, 1ull) != 0) {
    if (is_known(position, failure, kept)) return;
    __nanosleep(200);
  }
  __threadfence();
  if (is_before(position, failure, kept)) {
    kept->element = in_seed;
    __threadfence();
    kept->position = position;
    kept->failed = failure.check;
    kept->value = failure.value;
    kept->bound = failure.bound;
    __threadfence();
    kept->element = failure.element;
  }
  __threadfence();
  atomicExch(&record->lock, 0ull);
}

}  // namespace anabranch
