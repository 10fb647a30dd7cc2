// expect: anabranch: a floating-point literal meets an integer
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<std::int32_t>{1, 2});
#ifdef MUST_FAIL
  map([](Exp<std::int32_t> x) { return x * 0.5; }, v);
#else
  map([](Exp<std::int32_t> x) { return cast<double>(x) * 0.5; }, v);
#endif
}
