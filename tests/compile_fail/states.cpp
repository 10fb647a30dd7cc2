// expect: anabranch: the function of scan_state takes the state, of the type of s0, and an element
// expect: anabranch: the function of scan_state returns the next state, of the type of s0
// expect: anabranch: scan_state takes a function, the first state and an array of rank 1 or more
// expect: anabranch: scan_state takes a function, the first state and an array of rank 1 or more
// expect: anabranch: a host array becomes part of a program by use
// expect: anabranch: compute takes one array
// expect: anabranch: a host array becomes part of a program by use
// expect: anabranch: trace takes a text and one array
// expect: anabranch: trace takes a text and one array
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  const Vector<double> host{1.0};
#if MUST_FAIL == 1
  scan_state(plus, std::int64_t{0}, v);
#elif MUST_FAIL == 2
  scan_state([](auto s, auto x) { return x + cast<double>(s); }, std::int64_t{0}, v);
#elif MUST_FAIL == 3
  scan_state(plus, 0.0, sum(v));
#elif MUST_FAIL == 4
  scan_state(plus, v);
#elif MUST_FAIL == 5
  scan_state(plus, 0.0, host);
#elif MUST_FAIL == 6
  compute(rows(use(Matrix<double>(Index{2, 2}))));
#elif MUST_FAIL == 7
  compute(host);
#elif MUST_FAIL == 8
  trace(v, "v");
#elif MUST_FAIL == 9
  trace(v);
#else
  trace("v", compute(scan_state(plus, 0.0, v)));
#endif
}
