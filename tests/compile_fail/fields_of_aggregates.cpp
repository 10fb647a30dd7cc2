// expect: anabranch: a field of Named is no element
// expect: anabranch: Pair is no aggregate
// expect: anabranch: Point has more fields than ANABRANCH_AGGREGATE names
// expect: anabranch: make<T> takes one value for each part of T, in order
// expect: anabranch: a value given to make<T> has another type than the part
// expect: anabranch: this is no field of the struct
// expect: anabranch: make<T> makes products
// expect: anabranch: the elements of an array are bool
// expect: anabranch: ANABRANCH_AGGREGATE names the fields of Point in their order
// expect: anabranch: ANABRANCH_AGGREGATE.Named, .... stands in the namespace of the struct
#include <anabranch/anabranch.h>

#include <string>

struct Point {
  double x;
  int32_t id;
  static constexpr int dimensions = 1;
};
#if MUST_FAIL == 3
ANABRANCH_AGGREGATE(Point, x);
#elif MUST_FAIL == 9
ANABRANCH_AGGREGATE(Point, id, x);
#else
ANABRANCH_AGGREGATE(Point, x, id);
#endif

struct Named {
  double x;
  std::string name;
};
#if MUST_FAIL == 1
ANABRANCH_AGGREGATE(Named, x, name);
#elif MUST_FAIL == 10
namespace elsewhere {
ANABRANCH_AGGREGATE(Named, x);
}
#endif

struct Pair {
  explicit Pair(int32_t n) : first(n) {}
  int32_t first;
};
#if MUST_FAIL == 2
ANABRANCH_AGGREGATE(Pair, first);
#endif

struct Line {
  Point from;
  double length;
};
#if MUST_FAIL != 8
ANABRANCH_AGGREGATE(Line, from, length);
#endif

using namespace anabranch;

int main() {
  map(
      [](auto p) {
#if MUST_FAIL == 4
        return make<Point>(p->x);
#elif MUST_FAIL == 5
        return make<Point>(p->x, p->x);
#elif MUST_FAIL == 6
        return get<&Line::length>(p);
#elif MUST_FAIL == 7
        return make<double>(p->x, 1);
#else
        return make<Point>(get<&Point::x>(p), p->id + 1);
#endif
      },
      use(Vector<Point>(3)));
  Vector<Line> lines(3);
}
