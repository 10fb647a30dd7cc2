// expect: anabranch: the arrays of zip_with are of one rank
// expect: anabranch: zip takes 2 to 9 arrays of one rank
// expect: anabranch: gather\(indices, a\) takes an array of integers first
// expect: anabranch: gather\(indices, a\) reads a vector
// expect: anabranch: sum, product, minimum and maximum take an array of numbers
// expect: anabranch: a Scalar has one element
// expect: anabranch: count takes an array of bool
// expect: anabranch: map takes a function and one array
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  auto m = use(Matrix<double>(Index{2, 2}));
  auto ix = use(Vector<int32_t>{1, 0});
#if MUST_FAIL == 1
  zip_with(plus, v, m);
#elif MUST_FAIL == 2
  zip(v, m);
#elif MUST_FAIL == 3
  gather(v, v);
#elif MUST_FAIL == 4
  gather(ix, m);
#elif MUST_FAIL == 5
  sum(zip(v, v));
#elif MUST_FAIL == 6
  sum(sum(v));
#elif MUST_FAIL == 7
  count(v);
#elif MUST_FAIL == 8
  map(plus, v, v);
#else
  zip_with(plus, replicate(v, 2, all), m);
  zip(v, v);
  gather(ix, flatten(m));
  sum(map([](auto x) { return x > 1; }, v));
  count([](auto x) { return x > 1; }, m);
#endif
}
