// expect: anabranch: the function of iterate returns the next value
// expect: anabranch: the number of rounds comes first, as in iterate.3, f, x.
// expect: anabranch: max takes two, write max.x, max.y, z.. of three
// expect: anabranch: hypot takes two
// expect: anabranch: a computation has no elements while the program is being built
// expect: anabranch: a computation has no elements while the program is being built
// expect: anabranch: the function of sfoldl takes what it made so far, of the type of z
// expect: anabranch: this function cannot be called with the elements
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Exp<float> x, Exp<std::tuple<int32_t, float>> t, Acc<Vector<double>> v,
             Acc<Vector<float>> floats) {
#if MUST_FAIL == 1
  auto bad = iterate(3, [](auto) {}, x);
#elif MUST_FAIL == 2
  auto bad = iterate([](auto y) { return y; }, 3, x);
#elif MUST_FAIL == 3
  auto bad = max(x, x, x);
#elif MUST_FAIL == 4
  auto bad = hypot(x, x, x);
#elif MUST_FAIL == 5
  for (auto part : t) {
  }
#elif MUST_FAIL == 6
  for (auto element : v) {
  }
#elif MUST_FAIL == 7
  auto bad = sfoldl(plus, 0.0, Index{}, floats);
#elif MUST_FAIL == 8
  map([](Exp<float> y) { return y; }, v);
#else
  auto good = iterate(
                  3, [](auto y) { return y * 2; }, x) +
              max(x, max(x, 1)) + hypot(x, hypot(x, x)) + sfoldl(plus, 0.0F, Index{}, floats);
  map([](auto y) { return sqrt(y); }, v);
  map([](const Exp<double>& y) { return sin(y); }, v);
  auto [a, b] = t;
#endif
}
