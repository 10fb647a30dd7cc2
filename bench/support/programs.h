#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <tuple>

/// The programs that several benchmarks run, as a user writes them.
namespace anabranch::bench {

template <class T>
using SparseRowOf = Vector<std::tuple<std::int32_t, T>>;
using SparseRow = SparseRowOf<double>;

template <class T>
Acc<Scalar<T>> dot_product(Acc<Vector<T>> xs, Acc<Vector<T>> ys) {
  return fold(plus, T(0), zip_with(times, xs, ys));
}

/// Sparse matrix times vector.
template <class T>
Acc<Vector<T>> smvm(Seq<SparseRowOf<T>> rows, Acc<Vector<T>> x) {
  const auto dot_row = [=](Acc<SparseRowOf<T>> row) {
    auto [columns, values] = unzip(row);
    return dot_product(values, gather(columns, x));
  };
  return consume(elements(map_seq(dot_row, rows)));
}

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

/// Memory of somebody else as a vector.
template <class T>
Vector<T> vector_over(const T* at, std::int64_t n) {
  return Vector<T>::view(Index<1>{{n}}, at);
}

}  // namespace anabranch::bench
