// expect: anabranch: use takes an Array
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#ifdef MUST_FAIL
  use(std::vector<double>{1.0});
#else
  use(Vector<double>(std::vector<double>{1.0}));
#endif
}
