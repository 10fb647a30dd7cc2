// expect: anabranch: this function cannot be called with the elements of these arrays
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<std::int32_t>{1, 2});
#ifdef MUST_FAIL
  fold([](Exp<double> x, Exp<double> y) { return x + y; }, 0, v);
#else
  fold([](Exp<std::int32_t> x, Exp<std::int32_t> y) { return x + y; }, 0, v);
#endif
}
