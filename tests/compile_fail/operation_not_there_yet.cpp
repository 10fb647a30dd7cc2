// expect: anabranch: expm1 is not in the language yet
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  expm1(v[0]);
#else
  sum(v);
#endif
}
