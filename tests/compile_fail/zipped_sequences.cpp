// expect: anabranch: zip_with_seq takes a function and 2 to 9 sequences
// expect: anabranch: zip_with_seq takes a function and 2 to 9 sequences
// expect: anabranch: zip_with_seq takes a function and 2 to 9 sequences
// expect: anabranch: zip_with_seq takes a function and 2 to 9 sequences
// expect: anabranch: this function cannot be called with the items of these sequences
// expect: anabranch: zip_seq takes 2 to 9 sequences
// expect: anabranch: zip_seq takes 2 to 9 sequences
// expect: anabranch: zip_seq takes 2 to 9 sequences
// expect: anabranch: map_seq takes a function and one sequence
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  const auto m = use(Matrix<double>(Index{2, 2}));
  const auto s = rows(m);
  const auto first = [](const auto& a, const auto&...) { return a; };
#if MUST_FAIL == 1
  zip_with_seq(first, s);
#elif MUST_FAIL == 2
  zip_with_seq(first, s, s, s, m);
#elif MUST_FAIL == 3
  zip_with_seq(s, s, s, s, first);
#elif MUST_FAIL == 4
  zip_with_seq(first, s, s, s, s, s, s, s, s, s, s);
#elif MUST_FAIL == 5
  zip_with_seq([](auto a, auto, auto) { return a; }, s, s, s, s);
#elif MUST_FAIL == 6
  zip_seq(s);
#elif MUST_FAIL == 7
  zip_seq(s, s, s, m);
#elif MUST_FAIL == 8
  zip_seq(s, s, s, s, s, s, s, s, s, s);
#elif MUST_FAIL == 9
  map_seq(first, s, s);
#else
  zip_with_seq(first, s, s);
  zip_with_seq(first, s, s, s, s, s, s, s, s, s);
  zip_with_seq([](auto a, auto, auto, auto) { return a; }, s, s, s, s);
  zip_seq(zip_seq(s, s, s, s, s, s, s, s, s), s);
  map_seq(first, zip_seq(s, s, s));
#endif
}
