// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: of plain numbers only.*as in Exp<int32_t>.3., or compute it
// expect: anabranch: std::gcd takes numbers, which an Exp is not yet
// expect: anabranch: std::popcount takes numbers, which an Exp is not yet
#include <anabranch/anabranch.h>

#include <numeric>

using namespace anabranch;

void program(Exp<int32_t> i) {
#if MUST_FAIL == 1
  auto bad = clz(3);
#elif MUST_FAIL == 2
  auto bad = popcount(7u);
#elif MUST_FAIL == 3
  auto bad = cast<float>(3);
#elif MUST_FAIL == 4
  auto bad = narrow<uint8_t>(300);
#elif MUST_FAIL == 5
  auto bad = gcd(12, 18);
#elif MUST_FAIL == 6
  auto bad = max(1, 2);
#elif MUST_FAIL == 7
  auto bad = is_nan(0.5);
#elif MUST_FAIL == 8
  auto bad = divmod(7, 2);
#elif MUST_FAIL == 9
  auto bad = std::gcd(i, i);
#elif MUST_FAIL == 10
  auto bad = std::popcount(i);
#else
  auto bits = popcount(i) + clz(Exp<int32_t>(3)) + max(i, 2) + gcd(12, i);
  int plain = std::max(1, 2) + std::gcd(4, 6);
#endif
}
