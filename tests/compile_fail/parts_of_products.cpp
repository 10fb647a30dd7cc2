// expect: anabranch: get<I> takes the number of a part
// expect: anabranch: get<I> takes the number of a part
// expect: anabranch: get<I> takes the number of a part
// expect: anabranch: get<I> takes a part of a product, this is one value
// expect: anabranch: cast<T>.x. gives a bool or a number
// expect: anabranch: cast<T>.x. gives a bool or a number
// expect: anabranch: this function works on numbers
// expect: anabranch: this function works on single values
// expect: anabranch: a value given to make<T> has another type than the part.*index_of.i, j.
#include <anabranch/anabranch.h>

using namespace anabranch;

int main() {
  using P = std::pair<int32_t, float>;
  auto pairs = use(Vector<P>(3));
  zip_with(
      [=](auto p, auto z) {
        auto [i, x] = p;
#if MUST_FAIL == 1
        auto bad = get<5>(p);
#elif MUST_FAIL == 2
        auto bad = get<2>(index_of(i, 0));
#elif MUST_FAIL == 3
        auto bad = get<2>(z);
#elif MUST_FAIL == 4
        auto bad = get<0>(x);
#elif MUST_FAIL == 5
        auto bad = cast<P>(x);
#elif MUST_FAIL == 6
        auto bad = cast<std::optional<float>>(x);
#elif MUST_FAIL == 7
        auto bad = cast<float>(p);
#elif MUST_FAIL == 8
        auto bad = cast<float>(pairs);
#elif MUST_FAIL == 9
        auto bad = make<Index<2>>(i, x);
#else
        auto good = pack(get<1>(p), get<1>(index_of(i, 0)), get<1>(z), cast<double>(i));
        auto made = make<Index<2>>(0, get<1>(index_of(i, 0)));
#endif
        return x;
      },
      pairs, use(Vector<std::complex<float>>(3)));
}
