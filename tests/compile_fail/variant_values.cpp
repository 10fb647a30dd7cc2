// expect: anabranch: holds<T> takes the type of one alternative
// expect: anabranch: holds<T> takes the type of one alternative
// expect: anabranch: holds<I> takes the number of an alternative
// expect: anabranch: holds takes an Exp of a std::variant
// expect: anabranch: holds takes an Exp of a std::variant
// expect: anabranch: what a variant holds is not known .* with match
// expect: anabranch: what a variant holds is not known .* with match
// expect: anabranch: what a variant holds is not known .* with match
// expect: anabranch: std::visit takes what is there .* with match
// expect: anabranch: std::visit takes what is there .* with match
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  using V = std::variant<int32_t, float, int32_t>;
  zip_with(
      [](auto v, auto x) {
        auto same = [](auto y) { return cast<double>(y); };
#if MUST_FAIL == 1
        auto bad = holds<double>(v);
#elif MUST_FAIL == 2
        auto bad = holds<int32_t>(v);
#elif MUST_FAIL == 3
        auto bad = holds<3>(v);
#elif MUST_FAIL == 4
        auto bad = holds<1>(x);
#elif MUST_FAIL == 5
        auto bad = holds<float>(x);
#elif MUST_FAIL == 6
        auto bad = get<1>(v);
#elif MUST_FAIL == 7
        auto bad = get<float>(v);
#elif MUST_FAIL == 8
        auto bad = std::get<float>(v);
#elif MUST_FAIL == 9
        auto bad = std::visit(same, v);
#elif MUST_FAIL == 10
        auto bad = visit(same, v);
#else
        auto good = holds<float>(v) && holds<2>(v);
        using Perhaps = std::variant<std::monostate, double>;
        match(
            cond(good, make_variant<Perhaps>(std::monostate{}), make_variant<Perhaps>(x)),
            [](auto) { return 0.0; }, same);
#endif
        return cond(holds<0>(v), match(v, same, same, same), x);
      },
      use(Vector<V>(3)), use(Vector<double>(3)));
}
