// expect: anabranch: the operator of a fold returns the type of its two operands
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<std::int32_t>{1, 2});
#ifdef MUST_FAIL
  fold([](auto x, auto y) { return x < y; }, 0, v);
#else
  fold([](auto x, auto y) { return cond(x < y, x, y); }, 0, v);
#endif
}
