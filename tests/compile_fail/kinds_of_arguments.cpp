// expect: anabranch: the\(s\) takes a Scalar array, which has one element
// expect: anabranch: the\(s\) takes a Scalar array. an Exp is a value
// expect: anabranch: unit\(e\) makes an array
// expect: anabranch: extent\(a, d\) takes the number
// expect: anabranch: the permutation stands in braces
// expect: anabranch: the shape comes first
// expect: anabranch: slice takes an argument for each dimension
// expect: anabranch: replicate takes an argument for each dimension
// expect: anabranch: a host array has its elements already
// expect: anabranch: run takes arrays
// expect: anabranch: slice takes an argument for each dimension
#include <anabranch/anabranch.h>
using namespace anabranch;
int main() {
  auto v = use(Vector<double>{1.0});
  auto s = sum(v);
  auto m = use(Matrix<double>(Index{1, 1}));
  Vector<double> h{1.0};
#if MUST_FAIL == 1
  the(v);
#elif MUST_FAIL == 2
  map([](auto x) { return the(x); }, v);
#elif MUST_FAIL == 3
  unit(v);
#elif MUST_FAIL == 4
  extent(v);
#elif MUST_FAIL == 5
  transpose(m, 1, 0);
#elif MUST_FAIL == 6
  reshape(v, Index{1, 1});
#elif MUST_FAIL == 7
  slice(m, 0);
#elif MUST_FAIL == 8
  replicate(v, 3);
#elif MUST_FAIL == 9
  run(h);
#elif MUST_FAIL == 10
  run(the(s));
#elif MUST_FAIL == 11
  slice(m, all, all, 0);
#else
  the(s);
  map([](auto x) { return x; }, v);
  unit(1.0);
  extent(v, 0);
  transpose(m, {1, 0});
  reshape(Index{1, 1}, v);
  slice(m, 0, all);
  replicate(v, 3, all);
  run(use(h));
  run(unit(the(s)));
  slice(m, all, 0);
  run(v, {.threads = 1});
#endif
}
