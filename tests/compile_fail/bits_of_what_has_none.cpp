// expect: anabranch: popcount, clz, ctz, rotl, rotr, test_bit and set_bit take integers
// expect: anabranch: popcount, clz, ctz, rotl, rotr, test_bit and set_bit take integers
// expect: anabranch: << and >> shift the bits of an integer
// expect: anabranch: << and >> shift the bits of an integer
// expect: anabranch: ~ changes the bits of an integer, of a bool, write !x
// expect: anabranch: the number of a bit, or of bits to shift by, is an integer
// expect: anabranch: << and >> shift the bits of an integer
// expect: anabranch: this function works on single values
// expect: anabranch: an operator works on single values|anabranch: this function works on single values
// expect: anabranch: the operand is an Exp of an integer, as in Exp<int32_t>.5.
// expect: anabranch: the operand is an Exp of an integer, as in Exp<int32_t>.5.
// expect: anabranch: popcount, clz, ctz, rotl, rotr, test_bit and set_bit take integers
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto numbers = use(Vector<std::int32_t>{1, 2});
  auto reals = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  map([](auto x) { return popcount(x); }, reals);
#elif MUST_FAIL == 2
  map([](auto x) { return rotl(x, 1); }, reals);
#elif MUST_FAIL == 3
  map([](auto x) { return x << 1; }, reals);
#elif MUST_FAIL == 4
  map([](auto x) { return x >> 1.5; }, numbers);
#elif MUST_FAIL == 5
  map([](auto x) { return ~(x > 1); }, numbers);
#elif MUST_FAIL == 6
  map([](auto x) { return test_bit(x, 1.5); }, numbers);
#elif MUST_FAIL == 7
  map([](auto x) { return (x > 1) << 1; }, numbers);
#elif MUST_FAIL == 8
  clz(numbers);
#elif MUST_FAIL == 9
  numbers << 1;
#elif MUST_FAIL == 10
  map([](auto x) { return set_bit(1, x); }, numbers);
#elif MUST_FAIL == 11
  map([](auto x) { return test_bit(5, x); }, numbers);
#elif MUST_FAIL == 12
  map([](auto x) { return rotl(1.5, x); }, numbers);
#else
  map([](auto x) { return popcount(bitcast<std::int64_t>(x)); }, reals);
  map(
      [](auto x) {
        return pack(rotl(x, 1) << 2, 1 << x, ~x, test_bit(x, 3), set_bit(Exp<std::int32_t>(1), x), clz(x));
      },
      numbers);
#endif
}
