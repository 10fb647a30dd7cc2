// expect: anabranch: this function cannot be called with the elements of these arrays
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#ifdef MUST_FAIL
  map([](auto x, auto y) { return x + y; }, v);
#else
  map([](auto x) { return x + x; }, v);
#endif
}
