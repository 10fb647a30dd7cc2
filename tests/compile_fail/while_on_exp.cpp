// expect: anabranch: an Exp has no value while the program is being built
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  map(
      [](auto x) {
#ifdef MUST_FAIL
        while (x > 1) x = x / 2;
        return x;
#else
        return while_loop([](auto y) { return y > 1; }, [](auto y) { return y / 2; }, x);
#endif
      },
      use(Vector<double>{1.0, -2.0}));
}
