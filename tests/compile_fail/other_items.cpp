// expect: anabranch: filter_seq takes a condition of an item and a sequence
// expect: anabranch: the condition of filter_seq and take_while_seq gives an Exp<bool>
// expect: anabranch: the condition of filter_seq and take_while_seq takes one Acc for each array
// expect: anabranch: the number comes first, as in drop_seq.3, s.
// expect: anabranch: append_seq joins sequences of one type
// expect: anabranch: the function of flat_map_seq gives a sequence
// expect: anabranch: write windows.a, size, hop.
// expect: anabranch: write windows.a, size, hop.
// expect: anabranch: write tiles.a, shape.
// expect: anabranch: write slices.a, axis.
// expect: anabranch: write segments.s. of a sequence of vectors
// expect: anabranch: consume takes what is made of a whole sequence
// expect: anabranch: consume takes what is made of a whole sequence
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  const auto m = use(Matrix<double>(Index{2, 2}));
  const auto v = use(Vector<double>{1.0, 2.0});
  const auto s = rows(m);
#if MUST_FAIL == 1
  filter_seq([](auto x) { return x > 0.0; }, v);
#elif MUST_FAIL == 2
  filter_seq([](auto row) { return sum(row); }, s);
#elif MUST_FAIL == 3
  take_while_seq([](auto, auto) { return Exp<bool>(true); }, s);
#elif MUST_FAIL == 4
  drop_seq(s, 3);
#elif MUST_FAIL == 5
  append_seq(s, rows(v));
#elif MUST_FAIL == 6
  flat_map_seq([](auto row) { return row; }, s);
#elif MUST_FAIL == 7
  windows(4, v, 1);
#elif MUST_FAIL == 8
  windows(tiles(m, index_of(1, 2)), 4, 1);
#elif MUST_FAIL == 9
  tiles(m, 3);
#elif MUST_FAIL == 10
  slices(0, m);
#elif MUST_FAIL == 11
  segments(map_seq([](auto row) { return sum(row); }, s));
#elif MUST_FAIL == 12
  consume(s);
#elif MUST_FAIL == 13
  consume(sum(v));
#else
  filter_seq([](auto row) { return the(sum(row)) > 0.0; }, append_seq(drop_seq(1, s), s));
  flat_map_seq([](auto row) { return windows(row, 2, 1); },
               take_while_seq([](auto row) { return any(map([](auto x) { return x > 0.0; }, row)); }, s));
  windows(m, 2, 1);
  windows(tiles(m, index_of(1, 2)), index_of(4, 2), 1);
  windows(tiles(m, {1, 2}), {4, 2}, 1);
  segments(s);
  slices(m, 1);
#endif
}
