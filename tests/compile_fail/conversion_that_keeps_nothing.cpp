// expect: anabranch: bitcast keeps the bytes, so both types have to be of one size
// expect: anabranch: bitcast takes and gives numbers
// expect: anabranch: narrow gives an integer
// expect: anabranch: narrow takes a number
// expect: anabranch: narrow gives an integer
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto reals = use(Vector<float>{1.0F, 2.0F});
#if MUST_FAIL == 1
  map([](auto x) { return bitcast<double>(x); }, reals);
#elif MUST_FAIL == 2
  map([](auto x) { return bitcast<bool>(cast<std::uint8_t>(x)); }, reals);
#elif MUST_FAIL == 3
  map([](auto x) { return narrow<float>(cast<double>(x)); }, reals);
#elif MUST_FAIL == 4
  map([](auto x) { return narrow<std::uint8_t>(x > 1); }, reals);
#elif MUST_FAIL == 5
  map([](auto x) { return narrow<bool>(x); }, reals);
#else
  map(
      [](auto x) {
        return pack(bitcast<std::int32_t>(x), narrow<std::uint8_t>(x), cast<float>(cast<double>(x)));
      },
      reals);
#endif
}
