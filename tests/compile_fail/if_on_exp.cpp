// expect: anabranch: an Exp has no value while the program is being built
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  map(
      [](auto x) {
#ifdef MUST_FAIL
        if (x < 0) return -x;
        return x;
#else
        return cond(x < 0, -x, x);
#endif
      },
      use(Vector<double>{1.0, -2.0}));
}
