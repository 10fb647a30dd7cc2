// expect: anabranch: std::get takes what has a value.*get<I>.e. without
// expect: anabranch: std::get takes what has a value.*get<I>.e. without
// expect: anabranch: get takes the number of a part, as in get<0>.e.
// expect: anabranch: std::apply does not take an Exp, take it apart
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Exp<std::tuple<int32_t, float>> t, Exp<std::pair<int32_t, float>> p) {
#if MUST_FAIL == 1
  auto bad = std::get<0>(t);
#elif MUST_FAIL == 2
  auto bad = std::get<1>(p);
#elif MUST_FAIL == 3
  auto bad = get<float>(t);
#elif MUST_FAIL == 4
  auto bad = std::apply([](auto, auto b) { return b; }, t);
#else
  auto good = get<1>(t) + p->second + get<1>(p);
  fold([](auto x, auto y) { return std::pair(x->first + y->first, y->second); }, std::pair(1, 2.0F),
       use(Vector<std::pair<int32_t, float>>(3)));
#endif
}
