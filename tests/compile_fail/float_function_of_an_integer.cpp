// expect: anabranch: sqrt takes floats .half, float, double., convert the integer with
// expect: anabranch: tanh takes floats
// expect: anabranch: pow takes two integers or two floats
// expect: anabranch: the operands have different element types
// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: fma takes three floats of one type
// expect: anabranch: fma takes three floats of one type
// expect: anabranch: this function works on single values
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#if MUST_FAIL == 1
  map([](auto x) { return sqrt(x); }, use(Vector<std::int32_t>{4}));
#elif MUST_FAIL == 2
  map([](auto x) { return tanh(x); }, use(Vector<std::int64_t>{4}));
#elif MUST_FAIL == 3
  map([](auto x) { return pow(x, 0.5); }, use(Vector<std::int32_t>{4}));
#elif MUST_FAIL == 4
  zip_with([](auto x, auto y) { return pow(x, y); }, use(Vector<double>{4}), use(Vector<float>{4}));
#elif MUST_FAIL == 5
  map([](auto x) { return fma(x, x, 0.1); }, use(Vector<float>{4}));
#elif MUST_FAIL == 6
  map([](auto x) { return fma(x, x, 2); }, use(Vector<std::int32_t>{4}));
#elif MUST_FAIL == 7
  zip_with([](auto x, auto y) { return fma(x, y, 2); }, use(Vector<double>{4}), use(Vector<float>{4}));
#elif MUST_FAIL == 8
  fma(use(Vector<double>{4}), 1.0, 2.0);
#else
  map(
      [](auto x) {
        return fma(x, 2, 0.5) + fma(0.1F, x, x) + fma(x, x, 3) + fma(x, 0.5, x) + fma(0.5, 2, x);
      },
      use(Vector<float>{4}));
  map([](auto x) { return sqrt(cast<double>(x)); }, use(Vector<std::int32_t>{4}));
#endif
}
