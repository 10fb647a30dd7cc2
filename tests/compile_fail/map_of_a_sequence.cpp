// expect: anabranch: this works on one array
// expect: anabranch: map_seq takes a function and sequences
// expect: anabranch: map_seq takes a function and sequences
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  std::vector<Vector<double>> items;
#if MUST_FAIL == 1
  map([](auto x) { return x; }, rows(use(Matrix<double>(Index{2, 2}))));
#elif MUST_FAIL == 2
  map_seq([](auto r) { return r; }, items);
#elif MUST_FAIL == 3
  map_seq([](auto r) { return r; }, use(Vector<double>(3)));
#else
  map_seq([](auto r) { return r; }, stream_in(items));
  map_seq([](auto r) { return r; }, rows(use(Matrix<double>(Index{2, 2}))));
#endif
}
