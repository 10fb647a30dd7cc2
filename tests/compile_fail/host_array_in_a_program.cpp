// expect: anabranch: a host array becomes part of a program by use\(array\)
// expect: anabranch: a host array becomes part of a program by use\(array\)
// expect: anabranch: a host array becomes part of a program by use\(array\)
// expect: anabranch: a host array becomes part of a program by use\(array\)
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  const Vector<double> host{1.0};
#if MUST_FAIL == 1
  map([](auto x) { return x; }, host);
#elif MUST_FAIL == 2
  v[0] * host;
#elif MUST_FAIL == 3
  sum(host);
#elif MUST_FAIL == 4
  zip_with(plus, v, host);
#else
  map([=](auto x) { return x * use(host)[0]; }, use(host));
#endif
}
