// expect: anabranch: the two sides of cond have different element types
// expect: anabranch: the condition of cond is an Exp<bool>
// expect: anabranch: cond chooses between single values
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  cond(v[0] > 1, v[1], cast<float>(v[0]));
#elif MUST_FAIL == 2
  cond(v[0], v[1], v[0]);
#elif MUST_FAIL == 3
  cond(v[0] > 1, v, v);
#else
  cond(v[0] > 1, v[1], 0.0);
  cond(true, v[1], v[0]);
#endif
}
