// expect: anabranch: the number comes first, as in take
// expect: anabranch: the number comes first, as in drop
// expect: anabranch: concat joins two arrays of one rank and element type
// expect: anabranch: concat joins two arrays of one rank and element type
// expect: anabranch: write shift.a, by, boundary
// expect: anabranch: write shift.a, by, boundary
// expect: anabranch: write rotate.a, by
// expect: anabranch: write pad.a, before, after, value
// expect: anabranch: the function comes first, as in imap
// expect: anabranch: write stencil.f, boundary, a
// expect: anabranch: write stencil.f, boundary, a
// expect: anabranch: a host array becomes part of a program by use
// expect: anabranch: write section.a, begin, step, count
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  auto v = use(Vector<double>{1.0, 2.0});
  auto m = use(Matrix<double>(Index{2, 2}));
  auto w = use(Vector<float>{1.0F});
  const Vector<double> host{1.0};
#if MUST_FAIL == 1
  take(v, 3);
#elif MUST_FAIL == 2
  drop(v, 3);
#elif MUST_FAIL == 3
  concat(v, w);
#elif MUST_FAIL == 4
  concat(m, v);
#elif MUST_FAIL == 5
  shift(v, 1);
#elif MUST_FAIL == 6
  shift(m, 1, clamp);
#elif MUST_FAIL == 7
  rotate(1, v);
#elif MUST_FAIL == 8
  pad(v, 1, 0.0);
#elif MUST_FAIL == 9
  imap(v, [](auto ix, auto x) { return x + cast<double>(ix[0]); });
#elif MUST_FAIL == 10
  stencil([](auto n) { return n(1); }, v);
#elif MUST_FAIL == 11
  stencil(clamp, [](auto n) { return n(1); }, v);
#elif MUST_FAIL == 12
  reverse(host);
#elif MUST_FAIL == 13
  section(v, 1, 2);
#else
  take(3, v);
  drop(3, v);
  concat(v, map([](auto x) { return cast<double>(x); }, w));
  concat(m, expand_dims(v, 0), 0);
  shift(v, 1, clamp);
  shift(m, Index{1, 0}, clamp);
  rotate(v, 1);
  pad(v, 1, 1, 0.0);
  imap([](auto ix, auto x) { return x + cast<double>(ix[0]); }, v);
  stencil([](auto n) { return n(1); }, clamp, v);
  reverse(use(host));
  section(v, 1, 2, 1);
#endif
}
