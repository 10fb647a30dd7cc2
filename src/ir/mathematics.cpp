#include "ir/mathematics.h"

#include "ir/math_recipe.h"

namespace anabranch::ir {

namespace {

template <class F>
F evaluate(Primitive primitive, F x, F y) {
  if (has_fast_path(primitive)) {
    const math::Fast<F> fast = build_fast(primitive, x, y);
    if (fast.holds) return fast.value;
  }
  return build_full(primitive, x, y);
}

}  // namespace

float mathematical(Primitive primitive, float x, float y) { return evaluate(primitive, x, y); }
double mathematical(Primitive primitive, double x, double y) { return evaluate(primitive, x, y); }

}  // namespace anabranch::ir
