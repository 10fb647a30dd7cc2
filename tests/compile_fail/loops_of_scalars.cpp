// expect: anabranch: the function of iterate returns what it takes
// expect: anabranch: the function of iterate takes the value
// expect: anabranch: a position or length is an integer
// expect: anabranch: the index of sfoldl has a dimension less than the array
// expect: anabranch: the function of sfoldl returns the type of its first operand
// expect: anabranch: the function of sfoldl takes what it made so far
// expect: anabranch: the shapes and indices have different ranks
// expect: anabranch: the shapes and indices have different ranks
// expect: anabranch: sfoldl takes an Index that names a row, as index_of.i. makes one
// expect: anabranch: sfoldl takes an Index that names a row, as index_of.i. makes one
// expect: anabranch: to_linear, from_linear and intersect take shapes and indices
// expect: anabranch: to_linear, from_linear and intersect take shapes and indices
// expect: anabranch: to_linear, from_linear and intersect take shapes and indices
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto reals = use(Vector<double>{1.0, 2.0});
  auto table = use(Matrix<double>(Index{2, 2}));
#if MUST_FAIL == 1
  map([](auto x) { return iterate(3, [](auto y) { return cast<float>(y); }, x); }, reals);
#elif MUST_FAIL == 2
  map([](auto x) { return iterate(3, [](auto y, auto z) { return y + z; }, x); }, reals);
#elif MUST_FAIL == 3
  map([](auto x) { return iterate(x, [](auto y) { return y * 2; }, x); }, reals);
#elif MUST_FAIL == 4
  generate(2, [=](auto i) { return sfoldl(plus, 0.0, index_of(i, 0), table); });
#elif MUST_FAIL == 5
  generate(2, [=](auto i) {
    return sfoldl([](auto s, auto x) { return cast<double>(s) + x; }, 0, index_of(i), table);
  });
#elif MUST_FAIL == 6
  generate(2, [=](auto i) { return sfoldl([](auto x) { return x; }, 0.0, index_of(i), table); });
#elif MUST_FAIL == 7
  generate(2, [=](auto i) { return to_linear(shape(table), index_of(i)); });
#elif MUST_FAIL == 8
  generate(2, [=](auto i) { return get<0>(intersect(shape(table), index_of(i))); });
#elif MUST_FAIL == 9
  generate(2, [=](auto i) { return sfoldl(plus, 0.0, i, table); });
#elif MUST_FAIL == 10
  generate(2, [=](auto) { return sfoldl(plus, 0.0, 1, table); });
#elif MUST_FAIL == 11
  generate(2, [=](auto i) { return get<0>(intersect(shape(table), i)); });
#elif MUST_FAIL == 12
  generate(2, [=](auto i) { return to_linear(shape(table), i); });
#elif MUST_FAIL == 13
  generate(2, [=](auto i) { return from_linear(table, i); });
#else
  map([](auto x) { return iterate(3, [](auto y) { return y * 2; }, x); }, reals);
  generate(2, [=](auto i) { return sfoldl(plus, 0.0, index_of(i), table); });
  generate(2, [=](auto i) { return to_linear(shape(table), from_linear(shape(table), i)); });
#endif
}
