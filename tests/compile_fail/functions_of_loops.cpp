// expect: anabranch: the first function of awhile says whether there is another round
// expect: anabranch: the second function of awhile returns the next state
// expect: anabranch: the functions of awhile take the arrays of the state, each as an argument
// expect: anabranch: both sides of acond give the same types of arrays
// expect: anabranch: a side of acond is an Acc, a std::tuple of Accs, or a function without arguments
#include <anabranch/anabranch.h>

using namespace anabranch;

void program() {
  auto v = use(Vector<double>{1, 2, 3});
  auto same = [](auto a) { return a; };
  auto small = [](auto a) { return the(sum(a)) < 10; };
  (void)awhile(small, same, v);
  (void)acond(extent(v, 0) > 2, v, [=] { return v; });
#if MUST_FAIL == 1
  (void)awhile([](auto a) { return the(sum(a)); }, same, v);
#elif MUST_FAIL == 2
  (void)awhile(small, [](auto a) { return sum(a); }, v);
#elif MUST_FAIL == 3
  (void)awhile(small, same, std::tuple(v, v));
#elif MUST_FAIL == 4
  (void)acond(extent(v, 0) > 2, v, sum(v));
#elif MUST_FAIL == 5
  (void)acond(extent(v, 0) > 2, v, 3);
#endif
}
