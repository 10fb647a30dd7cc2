// expect: anabranch: a value that only the run knows.*cast the value, as in float.a.
// expect: anabranch: a value that only the run knows.*cast the value, as in float.a.
// expect: anabranch: a value that only the run knows.*cast the value, as in float.a.
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(double factor, int count) {
#if MUST_FAIL == 1
  map([=](auto x) { return x * factor; }, use(Vector<float>{1.0F}));
#elif MUST_FAIL == 2
  map([&](Exp<float> x) { return factor * x; }, use(Vector<float>{1.0F}));
#elif MUST_FAIL == 3
  map([=](auto x) { return x + count; }, use(Vector<uint8_t>{1}));
#else
  auto scale = [=](auto x) { return x * static_cast<float>(factor) * 0.5 + 2; };
  map(scale, use(Vector<float>{1.0F}));
  auto shift = [=](auto x) { return x + static_cast<uint8_t>(count) + 200; };
  map(shift, use(Vector<uint8_t>{1}));
#endif
}
