// Which path computes a number depends on the lanes beside it, so where the fast one holds it has to give the bits of the
// full one: of functions of one float at every operand.

#include "math/check.h"
#include "math/exponential.h"
#include "math/logarithm.h"
#include "math/roots.h"
#include "math/trigonometric.h"

namespace anabranch::test {

#define ANABRANCH_CHECK(name) \
  check_fast_everywhere(      \
      #name, [](float x) { return math::name##_fast(x); }, [](float x) { return math::name##_full(x); })

TEST_CASE("the fast paths of exponentials and logarithms at every float", "[.long]") {
  ANABRANCH_CHECK(exp);
  ANABRANCH_CHECK(exp2);
  ANABRANCH_CHECK(log);
  ANABRANCH_CHECK(log2);
  ANABRANCH_CHECK(log10);
}

TEST_CASE("the fast path of the reciprocal root at every float", "[.long]") { ANABRANCH_CHECK(rsqrt); }

TEST_CASE("the fast paths of trigonometric functions at every float", "[.long]") {
  ANABRANCH_CHECK(sin);
  ANABRANCH_CHECK(cos);
  ANABRANCH_CHECK(tan);
}

}  // namespace anabranch::test
