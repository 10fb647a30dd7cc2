// expect: anabranch: the operands have different element types
// expect: anabranch: the operands have different element types
// expect: anabranch: the operands have different element types
// expect: anabranch: the function given to compile takes one Acc
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto m = use(Matrix<double>(Index{2, 2}));
#if MUST_FAIL == 1
  map_seq([](auto row) { return map([](auto x) { return x + cast<float>(x); }, row); }, rows(m));
#elif MUST_FAIL == 2
  produce(3, [](auto i) { return unit(i + cast<double>(i)); });
#elif MUST_FAIL == 3
  compile<Vector<double>>([](auto a) { return map([](auto x) { return x + cast<float>(x); }, a); });
#elif MUST_FAIL == 4
  compile<Vector<double>>([](auto a, auto b) { return zip_with(plus, a, b); });
#else
  map_seq([](auto row) { return map([](auto x) { return x + 1; }, row); }, rows(m));
  produce(3, [](auto i) { return unit(cast<double>(i) + 0.5); });
  compile<Vector<double>>([](auto a) { return map([](auto x) { return x + 0.5; }, a); });
#endif
}
