// expect: anabranch: complex numbers have no order
// expect: anabranch: the operands have different element types
// expect: anabranch: the operands have different element types
// expect: anabranch: this function works on real numbers, of complex ones there are
// expect: anabranch: the element type does not hold this literal exactly
// expect: anabranch: the operands have different element types|anabranch: complex.re, im. takes two of float
// expect: anabranch: complex.re, im. takes two of float or two of double
// expect: anabranch: real takes a complex number, of a real one
// expect: anabranch: imag takes a complex number, of a real one
// expect: anabranch: a real number is no complex one by itself, write complex.x, 0.
// expect: anabranch: a real number is no complex one by itself, write complex.x, 0.
// expect: anabranch: a complex number and a real one do not compare, compare with complex.x, 0.
// expect: anabranch: a complex number and a real one do not compare, compare with complex.x, 0.
// expect: anabranch: a complex number and a real one do not compare, compare with complex.x, 0.
// expect: anabranch: arg takes a complex number, of a real one
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  using Z = std::complex<float>;
  map(
      [](auto z) {
        auto wide = cast<double>(real(z));
#if MUST_FAIL == 1
        return cond(z < conj(z), z, -z);
#elif MUST_FAIL == 2
        return z * wide;
#elif MUST_FAIL == 3
        return z + complex(wide, wide);
#elif MUST_FAIL == 4
        return tan(z);
#elif MUST_FAIL == 5
        return z * 0.1;
#elif MUST_FAIL == 6
        return complex(real(z), wide);
#elif MUST_FAIL == 7
        return complex(cast<std::int32_t>(wide), 1);
#elif MUST_FAIL == 8
        return real(wide);
#elif MUST_FAIL == 9
        return imag(real(z));
#elif MUST_FAIL == 10
        Exp<Z> bad = 1.0F;
        return bad;
#elif MUST_FAIL == 11
        Exp<Z> bad = real(z);
        return bad;
#elif MUST_FAIL == 12
        return z == 1.0F;
#elif MUST_FAIL == 13
        return z != real(z);
#elif MUST_FAIL == 14
        return 0 < z;
#elif MUST_FAIL == 15
        return arg(wide);
#else
        return cond(z == conj(z) || Z(1) != z || z == complex(real(z), 0), z * real(z) + Z(0, 1),
                    0.5 / sqrt(z));
#endif
      },
      use(Vector<Z>(3)));
}
