// expect: anabranch: match of an optional takes two functions
// expect: anabranch: the first function of match takes the value of the optional
// expect: anabranch: the sides of match give elements of one type
// expect: anabranch: match of a variant takes one function for each alternative
// expect: anabranch: function i of match takes alternative i of the variant
// expect: anabranch: the sides of match give elements of one type
// expect: anabranch: match takes apart an Exp of a std::optional or a std::variant
// expect: anabranch: the sides of match give elements of one type
// expect: anabranch: the sides of match give elements of one type.*as in 0.0F
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  using Either = std::variant<int32_t, std::tuple<float, bool>>;
  auto values = use(Vector<std::tuple<std::optional<float>, Either>>(3));
  map(
      [](auto e) {
        auto [o, v] = e;
        auto number = [](Exp<int32_t> x) { return cast<float>(x); };
        auto first = [](Exp<std::tuple<float, bool>> t) { return get<0>(t); };
        auto same = [](auto x) { return x; };
#if MUST_FAIL == 1
        return match(o, same);
#elif MUST_FAIL == 2
        return match(o, [] { return 0.0F; }, same);
#elif MUST_FAIL == 3
        return match(o, same, [] { return Exp<double>(0.0); });
#elif MUST_FAIL == 4
        return match(v, number);
#elif MUST_FAIL == 5
        return match(v, first, number);
#elif MUST_FAIL == 6
        return match(v, same, same);
#elif MUST_FAIL == 7
        return match(get<0>(pack(1.0F, o)), same, [] { return 0.0F; });
#elif MUST_FAIL == 8
        return match(o, same, [] {});
#elif MUST_FAIL == 9
        return match(o, same, [] { return 0; });
#else
        return match(o, same, [] { return 0.0F; }) + match(v, number, first);
#endif
      },
      values);
}
