// expect: anabranch: switch_ takes cases, as in case_<1>.x., and at the end what holds in all others
// expect: anabranch: two cases of switch_ have the same number
// expect: anabranch: the number of a case is out of range
// expect: anabranch: the sides of switch_ give elements of one type
// expect: anabranch: switch_ looks at an integer
// expect: anabranch: switch_ takes cases, as in case_<1>.x., and at the end what holds in all others
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  map(
      [](auto kind) {
        Exp<float> x = cast<float>(kind);
#if MUST_FAIL == 1
        return switch_(kind, case_<0>(x), case_<1>(-x));
#elif MUST_FAIL == 2
        return switch_(kind, case_<0>(x), case_<1>(-x), case_<0>(1.0F), x);
#elif MUST_FAIL == 3
        return switch_(kind, case_<256>(x), -x);
#elif MUST_FAIL == 4
        return switch_(kind, case_<0>(x), kind);
#elif MUST_FAIL == 5
        return switch_(kind > 3, case_<1>(x), -x);
#elif MUST_FAIL == 6
        return switch_(kind, x, -x);
#else
        return switch_(kind, case_<0>(x), case_<255>([=] { return -x; }), 1.0F);
#endif
      },
      use(Vector<uint8_t>{1, 2}));
}
