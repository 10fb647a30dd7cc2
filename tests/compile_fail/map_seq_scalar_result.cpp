// expect: anabranch: the function of map_seq returns an Acc
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto s = rows(use(Matrix<double>(Index{1, 2}, {1.0, 2.0})));
#ifdef MUST_FAIL
  map_seq([](auto row) { return the(sum(row)); }, s);
#else
  map_seq([](auto row) { return unit(the(sum(row))); }, s);
#endif
}
