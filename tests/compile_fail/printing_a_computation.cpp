// expect: anabranch: a computation has no value while the program is being built, print what `run` gives
// expect: anabranch: a computation has no value while the program is being built, print what `run` gives
// expect: anabranch: a computation has no value while the program is being built, print what `run` gives
#include <anabranch/anabranch.h>

#include <iostream>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
#if MUST_FAIL == 1
  std::cout << sum(v);
#elif MUST_FAIL == 2
  std::cout << v[0];
#elif MUST_FAIL == 3
  std::cerr << "mean: " << the(sum(v)) / 2 << "\n";
#else
  std::cout << run(sum(v))[0];
#endif
}
