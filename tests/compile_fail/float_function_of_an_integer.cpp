// expect: anabranch: sqrt, exp, log, sin and cos take float or double
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#ifdef MUST_FAIL
  map([](auto x) { return sqrt(x); }, use(Vector<std::int32_t>{4}));
#else
  map([](auto x) { return sqrt(cast<double>(x)); }, use(Vector<std::int32_t>{4}));
#endif
}
