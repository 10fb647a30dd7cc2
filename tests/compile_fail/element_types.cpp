// expect: anabranch: the elements of an array are bool, int8_t
// expect: anabranch: the elements of an array are bool, int8_t
// expect: anabranch: the elements of an array are bool, int8_t
#include <anabranch/anabranch.h>

using namespace anabranch;

struct Point {
  double x;
  int32_t id;
};

int main() {
#if MUST_FAIL == 1
  Vector<char32_t> numbers(3);
#elif MUST_FAIL == 2
  Vector<Point> points(3);
#elif MUST_FAIL == 3
  Acc<Vector<Point>> points = use(Vector<Point>(3));
#else
  Vector<std::tuple<double, int32_t>> points(3);
#endif
}
