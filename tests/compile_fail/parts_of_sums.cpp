// expect: anabranch: an operator works on numbers, take an optional or a variant apart with match
// expect: anabranch: an operator works on numbers, take an optional or a variant apart with match
// expect: anabranch: an operator works on numbers, take an optional or a variant apart with match
// expect: anabranch: what is compared is of one type, write some.x. beside an optional
// expect: anabranch: an operator works on numbers, take an optional or a variant apart with match
// expect: anabranch: the value of the optional and the other one have different element types
// expect: anabranch: value_or takes an Exp of a std::optional
// expect: anabranch: the condition of optional_if is an Exp<bool>
// expect: anabranch: make_variant<V>.x. takes a value whose type is that of one alternative
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  using V = std::variant<int32_t, float>;
  auto maybe = use(Vector<std::optional<int32_t>>(3));
  map(
      [](auto o) {
        auto x = value_or(o, 0);
#if MUST_FAIL == 1
        auto bad = o + 1;
#elif MUST_FAIL == 2
        auto bad = o * x;
#elif MUST_FAIL == 3
        auto bad = -o;
#elif MUST_FAIL == 4
        auto bad = o == 3;
#elif MUST_FAIL == 5
        auto bad = pack(x, x) + pack(x, x);
#elif MUST_FAIL == 6
        auto bad = value_or(o, Exp<float>(1.0F));
#elif MUST_FAIL == 7
        auto bad = value_or(x, 1);
#elif MUST_FAIL == 8
        auto bad = optional_if(x, 1.5);
#elif MUST_FAIL == 9
        auto bad = make_variant<V>(2.5);
#else
        auto good = pack(o == std::optional<int32_t>(3), o < some(x), optional_if(x > 0, 1.5));
        auto variant = make_variant<V>(2.5F);
#endif
        return x;
      },
      maybe);
}
