// expect: anabranch: regular.shape. has another rank than the items of the range
#include <vector>

#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  const std::vector<Vector<double>> items;
#ifdef MUST_FAIL
  stream_in(regular(Index{2, 2}), items);
#else
  stream_in(regular(Index{2}), items);
#endif
}
