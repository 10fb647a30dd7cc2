// expect: anabranch: a.ix. takes an Index with as many dimensions as the array
// expect: anabranch: a.ix. takes an Index with as many dimensions as the array
// expect: anabranch: a.ix. takes an Index with as many dimensions as the array
// expect: anabranch: a.ix. takes an Index with as many dimensions as the array
// expect: anabranch: this position is known when the program runs.*use.array.
// expect: anabranch: this position is known when the program runs.*use.array.
#include <anabranch/anabranch.h>

using namespace anabranch;

void program(Acc<Matrix<double>> m, Acc<Vector<double>> v, Vector<double> host, Exp<int32_t> i) {
#if MUST_FAIL == 1
  auto bad = m[i];
#elif MUST_FAIL == 2
  auto bad = m[3];
#elif MUST_FAIL == 3
  auto bad = v[index_of(i, i)];
#elif MUST_FAIL == 4
  auto bad = m[Index{1}];
#elif MUST_FAIL == 5
  auto bad = host[i];
#elif MUST_FAIL == 6
  auto bad = host[index_of(i)];
#else
  auto good = m[index_of(i, 0)] + m[Index{1, 2}] + v[i] + v[0] + v[index_of(i)] + use(host)[i] + m.linear(i) +
              host[0];
#endif
}
