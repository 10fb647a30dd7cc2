// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: this assigns to a temporary and would change nothing
// expect: anabranch: a computation is a value and cannot be changed
// expect: anabranch: a computation is a value and cannot be changed
// expect: anabranch: a computation is a value and cannot be changed
// expect: anabranch: this exchanges temporaries and would change nothing
// expect: const std::tuple
// expect: const anabranch::Index
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  Vector<std::tuple<double, int>> pairs(1);
  Vector<Index<2>> positions(1);
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
#elif MUST_FAIL == 9
  swap(v[0], v[1]);
#elif MUST_FAIL == 10
  pairs[0] = std::tuple(1.0, 2);
#elif MUST_FAIL == 11
  positions[0] = Index{1, 2};
#else
  Acc<Vector<double>> w = v;
  w = map([](auto x) { return x + 1; }, w);
  Exp<double> x = w[0];
  x = x + 1;
  auto [a, b] = pack(x, w[1]);
  a = b;
  std::swap(a, b);
  auto pair = pairs[0];
  get<0>(pair) = 1.0;
  pairs.set(0, pair);
  Index<2> position = positions[0];
  position[0] = 1;
#endif
}
