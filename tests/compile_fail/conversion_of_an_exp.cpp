// expect: anabranch: an Exp has no value while the program is being built.*cast<float>
// expect: anabranch: an Exp has no value while the program is being built.*cast<float>
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  map([](auto x) { return float(x); }, v);
#elif MUST_FAIL == 2
  map([](auto x) { return static_cast<int32_t>(x); }, v);
#else
  map([](auto x) { return cast<float>(x); }, v);
#endif
}
