// expect: anabranch: several arrays stand where one should: take the first by std::get<0>
// expect: anabranch: several arrays stand where one should
// expect: anabranch: several arrays stand where one should
// expect: anabranch: several arrays stand where one should
// expect: anabranch: several arrays stand where one should
// expect: anabranch: the function of iterate takes the arrays of the state, each as an argument
// expect: anabranch: the function of iterate returns the next state, of the types of the state
// expect: anabranch: iterate takes a number, the function, then the state
// expect: anabranch: several arrays stand where one should
// expect: anabranch: several arrays stand where one should
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Acc<Vector<double>> v) {
  const auto positive = [](auto x) { return x > 0.0; };
  const auto twice = [](auto x) { return x * 2.0; };
#if MUST_FAIL == 1
  map(twice, filter(positive, v));
#elif MUST_FAIL == 2
  sum(filter(positive, v));
#elif MUST_FAIL == 3
  zip_with(plus, v, filter(positive, v));
#elif MUST_FAIL == 4
  fold(plus, 0.0, filter(positive, v));
#elif MUST_FAIL == 5
  sort(filter(positive, v));
#elif MUST_FAIL == 6
  iterate(3, [](auto a, auto) { return a; }, v);
#elif MUST_FAIL == 7
  iterate(3, [](auto a) { return sum(a); }, v);
#elif MUST_FAIL == 8
  iterate(3, v, [&](auto a) { return map(twice, a); });
#elif MUST_FAIL == 9
  size(filter(positive, v));
#elif MUST_FAIL == 10
  shape(filter(positive, v));
#else
  const auto [kept, count] = filter(positive, v);
  map(twice, kept);
  sum(std::get<0>(filter(positive, v)));
  iterate(3, [&](auto a) { return map(twice, a); }, v);
#endif
}
