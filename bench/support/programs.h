#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <tuple>

/// The programs that several benchmarks run, as a user writes them.
namespace anabranch::bench {

using SparseRow = Vector<std::tuple<std::int32_t, double>>;

template <class T>
Acc<Scalar<T>> dot_product(Acc<Vector<T>> xs, Acc<Vector<T>> ys) {
  return fold(plus, T(0), zip_with(times, xs, ys));
}

/// Sparse matrix times vector.
inline Acc<Vector<double>> smvm(Seq<SparseRow> rows, Acc<Vector<double>> x) {
  const auto dot_row = [=](Acc<SparseRow> row) {
    auto [columns, values] = unzip(row);
    return dot_product(values, gather(columns, x));
  };
  return consume(elements(map_seq(dot_row, rows)));
}

/// The sum of each item's values.
inline Acc<Vector<double>> row_sums(Seq<SparseRow> rows) {
  const auto sum_row = [](Acc<SparseRow> row) {
    auto [columns, values] = unzip(row);
    return fold(plus, 0.0, values);
  };
  return consume(elements(map_seq(sum_row, rows)));
}

/// Memory of somebody else as a vector.
inline Vector<double> vector_over(const double* at, std::int64_t n) {
  return Vector<double>::view(Index<1>{{n}}, at);
}

}  // namespace anabranch::bench
