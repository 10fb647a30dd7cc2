// expect: anabranch: the complex numbers have different element types
// expect: anabranch: the complex numbers have different element types
// expect: anabranch: complex.re, im. takes an Exp, of plain numbers
// expect: anabranch: polar.size, angle. takes two of float or two of double
// expect: anabranch: z.real.. is real.z. of an Exp
// expect: anabranch: make_variant<V, I> takes the number of an alternative
// expect: anabranch: make_variant<V>.x. makes a std::variant
// expect: anabranch: the number of a case is known when the program is compiled
// expect: anabranch: the number of a case is an integer or an enumerator
// expect: anabranch: the function of a case takes no parameters
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Exp<float> x, Exp<double> d, Exp<std::complex<float>> z, Exp<int32_t> i) {
#if MUST_FAIL == 1
  auto bad = z * std::complex<double>(1, 2);
#elif MUST_FAIL == 2
  auto bad = std::complex<double>(1, 2) - z;
#elif MUST_FAIL == 3
  auto bad = complex(1.0F, 2.0F);
#elif MUST_FAIL == 4
  auto bad = polar(x, d);
#elif MUST_FAIL == 5
  auto bad = z.real();
#elif MUST_FAIL == 6
  auto bad = make_variant<std::variant<int32_t, float>, 2>(x);
#elif MUST_FAIL == 7
  auto bad = make_variant<float>(x);
#elif MUST_FAIL == 8
  auto bad = switch_(i, case_(0, x), x);
#elif MUST_FAIL == 9
  auto bad = switch_(i, case_<1.0>(x), x);
#elif MUST_FAIL == 10
  auto bad = switch_(i, case_<0>([](auto y) { return y; }), x);
#else
  using V = std::variant<int32_t, float>;
  auto good = z * std::complex<float>(1, 2) * complex(x, 1) * polar(x, 1) * real(z) / imag(z);
  auto sums = holds<1>(make_variant<V, 1>(2)) || holds<1>(make_variant<V>(x));
  auto chosen = switch_(i, case_<0>([=] { return x; }), case_<1>(x), 0.0F);
#endif
}
