// expect: anabranch: this function cannot be called with the elements of these arrays
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#ifdef MUST_FAIL
  zip_with([](auto x) { return x; }, v, v);
#else
  zip_with([](auto x, auto) { return x; }, v, v);
#endif
}
