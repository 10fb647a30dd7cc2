// expect: anabranch: this function works on numbers
// expect: anabranch: this function works on numbers
// expect: anabranch: this function works on numbers
// expect: anabranch: this function works on real numbers
// expect: anabranch: this function works on numbers
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  // Elements from std: argument-dependent lookup finds what std declares of these names, too.
  using Pair = std::tuple<float, float>;
#if MUST_FAIL == 1
  map([](auto x) { return sqrt(x); }, use(Vector<Pair>(3)));
#elif MUST_FAIL == 2
  map([](auto x) { return min(x, x); }, use(Vector<Pair>(3)));
#elif MUST_FAIL == 3
  map([](auto x) { return floor(x); }, use(Vector<std::optional<float>>(3)));
#elif MUST_FAIL == 4
  map([](auto x) { return pow(x, 2); }, use(Vector<std::complex<float>>(3)));
#elif MUST_FAIL == 5
  map([](auto x) { return popcount(x); }, use(Vector<std::tuple<int, int>>(3)));
#else
  map([](auto x) { return sqrt(get<0>(x)) + min(get<0>(x), get<1>(x)); }, use(Vector<Pair>(3)));
#endif
}
