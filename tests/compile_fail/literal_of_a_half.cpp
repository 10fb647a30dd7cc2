// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: a value that only the run knows, of a type that may lose something
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<half>{half(1), half(2)});
  float known_at_run_time = 0.5F;
#if MUST_FAIL == 1
  map([](Exp<half> x) { return x * 0.1F; }, v);
#elif MUST_FAIL == 2
  map([](Exp<half> x) { return x + 2049; }, v);
#elif MUST_FAIL == 3
  map([](Exp<half> x) { return x + 100000; }, v);
#elif MUST_FAIL == 4
  map([=](Exp<half> x) { return x * known_at_run_time; }, v);
#else
  map([=](Exp<half> x) { return x * 0.5 + 2048 + half(known_at_run_time); }, v);
#endif
}
