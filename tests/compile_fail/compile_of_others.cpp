// expect: anabranch: compile's types are those of its arguments: Arrays
// expect: anabranch: the function given to compile returns an Acc, or a std::tuple of them
// expect: anabranch: the function given to compile returns an Acc, or a std::tuple of them
// expect: anabranch: the function given to compile returns an Acc, or a std::tuple of them
// expect: anabranch: the function given to compile returns an Acc, or a std::tuple of them
// expect: anabranch: a sequence is not compiled as it is
// expect: anabranch: a sequence is not compiled as it is
// expect: anabranch: stream_out gives the items of a sequence
#include <utility>

#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto m = use(Matrix<double>(Index{1, 2}, {1.0, 2.0}));
#ifndef MUST_FAIL
#define MUST_FAIL 0
#endif
#if MUST_FAIL == 1
  compile<double>([](auto x) { return x; });
#elif MUST_FAIL == 2
  compile<Vector<double>>([](auto v) { return v[0]; });
#elif MUST_FAIL == 3
  compile<Matrix<double>>([](auto v) { return rows(v); });
#elif MUST_FAIL == 4
  compile<Vector<double>>([](auto v) { return std::pair(v, v); });
#elif MUST_FAIL == 5
  compile<Vector<double>>([](auto) {});
#elif MUST_FAIL == 6
  compile(rows(m));
#elif MUST_FAIL == 7
  compile(elements(rows(m)));
#elif MUST_FAIL == 8
  stream_out(m);
#else
  compile<Vector<double>>([](auto v) { return std::tuple(v, unit(v[0])); });
  compile(consume(elements(rows(m))));
  stream_out(rows(m));
#endif
}
