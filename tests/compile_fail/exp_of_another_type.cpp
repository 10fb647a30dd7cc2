// expect: anabranch: an Exp of another element type, convert it with cast<T>.x.
// expect: anabranch: an Exp is one element, which are bool.*ANABRANCH_AGGREGATE
// expect: anabranch: an Exp is one element, which are bool.*ANABRANCH_AGGREGATE
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Exp<double> d, Exp<int64_t> l) {
#if MUST_FAIL == 1
  Exp<float> r(d);
#elif MUST_FAIL == 2
  struct Unnamed {
    int a;
  };
  std::optional<Exp<Unnamed>> bad;
#elif MUST_FAIL == 3
  auto bad = [](Exp<std::vector<int>> v) { return v; };
  bad({{}, {}});
#else
  Exp<float> r = cast<float>(d);
  Exp<int32_t> i = cast<int32_t>(l);
  Exp<float> two(2);
#endif
}
