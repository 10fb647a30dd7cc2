// expect: anabranch: std::nullopt is no element, write none<T>
// expect: anabranch: std::nullopt is no element, write none<T>
// expect: anabranch: std::nullopt is no element, write none<T>
// expect: anabranch: a value is no optional by itself, write some.x.
// expect: anabranch: an optional has no value while the program is being built, take it apart with match
// expect: anabranch: an optional has no value while the program is being built, take it apart with match
// expect: anabranch: an optional has no value while the program is being built, take it apart with match
// expect: anabranch: an optional has no value while the program is being built, take it apart with match
// expect: anabranch: o.has_value.. is has_value.o. of an Exp
// expect: anabranch: has_value takes an Exp of a std::optional
// expect: anabranch: std::nullopt is no element, write none<T>
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  using Maybe = std::optional<std::pair<float, float>>;
  map(
      [](auto o) {
        Exp<float> x = match(o, [](auto p) { return get<0>(p); }, [] { return 0.0F; });
#if MUST_FAIL == 1
        Exp<std::optional<float>> bad = std::nullopt;
#elif MUST_FAIL == 2
        auto bad = cond(x > 0, some(x), std::nullopt);
#elif MUST_FAIL == 3
        auto bad = o == std::nullopt;
#elif MUST_FAIL == 4
        Exp<std::optional<float>> bad = x;
#elif MUST_FAIL == 5
        auto bad = *o;
#elif MUST_FAIL == 6
        auto bad = o->first;
#elif MUST_FAIL == 7
        auto bad = o.value();
#elif MUST_FAIL == 8
        auto bad = some(x).value_or(1.0F);
#elif MUST_FAIL == 9
        auto bad = o.has_value();
#elif MUST_FAIL == 10
        auto bad = has_value(x);
#elif MUST_FAIL == 11
        auto bad = match(o, [](auto p) { return some(get<0>(p)); }, [] { return std::nullopt; });
#else
        Exp<std::optional<float>> good = std::optional<float>(1.0F);
        good = cond(has_value(o), none<float>(), some(x));
        x = cond(good == some(x) && good < std::optional<float>() && good != good, x, value_or(good, 1));
#endif
        return x;
      },
      use(Vector<Maybe>(3)));
}
