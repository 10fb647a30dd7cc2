// expect: anabranch: this function cannot be called with the items of these sequences
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto s = rows(use(Matrix<double>(Index{1, 2}, {1.0, 2.0})));
#ifdef MUST_FAIL
  map_seq([](Acc<Vector<float>> row) { return row; }, s);
#else
  map_seq([](Acc<Vector<double>> row) { return row; }, s);
#endif
}
