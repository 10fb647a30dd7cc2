// expect: anabranch: a scalar function returns an Exp
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#ifdef MUST_FAIL
  map([=](auto) { return sum(v); }, v);
#else
  map([=](auto) { return the(sum(v)); }, v);
#endif
}
