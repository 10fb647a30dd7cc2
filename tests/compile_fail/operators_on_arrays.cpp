// expect: anabranch: an operator works on single values
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#ifdef MUST_FAIL
  v * 2.0;
#else
  map([](auto x) { return x * 2.0; }, v);
#endif
}
