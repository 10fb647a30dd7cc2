// expect: anabranch: the function of produce takes an Exp<int64_t>
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#ifdef MUST_FAIL
  produce(3, [](Acc<Scalar<double>> i) { return i; });
#else
  produce(3, [](Exp<std::int64_t> i) { return unit(i); });
#endif
}
