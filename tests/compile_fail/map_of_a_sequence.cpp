// expect: anabranch: this works on one array
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#ifdef MUST_FAIL
  map([](auto x) { return x; }, rows(use(Matrix<double>(Index{2, 2}))));
#else
  map_seq([](auto r) { return r; }, rows(use(Matrix<double>(Index{2, 2}))));
#endif
}
