// expect: anabranch: std::exp takes numbers, which an Exp is not yet, write exp.x. without std::
// expect: anabranch: std::abs takes numbers, which an Exp is not yet
// expect: anabranch: std::real takes numbers, which an Exp is not yet
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Exp<std::complex<float>> z) {
#if MUST_FAIL == 1
  auto bad = std::exp(z);
#elif MUST_FAIL == 2
  auto bad = std::abs(z);
#elif MUST_FAIL == 3
  auto bad = std::real(z);
#else
  auto good = exp(z) * abs(z) + real(z) * arg(z);
#endif
}
