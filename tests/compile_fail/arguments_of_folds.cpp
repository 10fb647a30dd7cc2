// expect: anabranch: fold takes an operator, a start value
// expect: anabranch: fold takes an operator, a start value
// expect: anabranch: scanl1 takes an operator and an array
// expect: anabranch: scanl1 takes an operator and an array
// expect: anabranch: scanl takes an operator, a start value
// expect: anabranch: matmul takes a matrix, and a matrix or a vector
// expect: anabranch: n\(...\) in a stencil takes an offset for each dimension
// expect: anabranch: fold takes an operator, a start value
// expect: anabranch: fold takes an operator, a start value
// expect: anabranch: scanr takes an operator, a start value
// expect: anabranch: a host array becomes part of a program by use
#include <anabranch/anabranch.h>
using namespace anabranch;
int main() {
  auto v = use(Vector<double>{1.0});
  auto s = sum(v);
  auto m = use(Matrix<double>(Index{1, 1}));
#if MUST_FAIL == 1
  fold(0.0, plus, v);
#elif MUST_FAIL == 2
  fold(plus, v, 0.0);
#elif MUST_FAIL == 3
  scanl1(plus, 0.0, v);
#elif MUST_FAIL == 4
  scanl1(plus, s);
#elif MUST_FAIL == 5
  scanl(0.0, plus, v);
#elif MUST_FAIL == 6
  matmul(v, m);
#elif MUST_FAIL == 7
  stencil([](auto n) { return n(0, 1); }, clamp, v);
#elif MUST_FAIL == 8
  fold(plus, v);
#elif MUST_FAIL == 9
  fold(v, 0.0, plus);
#elif MUST_FAIL == 10
  scanr(plus, v);
#elif MUST_FAIL == 11
  fold(plus, 0.0, Vector<double>{1.0});
#else
  fold(plus, 0, v);
  fold(plus, the(s), v);
  fold1(plus, v);
  scanl(plus, 0, v);
  scanl1(plus, v, 0);
  compile(s).run();
  compile<Vector<double>>([](auto a) { return sum(a); }).run(Vector<double>{1.0});
  compile<Vector<double>>([](auto a) { return sum(a); }).run({.threads = 1}, Vector<double>{1.0});
  compile(s).run({.threads = 1});
#endif
}
