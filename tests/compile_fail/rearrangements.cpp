// expect: anabranch: the function of filter says whether an element is kept
// expect: anabranch: the first function of expand says how many elements come of one
// expect: anabranch: the third argument of permute gives a position in the array of defaults
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  filter([](auto x) { return x + 1.0; }, v);
#elif MUST_FAIL == 2
  expand([](auto x) { return x; }, [](auto x, auto) { return x; }, v);
#elif MUST_FAIL == 3
  permute(plus, fill(4, 0.0), [](auto ix) { return ix[0]; }, v);
#else
  filter([](auto x) { return x > 1.0; }, v);
#endif
}
