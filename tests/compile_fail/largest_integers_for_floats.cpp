// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: the element type does not hold this literal exactly
#include <cstdint>

#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto floats = use(Vector<float>{1.0F, 2.0F});
  auto doubles = use(Vector<double>{1.0, 2.0});
#ifndef MUST_FAIL
#define MUST_FAIL 0
#endif
  // Each is rounded to a number that its own type does not hold.
#if MUST_FAIL == 1
  map([](Exp<float> x) { return x + INT32_MAX; }, floats);
#elif MUST_FAIL == 2
  map([](Exp<float> x) { return x + UINT32_MAX; }, floats);
#elif MUST_FAIL == 3
  map([](Exp<double> x) { return x + INT64_MAX; }, doubles);
#elif MUST_FAIL == 4
  map([](Exp<double> x) { return x + UINT64_MAX; }, doubles);
#else
  map([](Exp<float> x) { return x + INT32_MIN + INT64_MIN + 16777216; }, floats);
  map([](Exp<double> x) { return x + INT32_MAX + UINT32_MAX + INT64_MIN; }, doubles);
#endif
}
