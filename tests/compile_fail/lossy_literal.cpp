// expect: anabranch: the element type does not hold this literal exactly
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<float>{1.0F, 2.0F});
#ifdef MUST_FAIL
  map([](Exp<float> x) { return x * 0.1; }, v);
#else
  map([](Exp<float> x) { return x * 0.1F + x * 0.5; }, v);
#endif
}
