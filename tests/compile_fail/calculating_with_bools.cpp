// expect: anabranch: a bool is no number to calculate with
// expect: anabranch: a bool is no number to calculate with
// expect: anabranch: a bool is no number to calculate with
// expect: anabranch: a bool is no number to calculate with
// expect: anabranch: & . \^ work on the bits of integers
// expect: anabranch: & . \^ work on the bits of integers
// expect: anabranch: ! takes a bool
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto numbers = use(Vector<std::int32_t>{1, 2});
  auto reals = use(Vector<float>{1.0F, 2.0F});
#if MUST_FAIL == 1
  map([](auto x) { return (x > 1) + (x > 2); }, numbers);
#elif MUST_FAIL == 2
  map([](auto x) { return 2 * (x > 1); }, numbers);
#elif MUST_FAIL == 3
  map([](auto x) { return -(x > 1); }, numbers);
#elif MUST_FAIL == 4
  map([](auto x) { return max(x > 1, x < 2); }, numbers);
#elif MUST_FAIL == 5
  map([](auto x) { return x & 1; }, reals);
#elif MUST_FAIL == 6
  map([](auto x) { return (x > 1) | (x < 5); }, numbers);
#elif MUST_FAIL == 7
  map([](auto x) { return !x; }, numbers);
#else
  map([](auto x) { return pack(cast<std::int32_t>(x > 1) + 1, -x, !(x > 1), x & 1, x > 1 || x < 5); },
      numbers);
  map([](auto x) { return bitcast<std::int32_t>(x) & 1; }, reals);
#endif
}
