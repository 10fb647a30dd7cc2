// expect: anabranch: a sequence is not run as it is
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto s = rows(use(Matrix<double>(Index{1, 2}, {1.0, 2.0})));
#ifdef MUST_FAIL
  run(s);
#else
  run(consume(elements(s)));
#endif
}
