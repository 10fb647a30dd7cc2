// expect: anabranch: quot, rem, div, mod, divmod and gcd take integers
// expect: anabranch: quot, rem, div, mod, divmod and gcd take integers
// expect: anabranch: quot, rem, div, mod, divmod and gcd take integers
// expect: anabranch: the operands have different element types
// expect: anabranch: this function works on single values
// expect: anabranch: atan2 and hypot take two of float
// expect: anabranch: the first operand of pow is an Exp
// expect: anabranch: pow takes two integers or two floats
// expect: anabranch: a floating-point literal meets an integer|the element type does not hold this literal
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto numbers = use(Vector<std::int32_t>{1, 2});
  auto reals = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  map([](auto x) { return div(x, 2); }, reals);
#elif MUST_FAIL == 2
  map([](auto x) { return gcd(x > 1, x < 2); }, numbers);
#elif MUST_FAIL == 3
  map([](auto x) { return get<0>(divmod(x, 2)); }, reals);
#elif MUST_FAIL == 4
  map([](auto x) { return mod(x, cast<std::int64_t>(x)); }, numbers);
#elif MUST_FAIL == 5
  mod(numbers, 3);
#elif MUST_FAIL == 6
  map([](auto x) { return hypot(x, x); }, numbers);
#elif MUST_FAIL == 7
  map([](auto x) { return pow(2, x); }, numbers);
#elif MUST_FAIL == 8
  map([](auto x) { return pow(x, 0.5); }, numbers);
#elif MUST_FAIL == 9
  map([](auto x) { return quot(x, 0.5); }, numbers);
#else
  map(
      [](auto x) {
        return pack(div(x, 2), gcd(12, x), divmod(x, x), pow(x, 3), pow(x, x), pow(Exp<std::int32_t>(2), x));
      },
      numbers);
  map([](auto x) { return floor(x / 2); }, reals);
#endif
}
