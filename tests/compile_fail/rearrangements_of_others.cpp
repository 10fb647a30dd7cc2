// expect: anabranch: a host array becomes part of a program by use
// expect: anabranch: sort takes an array with a dimension
// expect: anabranch: argsort takes an array with a dimension
// expect: anabranch: sort_by takes a function that gives an element
// expect: anabranch: sort_with takes a comparison and an array with a dimension
// expect: anabranch: unique takes a vector
// expect: anabranch: filter takes a function that says whether an element is kept
// expect: anabranch: a host array becomes part of a program by use
// expect: anabranch: compact takes an array of bool
// expect: anabranch: expand takes two functions
// expect: anabranch: fold_by_key takes an operator, a start value
// expect: anabranch: histogram takes the number of bins and an array of integers
// expect: anabranch: scatter takes a vector of integers, the vector of defaults
// expect: anabranch: scatter_if takes a vector of integers, one of bool
// expect: anabranch: permute takes an operator, the array of defaults
// expect: anabranch: run_length_encode takes a vector
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  const Vector<double> host{1.0};
  auto v = use(Vector<double>{1.0, 2.0});
  auto places = use(Vector<std::int32_t>{1, 0});
  auto mask = map([](auto x) { return x > 1.0; }, v);
  auto matrix = use(Matrix<double>(Index{2, 2}));
#if MUST_FAIL == 1
  sort(host);
#elif MUST_FAIL == 2
  sort(rows(matrix));
#elif MUST_FAIL == 3
  argsort(sum(v));
#elif MUST_FAIL == 4
  sort_by(v, [](auto x) { return -x; });
#elif MUST_FAIL == 5
  sort_with([](auto x, auto y) { return x > y; }, sum(v));
#elif MUST_FAIL == 6
  unique(matrix);
#elif MUST_FAIL == 7
  filter(v, [](auto x) { return x > 1.0; });
#elif MUST_FAIL == 8
  filter([](auto x) { return x > 1.0; }, host);
#elif MUST_FAIL == 9
  compact(v, mask);
#elif MUST_FAIL == 10
  expand(v, [](auto x, auto) { return x; });
#elif MUST_FAIL == 11
  fold_by_key(plus, places, v);
#elif MUST_FAIL == 12
  histogram(256, v);
#elif MUST_FAIL == 13
  scatter(v, v, v);
#elif MUST_FAIL == 14
  scatter_if(places, places, v, v);
#elif MUST_FAIL == 15
  permute(plus, v, v, [](auto ix) { return ix; });
#elif MUST_FAIL == 16
  run_length_encode(sum(v));
#else
  sort(v);
  scatter_if(places, mask, v, v);
  fold_by_key(plus, 0.0, places, v);
  permute(plus, v, [](auto ix) { return ix; }, v);
#endif
}
