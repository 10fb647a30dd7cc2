// expect: anabranch: argmin takes an array of numbers
// expect: anabranch: mean takes an array of numbers or bool
// expect: anabranch: any takes an array of bool
// expect: anabranch: all takes an array of bool
// expect: anabranch: a Scalar has one element, and nothing to reduce
// expect: anabranch: inner_product takes two arrays of numbers of one type
// expect: anabranch: matmul takes a matrix, and a matrix or a vector
// expect: anabranch: std::clamp takes numbers, which an Exp is not yet
#include <anabranch/anabranch.h>

#include <algorithm>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  auto w = use(Vector<float>{1.0F});
  auto pairs = zip(v, v);
#if MUST_FAIL == 1
  argmin(pairs);
#elif MUST_FAIL == 2
  mean(pairs);
#elif MUST_FAIL == 3
  any(v);
#elif MUST_FAIL == 4
  all(v);
#elif MUST_FAIL == 5
  argmax(sum(v));
#elif MUST_FAIL == 6
  inner_product(v, w);
#elif MUST_FAIL == 7
  matmul(use(Matrix<double>(Index{1, 1})), w);
#elif MUST_FAIL == 8
  map([](auto x) { return std::clamp(x, 0.0, 1.0); }, v);
#else
  argmin(v);
  mean(v);
  any(map([](auto x) { return x > 0.0; }, v));
  all(map([](auto x) { return x > 0.0; }, v));
  inner_product(v, map([](auto x) { return cast<double>(x); }, w));
  matmul(use(Matrix<double>(Index{1, 1})), v);
  map([](auto x) { return clamp(x, 0.0, 1.0); }, v);
#endif
}
