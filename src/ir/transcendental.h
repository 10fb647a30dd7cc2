#pragma once

#include <cstdint>

#include "ir/primitive.h"

/// The library routines behind exponential, logarithm, sine, cosine: one per primitive, type and machine, so
/// that a vector body, its tail, a scalar variant and the interpreter give the same bits (so the routine is
/// part of the meaning on a back end). On x86-64 it is glibc's libmvec at the machine's widest vector width
/// (AVX-512: 16 floats or 8 doubles; AVX2: 8 or 4; else SSE 4 or 2); scalar calls pad the vector. Where
/// libmvec is missing, libm, lane by lane.
namespace anabranch::ir {

/// A vector routine as generated code calls it: `lanes` values in one vector register, in and out.
struct Routine {
  /// Vector routine of `lanes` lanes; lanes == 1: an ordinary scalar C function.
  const void* address = nullptr;
  int lanes = 1;
  const char* symbol = "";  ///< "_ZGVeN8v_exp", for listings and cache keys
};

/// Routines are numbered, so that generated code finds them in a table of pointers (KernelArgs::functions).
inline constexpr int routine_count = 64;
/// -1 where the primitive is no library routine for that type.
int routine_number(Primitive primitive, ScalarType type);
/// Resolved once per process. Vector width may be forced narrower only for tests of other machines, never for
/// speed.
const Routine& routine(int number);
/// routine(i).address for all i: what KernelArgs::functions points to.
const void* const* routine_table();

/// One value through the very same routine.
float evaluate(Primitive primitive, float x);
double evaluate(Primitive primitive, double x);

}  // namespace anabranch::ir
