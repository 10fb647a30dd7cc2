// expect: anabranch: the items of a streamed range are Arrays
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#ifdef MUST_FAIL
  stream_in(std::vector<std::vector<double>>{{1.0}});
#else
  stream_in(std::vector<Vector<double>>{{1.0}});
#endif
}
