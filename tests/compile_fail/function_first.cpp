// expect: anabranch: the function comes first, as in map\(f, a\)
// expect: anabranch: the function comes first, as in map\(f, a\)
// expect: anabranch: fold takes an operator, a start value
// expect: anabranch: fold takes an operator, a start value
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  auto half = [](auto x) { return x / 2; };
#if MUST_FAIL == 1
  map(v, half);
#elif MUST_FAIL == 2
  zip_with(v, v, plus);
#elif MUST_FAIL == 3
  fold(v, 0.0, plus);
#elif MUST_FAIL == 4
  fold(plus, v);
#else
  map(half, v);
  zip_with(plus, v, v);
  fold(plus, 0.0, v);
  fold1(plus, v);
#endif
}
