// expect: anabranch: a scalar function returns an Exp
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#ifdef MUST_FAIL
  map([=](auto) { return rows(v); }, v);
#else
  map([=](auto x) { return x; }, v);
  rows(v);
#endif
}
