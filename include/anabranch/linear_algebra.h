#pragma once

#include <anabranch/fold.h>

/// Products of vectors and matrices. Integers are widened to 64 bits before they are multiplied, as sum and
/// product do; sums are in the canonical order of folds.
namespace anabranch {

namespace detail {
/// The products, as Totals, of elements at equal positions.
template <int N, class T>
Acc<Array<N, Total<T>>> products(Symbol label, const Acc<Array<N, T>>& a, const Acc<Array<N, T>>& b, Loc at) {
  const auto multiply = [&](const Exp<T>& x, const Exp<T>& y) {
    if constexpr (std::same_as<Total<T>, T>)
      return x * y;
    else
      return cast<Total<T>>(x, at) * cast<Total<T>>(y, at);
  };
  return zip_with_at(at, label, multiply, a, b);
}
}  // namespace detail

/// The sum of the products of two vectors, or of the innermost rows of two arrays; of unequal lengths the
/// lesser counts.
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, detail::Total<T>>> inner_product(const Acc<Array<N, T>>& a, const Acc<Array<N, T>>& b,
                                                  detail::Loc at = detail::Loc::current()) {
  return sum(detail::products("inner_product", a, b, at), N - 1, at);
}

/// f(a[i], b[j]) at (i, j).
template <class F, class A, class B>
auto outer_product(F f, const Acc<Vector<A>>& a, const Acc<Vector<B>>& b,
                   detail::Loc at = detail::Loc::current()) {
  const auto rows = detail::replicate_at(at, a, all, extent(b, 0, at));
  const auto columns = detail::replicate_at(at, b, extent(a, 0, at), all);
  return detail::zip_with_at(at, "outer_product", f, rows, columns);
}
/// a[i] * b[j], in the type of the elements.
template <class T>
  requires detail::NumberElement<T>
Acc<Matrix<T>> outer_product(const Acc<Vector<T>>& a, const Acc<Vector<T>>& b,
                             detail::Loc at = detail::Loc::current()) {
  return outer_product(times, a, b, at);
}

/// The matrix product, and those of a matrix and a vector: sums over the innermost dimension of `a` and the
/// outermost of `b`, of which the lesser counts. Cost: n * m sums of k products. Products of matrices are computed in
/// tiles that fit registers.
template <class T>
  requires detail::NumberElement<T>
Acc<Matrix<detail::Total<T>>> matmul(const Acc<Matrix<T>>& a, const Acc<Matrix<T>>& b,
                                     detail::Loc at = detail::Loc::current()) {
  const auto rows = detail::replicate_at(at, a, all, extent(b, 1, at), all);
  const auto columns = detail::replicate_at(at, transpose(b, at), extent(a, 0, at), all, all);
  return sum(detail::products("matmul", rows, columns, at), 2, at);
}
template <class T>
  requires detail::NumberElement<T>
Acc<Vector<detail::Total<T>>> matmul(const Acc<Matrix<T>>& a, const Acc<Vector<T>>& x,
                                     detail::Loc at = detail::Loc::current()) {
  return sum(detail::products("matmul", a, detail::replicate_at(at, x, extent(a, 0, at), all), at), 1, at);
}

}  // namespace anabranch
