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

template Acc<Scalar<float>> dotp(Acc<Vector<float>>, Acc<Vector<float>>);
template Acc<Scalar<double>> dotp(Acc<Vector<double>>, Acc<Vector<double>>);

template Acc<Vector<float>> smvm(Seq<Vector<std::tuple<std::int32_t, float>>>, Acc<Vector<float>>);
template Acc<Vector<float>> smvm(Seq<Vector<std::tuple<std::int64_t, float>>>, Acc<Vector<float>>);
template Acc<Vector<double>> smvm(Seq<Vector<std::tuple<std::int32_t, double>>>, Acc<Vector<double>>);
template Acc<Vector<double>> smvm(Seq<Vector<std::tuple<std::int64_t, double>>>, Acc<Vector<double>>);

}  // namespace anabranch::apps
