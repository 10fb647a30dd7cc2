// expect: anabranch: what is compared is of one type.*some.x. beside an optional, make_variant<V>.x. beside a variant
// expect: anabranch: what is compared is of one type.*some.x. beside an optional, make_variant<V>.x. beside a variant
// expect: anabranch: what is compared is of one type.*some.x. beside an optional, make_variant<V>.x. beside a variant
// expect: anabranch: what is compared is of one type.*some.x. beside an optional, make_variant<V>.x. beside a variant
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Exp<std::optional<float>> o, Exp<std::variant<int32_t, float>> v, Exp<float> x,
             Exp<std::tuple<int32_t, float>> t, Exp<std::pair<int32_t, float>> p) {
#if MUST_FAIL == 1
  auto bad = o == 1.0F;
#elif MUST_FAIL == 2
  auto bad = v == x;
#elif MUST_FAIL == 3
  auto bad = t == p;
#elif MUST_FAIL == 4
  auto bad = x < o;
#else
  using V = std::variant<int32_t, float>;
  using P = std::pair<int32_t, float>;
  auto good = o == some(x) && v < make_variant<V>(x) && p == make<P>(get<0>(t), get<1>(t));
#endif
}
