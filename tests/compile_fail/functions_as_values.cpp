// expect: anabranch: cond takes values.*no functions are needed
// expect: anabranch: cond takes values.*no functions are needed
// expect: anabranch: the two sides of cond have different types, write them in one, as in 1.0 and 2.0
// expect: anabranch: optional_if takes a value.*no function is needed
// expect: anabranch: the condition of optional_if is an Exp<bool>
// expect: anabranch: value_or takes a value.*match takes functions
// expect: anabranch: none has to know its type, as in none<float>
// expect: anabranch: some takes one element
// expect: anabranch: an Exp has no value.*some.x. makes an optional of it
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Exp<bool> b, Exp<int32_t> i, Exp<double> d, Exp<std::optional<double>> o) {
#if MUST_FAIL == 1
  auto bad = cond(b, [=] { return d; }, [=] { return 1 / d; });
#elif MUST_FAIL == 2
  auto bad = cond(b, d, [=] { return 1 / d; });
#elif MUST_FAIL == 3
  auto bad = cond(b, 1, 2.0);
#elif MUST_FAIL == 4
  auto bad = optional_if(b, [=] { return d; });
#elif MUST_FAIL == 5
  auto bad = optional_if(3, d);
#elif MUST_FAIL == 6
  auto bad = value_or(o, [] { return 1.0; });
#elif MUST_FAIL == 7
  auto bad = none();
#elif MUST_FAIL == 8
  auto bad = some(std::vector<int>{});
#elif MUST_FAIL == 9
  std::optional<double> bad(d);
#else
  auto good = cond(b, d, 1) + cond(b, 1.0, 2.0) + value_or(o, 0) + value_or(optional_if(i > 0, d), d);
#endif
}
