// expect: anabranch: the function of scan_seq gives the next state
// expect: anabranch: the function of scan_seq takes the arrays of the state
// expect: anabranch: the function of map_accum_seq gives std::pair
// expect: anabranch: the next state of map_accum_seq is of the types of the state
// expect: anabranch: write scan_seq.f, z, s.
// expect: anabranch: write fold_seq.f, z, s.
// expect: anabranch: the function of fold_seq gives an Acc of the items' type
// expect: anabranch: write fold_batch.f, combine, z, s.
// expect: anabranch: the functions of fold_batch give an Acc of the type of the seed
// expect: anabranch: write scan_seq.f, z, s.
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  const auto s = rows(use(Matrix<double>(Index{2, 2})));
  const auto sums = map_seq([](auto row) { return sum(row); }, s);
  const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };
#if MUST_FAIL == 1
  scan_seq([](auto, auto row) { return row; }, unit(0.0), s);
#elif MUST_FAIL == 2
  scan_seq([](auto x) { return x; }, unit(0.0), sums);
#elif MUST_FAIL == 3
  map_accum_seq(add, unit(0.0), sums);
#elif MUST_FAIL == 4
  map_accum_seq([](auto x, auto row) { return std::pair(row, x); }, unit(0.0), s);
#elif MUST_FAIL == 5
  scan_seq(plus, 0.0, s);
#elif MUST_FAIL == 6
  fold_seq(add, unit(0.0), s);
#elif MUST_FAIL == 7
  fold_seq([](auto x, auto) { return sum(x); }, use(Vector<double>{0.0}), s);
#elif MUST_FAIL == 8
  fold_batch(add, unit(0.0), sums);
#elif MUST_FAIL == 9
  fold_batch([](auto batch) { return consume(elements(batch)); }, add, unit(0.0), sums);
#elif MUST_FAIL == 10
  scan_seq(plus, the(use(Scalar<std::int32_t>(0))), sums);
#else
  scan_seq(add, unit(0.0), sums);
  scan_seq(plus, 0.0, sums);
  map_accum_seq([](auto x, auto row) { return std::pair(x, row); }, unit(0.0), s);
  fold_seq(add, unit(0.0), sums);
  fold_batch([](auto batch) { return sum(consume(elements(batch))); }, add, unit(0.0), s);
#endif
}
