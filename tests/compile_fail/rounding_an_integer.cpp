// expect: anabranch: floor, ceil, round, trunc, is_nan, is_inf and copysign take floats
// expect: anabranch: floor, ceil, round, trunc, is_nan, is_inf and copysign take floats
// expect: anabranch: floor, ceil, round, trunc, is_nan, is_inf and copysign take floats
// expect: anabranch: the operands have different element types
// expect: anabranch: this function works on single values
// expect: anabranch: std::floor takes numbers
// expect: anabranch: isnan.x. is is_nan.x. of an Exp
// expect: anabranch: isinf.x. is is_inf.x. of an Exp
// expect: anabranch: sign takes a number
#include <anabranch/anabranch.h>

#include <cmath>

using namespace anabranch;

int main() {
  auto numbers = use(Vector<std::int32_t>{1, 2});
  auto reals = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  map([](auto x) { return floor(x); }, numbers);
#elif MUST_FAIL == 2
  map([](auto x) { return is_nan(x); }, numbers);
#elif MUST_FAIL == 3
  map([](auto x) { return copysign(x, -1); }, numbers);
#elif MUST_FAIL == 4
  zip_with([](auto x, auto y) { return copysign(x, y); }, reals, numbers);
#elif MUST_FAIL == 5
  round(reals);
#elif MUST_FAIL == 6
  map([](auto x) { return std::floor(x); }, reals);
#elif MUST_FAIL == 7
  map([](auto x) { return isnan(x); }, reals);
#elif MUST_FAIL == 8
  map([](auto x) { return std::isinf(x); }, reals);
#elif MUST_FAIL == 9
  map([](auto x) { return sign(x > 1); }, reals);
#else
  map([](auto x) { return pack(floor(x), is_nan(x), copysign(x, -1), sign(x)); }, reals);
#endif
}
