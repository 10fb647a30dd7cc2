// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: a computation is a value and cannot be changed
// expect: anabranch: a computation is a value and cannot be changed
// expect: anabranch: a computation is a value and cannot be changed
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  v[0] = 100.0;
#elif MUST_FAIL == 2
  v.linear(0) = v[1];
#elif MUST_FAIL == 3
  the(sum(v)) = 1.0;
#elif MUST_FAIL == 4
  get<0>(pack(v[0], v[1])) = 2.0;
#elif MUST_FAIL == 5
  slice(v, all) = v;
#elif MUST_FAIL == 6
  v[0] += 1.0;
#elif MUST_FAIL == 7
  ++v[0];
#elif MUST_FAIL == 8
  Exp<double> x = v[0];
  x += 1.0;
#else
  Acc<Vector<double>> w = v;
  w = map([](auto x) { return x + 1; }, w);
  Exp<double> x = w[0];
  x = x + 1;
  auto [a, b] = pack(x, w[1]);
  a = b;
#endif
}
