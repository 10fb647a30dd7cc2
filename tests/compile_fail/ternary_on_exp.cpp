// expect: anabranch: an Exp has no value while the program is being built
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#ifdef MUST_FAIL
  map([](auto x) { return x == 0 ? x : 1 / x; }, use(Vector<double>{1.0, -2.0}));
#else
  map([](auto x) { return cond(x == 0, x, 1 / x); }, use(Vector<double>{1.0, -2.0}));
#endif
}
