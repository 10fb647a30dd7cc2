#pragma once

#include <string>

#include <anabranch/error.h>

#include "ir/primitive.h"
#include "math/error_function.h"
#include "math/exponential.h"
#include "math/hyperbolic.h"
#include "math/inverse_trigonometric.h"
#include "math/logarithm.h"
#include "math/power.h"
#include "math/roots.h"
#include "math/trigonometric.h"

/// The recipes of the mathematical functions (kernels/math) by their primitives, for any type of value that
/// recipes are written over.
namespace anabranch::ir {

// The functions by what their recipes look like. tests/ir/mathematics_test.cpp checks that none is missing.
#define ANABRANCH_FAST_FUNCTIONS(X) X(exp) X(exp2) X(log) X(log2) X(log10) X(sin) X(cos) X(tan) X(rsqrt)
#define ANABRANCH_FAST_FUNCTIONS_OF_TWO(X) X(pow) X(hypot)
#define ANABRANCH_PLAIN_FUNCTIONS(X) \
  X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(cbrt)
#define ANABRANCH_PLAIN_FUNCTIONS_OF_TWO(X) X(atan2)

[[noreturn]] inline void no_recipe(Primitive primitive) {
  throw InternalError("not a mathematical function of this kind: " + std::string(info(primitive).name));
}

/// Has the function a path for ordinary operands (kernels/math/machine.h)?
constexpr bool has_fast_path(Primitive primitive) {
#define ANABRANCH_CASE(name) \
  if (primitive == Primitive::name) return true;
  ANABRANCH_FAST_FUNCTIONS(ANABRANCH_CASE)
  ANABRANCH_FAST_FUNCTIONS_OF_TWO(ANABRANCH_CASE)
#undef ANABRANCH_CASE
  return false;
}

/// The fast path of a function that has one; y is not looked at where it takes one operand.
template <class F>
math::Fast<F> build_fast(Primitive primitive, const F& x, const F& y) {
#define ANABRANCH_CASE(name) \
  if (primitive == Primitive::name) return math::name##_fast(x);
  ANABRANCH_FAST_FUNCTIONS(ANABRANCH_CASE)
#undef ANABRANCH_CASE
#define ANABRANCH_CASE(name) \
  if (primitive == Primitive::name) return math::name##_fast(x, y);
  ANABRANCH_FAST_FUNCTIONS_OF_TWO(ANABRANCH_CASE)
#undef ANABRANCH_CASE
  no_recipe(primitive);
}

/// The whole function, right for every operand.
template <class F>
F build_full(Primitive primitive, const F& x, const F& y) {
#define ANABRANCH_CASE(name) \
  if (primitive == Primitive::name) return math::name##_full(x);
  ANABRANCH_FAST_FUNCTIONS(ANABRANCH_CASE)
#undef ANABRANCH_CASE
#define ANABRANCH_CASE(name) \
  if (primitive == Primitive::name) return math::name##_full(x, y);
  ANABRANCH_FAST_FUNCTIONS_OF_TWO(ANABRANCH_CASE)
#undef ANABRANCH_CASE
#define ANABRANCH_CASE(name) \
  if (primitive == Primitive::name) return math::name(x);
  ANABRANCH_PLAIN_FUNCTIONS(ANABRANCH_CASE)
#undef ANABRANCH_CASE
#define ANABRANCH_CASE(name) \
  if (primitive == Primitive::name) return math::name(x, y);
  ANABRANCH_PLAIN_FUNCTIONS_OF_TWO(ANABRANCH_CASE)
#undef ANABRANCH_CASE
  no_recipe(primitive);
}

}  // namespace anabranch::ir
