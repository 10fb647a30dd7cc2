// expect: anabranch: an array has a rank from 0 to 4
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
#ifdef MUST_FAIL
  Array<5, double> array;
#else
  Array<4, double> array;
#endif
}
