#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <tuple>

#include "apps/smvm/program.h"

/// The programs that several benchmarks run, as a user writes them.
namespace anabranch::bench {

template <class T>
using SparseRowOf = Vector<std::tuple<std::int32_t, T>>;
using SparseRow = SparseRowOf<double>;

/// Sparse matrix times vector and the product of vectors that it is made of: the command's.
using apps::dotp;
using apps::smvm;

/// The sum of each item's values.
template <class T>
Acc<Vector<T>> row_sums(Seq<SparseRowOf<T>> rows) {
  const auto sum_row = [](Acc<SparseRowOf<T>> row) {
    auto [columns, values] = unzip(row);
    return fold(plus, T(0), values);
  };
  return consume(elements(map_seq(sum_row, rows)));
}

/// Inclusive sums.
template <class T>
Acc<Vector<T>> prefix_sums(Acc<Vector<T>> xs) {
  return scanl1(plus, xs);
}

/// Of each item's values, one after the other.
template <class T>
Acc<Vector<T>> row_prefix_sums(Seq<SparseRowOf<T>> rows) {
  const auto scan_row = [](Acc<SparseRowOf<T>> row) {
    auto [columns, values] = unzip(row);
    return prefix_sums<T>(values);
  };
  return consume(elements(map_seq(scan_row, rows)));
}

/// x * x + 1 / 2 of each element: a map that is bound by memory.
template <class T>
Acc<Vector<T>> squares(Acc<Vector<T>> xs) {
  return map([](Exp<T> x) { return x * x + T(0.5); }, xs);
}

/// A quarter, a half and a quarter of three neighbours; beyond the ends is the last one again.
template <class T>
Acc<Vector<T>> smoothed(Acc<Vector<T>> xs) {
  return stencil([](auto n) { return n(-1) * T(0.25) + n(0) * T(0.5) + n(1) * T(0.25); }, clamp, xs);
}

/// The mean of the 5 x 5 elements around each one; beyond the borders is the nearest one again.
template <class T>
Acc<Matrix<T>> box_means(Acc<Matrix<T>> image) {
  const auto mean = [](auto n) {
    Exp<T> sum = n(-2, -2);
    for (int k = 1; k < 25; ++k) sum = sum + n(k / 5 - 2, k % 5 - 2);
    return sum * T(1.0 / 25);
  };
  return stencil(mean, clamp, image);
}

/// The elements above a limit, in order.
template <class T>
Acc<Vector<T>> above(T limit, Acc<Vector<T>> xs) {
  return std::get<0>(filter([=](Exp<T> x) { return x > limit; }, xs));
}

/// For each place the sum of the values that go there.
template <class T>
Acc<Vector<T>> sums_at(std::int64_t places, Acc<Vector<std::int32_t>> to, Acc<Vector<T>> values) {
  const auto place = [=](auto ix) { return index_of(cast<std::int64_t>(to[ix])); };
  return permute(plus, fill(places, T(0)), place, values);
}

/// A loop outside of streams; a round: a counter, and x / 2 + 1 of n elements, which are 1 at first.
inline Acc<Vector<float>> counted_loop(std::int64_t rounds, std::int64_t n) {
  return std::get<1>(awhile([=](auto i, auto) { return the(i) < rounds; },
                            [](auto i, auto a) {
                              return std::tuple{unit(the(i) + 1),
                                                map([](auto x) { return x * 0.5f + 1.0f; }, a)};
                            },
                            std::tuple{unit(Exp<std::int64_t>(0)), fill(n, 1.0f)}));
}

/// A loop of each item of a stream of n; item i has i rounds, and gives the sum of 1 .. i.
inline Acc<Vector<std::int64_t>> loops_of_items(std::int64_t n) {
  const auto sum_to = [](auto i) {
    return std::get<1>(
        awhile([](auto k, auto) { return the(k) > 0; },
               [](auto k, auto s) { return std::tuple{unit(the(k) - 1), unit(the(s) + the(k))}; },
               std::tuple{i, unit(Exp<std::int64_t>(0))}));
  };
  return consume(elements(map_seq(sum_to, produce(n, [](auto i) { return unit(i); }))));
}

/// Memory of somebody else as a vector.
template <class T>
Vector<T> vector_over(const T* at, std::int64_t n) {
  return Vector<T>::view(Index<1>{{n}}, at);
}

}  // namespace anabranch::bench
