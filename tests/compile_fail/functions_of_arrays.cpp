// expect: anabranch: this function works on single values
// expect: anabranch: this function works on single values
// expect: anabranch: this function works on single values
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  sqrt(v);
#elif MUST_FAIL == 2
  sqrt(sum(v));
#elif MUST_FAIL == 3
  max(v, 1.0);
#else
  map([](auto x) { return sqrt(x); }, v);
  sqrt(the(sum(v)));
  max(v[0], 1);
#endif
}
