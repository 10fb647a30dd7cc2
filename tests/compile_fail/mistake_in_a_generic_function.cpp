// expect: anabranch: log1p is not in the language yet
// expect: anabranch: std::exp takes numbers, which an Exp is not yet
// expect: anabranch: a position or length is an integer
// expect: anabranch: << and >> shift the bits of an integer
// expect: anabranch: ~ changes the bits of an integer
// expect: anabranch: this function returns nothing
// expect: anabranch: && and .. take bool
// expect: anabranch: std::pow takes
// expect: anabranch: std::max takes numbers
// expect: anabranch: std::min takes numbers
// expect: anabranch: std::fma takes numbers
// expect: anabranch: a function is recorded once, not run for each element
// expect: anabranch: with a length the function takes a number
// expect: anabranch: with a length the function takes a number
// expect: 'halved' was not declared in this scope|use of undeclared identifier 'halved'
#include <anabranch/anabranch.h>

#include <algorithm>
#include <cmath>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  map([](auto x) { return log1p(x); }, v);
#elif MUST_FAIL == 2
  map([](auto x) { return std::exp(x); }, v);
#elif MUST_FAIL == 3
  map([=](auto x) { return v[x]; }, v);
#elif MUST_FAIL == 4
  map([](auto x) { return x << 1; }, v);
#elif MUST_FAIL == 5
  map([](auto x) { return ~x; }, v);
#elif MUST_FAIL == 6
  map([](auto x) { x + 1; }, v);
#elif MUST_FAIL == 7
  map([](auto x) { return x && x > 1; }, v);
#elif MUST_FAIL == 8
  map([](auto x) { return std::pow(x, 2.0); }, v);
#elif MUST_FAIL == 9
  map([](auto x) { return std::max(x, x + 1); }, v);
#elif MUST_FAIL == 10
  map([](auto x) { return std::min(x, 1.0); }, v);
#elif MUST_FAIL == 11
  map([](auto x) { return std::fma(x, x, 1.0); }, v);
#elif MUST_FAIL == 12
  double total = 0;
  map([&](auto x) { return total += x; }, v);
#elif MUST_FAIL == 13
  generate(5, [](Exp<Index<1>> ix) { return ix[0]; });
#elif MUST_FAIL == 14
  backpermute(5, [](Exp<Index<1>> ix) { return ix; }, v);
#elif MUST_FAIL == 15
  map([](auto x) { return x * halved; }, v);
#else
  map([=](auto x) { return exp(x) + v[1]; }, v);
  generate(Index{5}, [](Exp<Index<1>> ix) { return ix[0]; });
  backpermute(5, [](auto i) { return index_of(i); }, v);
#endif
}
