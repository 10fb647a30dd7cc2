// expect: anabranch: the function of backpermute gives a position in its array
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto m = use(Matrix<double>(Index{1, 2}, {1.0, 2.0}));
#ifdef MUST_FAIL
  backpermute(index_of(2), [](auto ix) { return ix; }, m);
#else
  backpermute(index_of(2), [](auto ix) { return index_of(0, ix[0]); }, m);
#endif
}
