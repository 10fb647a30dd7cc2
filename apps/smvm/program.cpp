#include "apps/smvm/program.h"

namespace anabranch::apps {

template <class T>
Acc<Scalar<T>> dotp(Acc<Vector<T>> xs, Acc<Vector<T>> ys) {
  return fold(plus, T{0}, zip_with(times, xs, ys));
}

template <class I, class T>
Acc<Vector<T>> smvm(Seq<Vector<std::tuple<I, T>>> rows, Acc<Vector<T>> x) {
  auto dot_row = [=](auto row) {
    auto [columns, values] = unzip(row);
    return dotp(values, gather(columns, x));
  };
  return consume(elements(map_seq(dot_row, rows)));
}

template <class I, class T>
Acc<Matrix<T>> smvm(Seq<Vector<std::tuple<I, T>>> rows, Acc<Matrix<T>> xs) {
  auto dot_row = [=](auto row) {
    auto [columns, values] = unzip(row);
    auto terms = generate(index_of(size(row), extent(xs, 1)),
                          [=](auto at) { return values[at[0]] * xs[index_of(columns[at[0]], at[1])]; });
    return fold(plus, T{0}, terms, 0);
  };
  return consume(tabulate(map_seq(dot_row, rows)));
}

template Acc<Scalar<float>> dotp(Acc<Vector<float>>, Acc<Vector<float>>);
template Acc<Scalar<double>> dotp(Acc<Vector<double>>, Acc<Vector<double>>);

template Acc<Vector<float>> smvm(Seq<Vector<std::tuple<std::int32_t, float>>>, Acc<Vector<float>>);
template Acc<Vector<float>> smvm(Seq<Vector<std::tuple<std::int64_t, float>>>, Acc<Vector<float>>);
template Acc<Vector<double>> smvm(Seq<Vector<std::tuple<std::int32_t, double>>>, Acc<Vector<double>>);
template Acc<Vector<double>> smvm(Seq<Vector<std::tuple<std::int64_t, double>>>, Acc<Vector<double>>);

template Acc<Matrix<float>> smvm(Seq<Vector<std::tuple<std::int32_t, float>>>, Acc<Matrix<float>>);
template Acc<Matrix<float>> smvm(Seq<Vector<std::tuple<std::int64_t, float>>>, Acc<Matrix<float>>);
template Acc<Matrix<double>> smvm(Seq<Vector<std::tuple<std::int32_t, double>>>, Acc<Matrix<double>>);
template Acc<Matrix<double>> smvm(Seq<Vector<std::tuple<std::int64_t, double>>>, Acc<Matrix<double>>);

}  // namespace anabranch::apps
