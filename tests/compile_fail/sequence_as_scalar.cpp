// expect: anabranch: an operator works on single values
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  auto s = rows(v);
#ifdef MUST_FAIL
  map([=](auto x) { return x + s; }, v);
#else
  map([=](auto x) { return x + consume(elements(s))[0]; }, v);
#endif
}
