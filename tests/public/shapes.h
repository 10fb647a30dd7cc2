#pragma once

#include "agree.h"

/// Arrays of every rank and of every kind of extent.
namespace anabranch::testing {

/// Different shapes of one rank: ordinary, with a 1, with a zero at each place, longer than a vector.
template <int N>
std::vector<Index<N>> shapes() {
  std::vector<Index<N>> out;
  const std::array<std::int64_t, 4> ordinary{3, 4, 2, 5}, long_inside{2, 1, 3, 1};
  Index<N> a, b, c;
  for (int d = 0; d < N; ++d) {
    a[d] = ordinary[static_cast<std::size_t>(d)];
    b[d] = d == N - 1 ? 67 : long_inside[static_cast<std::size_t>(d)];
    c[d] = 1;
  }
  out = {a, b, c};
  if (N == 0) out = {a};
  for (int d = 0; d < N; ++d) {
    Index<N> zero = a;
    zero[d] = 0;
    out.push_back(zero);
  }
  return out;
}

template <int N, class T>
std::vector<Array<N, T>> arrays(std::uint64_t seed = 0) {
  std::vector<Array<N, T>> out;
  for (const Index<N>& shape : shapes<N>())
    out.push_back(array_of(
        shape, [&](std::int64_t i) { return number<T>(static_cast<std::uint64_t>(i) + 7919 * ++seed); }));
  return out;
}

/// Calls f(ix) for every position of a shape, in row-major order.
template <int N, class F>
void each_position(const Index<N>& shape, F f) {
  std::int64_t size = 1;
  for (int d = 0; d < N; ++d) size *= shape[d];
  for (std::int64_t i = 0; i < size; ++i) {
    Index<N> ix;
    std::int64_t rest = i;
    for (int d = N - 1; d >= 0; --d) {
      ix[d] = rest % shape[d];
      rest /= shape[d];
    }
    f(ix);
  }
}

}  // namespace anabranch::testing
