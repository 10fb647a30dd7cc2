// expect: anabranch: the literal is out of range for the element type
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<std::uint8_t>{1, 2});
#ifdef MUST_FAIL
  map([](Exp<std::uint8_t> x) { return x + 300; }, v);
#else
  map([](Exp<std::uint8_t> x) { return x + 200; }, v);
#endif
}
