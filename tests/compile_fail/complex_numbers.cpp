// expect: anabranch: complex numbers have no order
// expect: anabranch: the operands have different element types
// expect: anabranch: the operands have different element types
// expect: anabranch: this function works on real numbers; of complex ones there are
// expect: anabranch: the element type does not hold this literal exactly
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
#else
        return cond(z == conj(z), z * real(z) + Z(0, 1), 0.5 / sqrt(z));
#endif
      },
      use(Vector<Z>(3)));
}
