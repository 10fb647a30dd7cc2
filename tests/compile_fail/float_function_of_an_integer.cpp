// expect: anabranch: sqrt takes floats .half, float, double., convert the integer with
// expect: anabranch: tanh takes floats
// expect: anabranch: pow takes two integers or two floats
// expect: anabranch: the operands have different element types
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
#else
  map([](auto x) { return sqrt(cast<double>(x)); }, use(Vector<std::int32_t>{4}));
#endif
}
