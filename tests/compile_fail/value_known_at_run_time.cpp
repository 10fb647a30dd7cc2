// expect: anabranch: a value that only the run knows.*cast the value, as in float.a.
// expect: anabranch: a value that only the run knows.*cast the value, as in float.a.
// expect: anabranch: a value that only the run knows.*cast the value, as in float.a.
// expect: 'values' is not a constant expression|anabranch: a value that only the run knows
// expect: 'values' is not a constant expression|anabranch: a value that only the run knows
// expect: call to non-'constexpr' function 'double measured..'|anabranch: a value that only the run knows
// expect: 'this' is not a constant expression|anabranch: a value that only the run knows
// expect: anabranch: a value that only the run knows.*cast the value, as in float.a.
#include <anabranch/anabranch.h>

using namespace anabranch;

double measured();

struct Scaling {
  double by = 2;
  Exp<float> operator()(Exp<float> x) const {
#if MUST_FAIL == 7
    return x * by;
#else
    return x * static_cast<float>(by);
#endif
  }
};

// g++ says of 4 to 7 only that the operand is no constant (docs/language.md, "Scalar expressions").
void program(double factor, int count, const double* values) {
#if MUST_FAIL == 1
  map([=](auto x) { return x * factor; }, use(Vector<float>{1.0F}));
#elif MUST_FAIL == 2
  map([&](Exp<float> x) { return factor * x; }, use(Vector<float>{1.0F}));
#elif MUST_FAIL == 3
  map([=](auto x) { return x + count; }, use(Vector<uint8_t>{1}));
#elif MUST_FAIL == 4
  map([=](Exp<float> x) { return x * values[0]; }, use(Vector<float>{1.0F}));
#elif MUST_FAIL == 5
  map([=](Exp<float> x) { return x < *values; }, use(Vector<float>{1.0F}));
#elif MUST_FAIL == 6
  map([](Exp<float> x) { return x * measured(); }, use(Vector<float>{1.0F}));
#elif MUST_FAIL == 8
  Exp<float> x(factor);
#else
  auto scale = [=](auto x) { return x * static_cast<float>(factor) * 0.5 + 2; };
  map(scale, use(Vector<float>{1.0F}));
  auto shift = [=](auto x) { return x + static_cast<uint8_t>(count) + 200; };
  map(shift, use(Vector<uint8_t>{1}));
  constexpr double half = 0.5;
  const int two = 2;
  map([=](auto x) { return x * half + float(values[0]) * two; }, use(Vector<float>{1.0F}));
  map(Scaling{}, use(Vector<float>{1.0F}));
#endif
}
