#pragma once

#include <anabranch/elementwise.h>
#include <anabranch/reorder.h>

/// Reductions along one dimension, by default the innermost; of all elements: of flatten(a).
///
/// The order of joining is fixed (docs/language.md, "Order of reduction"), so that the bits are the same for any
/// chunk size, number of threads and back end. One pass: each element is read once.
namespace anabranch {

/// Reduces one dimension (the innermost, unless `axis` says another): z o x0 o x1 o ... with an associative
/// f, in the canonical order of the language reference; z is joined once and need not be neutral; an empty
/// row gives z.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, T>> fold(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                          int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N - 1, T>(
      detail::fold(detail::trace_operator<T>(f, at), z.value().handle(), a.handle(), axis, at, {}));
}
/// Without a seed: an empty row is a RunError.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, T>> fold1(F f, const Acc<Array<N, T>>& a, int axis = N - 1,
                           detail::Loc at = detail::Loc::current()) {
  return detail::acc<N - 1, T>(
      detail::fold(detail::trace_operator<T>(f, at), {}, a.handle(), axis, at, "fold1"));
}

/// Reduces all elements to one, in row-major order.
template <class F, int N, class T>
Acc<Scalar<T>> fold_all(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                        detail::Loc at = detail::Loc::current()) {
  return fold(f, z, flatten(a, at), 0, at);
}

/// The same without a seed: an empty array is a RunError.
template <class F, int N, class T>
Acc<Scalar<T>> fold1_all(F f, const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  return fold1(f, flatten(a, at), 0, at);
}

namespace detail {
template <class T, class F, int N>
Acc<Array<N - 1, T>> named_fold(Symbol label, F f, const Handle& seed, const Acc<Array<N, T>>& a, int axis,
                                Loc at) {
  return acc<N - 1, T>(detail::fold(trace_operator<T>(f, at), seed, a.handle(), axis, at, label));
}
/// What sums and products of T are: bool and integers of less than 64 bits are widened.
template <IsScalar T>
using Total = std::conditional_t<
    !IntegerValue<T> || sizeof(T) == sizeof(std::int64_t), T,
    std::conditional_t<std::is_signed_v<T> || std::same_as<T, bool>, std::int64_t, std::uint64_t>>;
/// Folds the elements as Totals.
template <class F, int N, class T>
Acc<Array<N - 1, Total<T>>> total(Symbol label, F f, Total<T> seed, const Acc<Array<N, T>>& a, int axis,
                                  Loc at) {
  const auto folded = [&](const Handle& elements) {
    return named_fold(label, f, constant_of<Total<T>>(seed, at), acc<N, Total<T>>(elements), axis, at);
  };
  if constexpr (std::same_as<Total<T>, T>) {
    return folded(a.handle());
  } else {
    auto [function, wide] = trace_function<T>([&](const Exp<T>& x) { return cast<Total<T>>(x, at); }, at);
    return folded(detail::map(function, {a.handle()}, at, label));
  }
}
}  // namespace detail

/// Sum, product, minimum, maximum along one dimension.
/// Empty sums are 0, products 1; an empty minimum is a RunError.
/// Sums and products of integers are int64 or, of unsigned ones, uint64, and wrap only there. The sum of bool
/// is an int64: how many are true. Of floating-point numbers they are of the elements' type.
template <int N, class T>
  requires(N >= 1 && IsScalar<T>)
Acc<Array<N - 1, detail::Total<T>>> sum(const Acc<Array<N, T>>& a, int axis = N - 1,
                                        detail::Loc at = detail::Loc::current()) {
  return detail::total("sum", plus, detail::Total<T>(0), a, axis, at);
}
/// How many elements are true; of how many elements p holds.
template <int N>
  requires(N >= 1)
Acc<Array<N - 1, std::int64_t>> count(const Acc<Array<N, bool>>& a, int axis = N - 1,
                                      detail::Loc at = detail::Loc::current()) {
  return detail::total("count", plus, std::int64_t{0}, a, axis, at);
}
template <class P, int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, std::int64_t>> count(P p, const Acc<Array<N, T>>& a, int axis = N - 1,
                                      detail::Loc at = detail::Loc::current()) {
  auto [function, truth] = detail::trace_function<T>(p, at);
  static_assert(std::same_as<decltype(truth), Exp<bool>>,
                "anabranch: the function of count says whether an element counts (an Exp<bool>)");
  return detail::total("count", plus, std::int64_t{0},
                       detail::acc<N, bool>(detail::map(function, {a.handle()}, at, "count")), axis, at);
}
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, detail::Total<T>>> product(const Acc<Array<N, T>>& a, int axis = N - 1,
                                            detail::Loc at = detail::Loc::current()) {
  return detail::total("product", times, detail::Total<T>(1), a, axis, at);
}
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, T>> minimum(const Acc<Array<N, T>>& a, int axis = N - 1,
                             detail::Loc at = detail::Loc::current()) {
  return detail::named_fold("minimum", minimum_of, {}, a, axis, at);
}
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, T>> maximum(const Acc<Array<N, T>>& a, int axis = N - 1,
                             detail::Loc at = detail::Loc::current()) {
  return detail::named_fold("maximum", maximum_of, {}, a, axis, at);
}

namespace detail {
/// What p says of the elements.
template <class P, int N, class T>
Acc<Array<N, bool>> truths(Symbol label, P p, const Acc<Array<N, T>>& a, Loc at) {
  auto [function, truth] = trace_function<T>(p, at);
  static_assert(std::same_as<decltype(truth), Exp<bool>>,
                "anabranch: the function of any and all says whether something holds (an Exp<bool>)");
  return acc<N, bool>(map(function, {a.handle()}, at, label));
}
template <int N>
Acc<Array<N - 1, bool>> truth(Symbol label, Primitive op, bool of_none, const Acc<Array<N, bool>>& a,
                              int axis, Loc at) {
  const auto join = [&](const Exp<bool>& x, const Exp<bool>& y) { return binary(op, x, y, at); };
  return named_fold(label, join, constant_of(of_none, at), a, axis, at);
}
}  // namespace detail

/// Whether any element is true; of an empty row none is. (all(a) is with All, in reorder.h.)
template <int N>
  requires(N >= 1)
Acc<Array<N - 1, bool>> any(const Acc<Array<N, bool>>& a, int axis = N - 1,
                            detail::Loc at = detail::Loc::current()) {
  return detail::truth("any", detail::Primitive::bit_or, false, a, axis, at);
}
template <int N>
  requires(N >= 1)
Acc<Array<N - 1, bool>> All::operator()(const Acc<Array<N, bool>>& a, int axis, detail::Loc at) const {
  return detail::truth("all", detail::Primitive::bit_and, true, a, axis, at);
}
template <int N>
  requires(N >= 1)
Acc<Array<N - 1, bool>> All::operator()(const Acc<Array<N, bool>>& a, detail::Loc at) const {
  return (*this)(a, N - 1, at);
}

/// Whether p holds of any element, of all of them: any(map(p, a)).
template <class P, int N, class T>
  requires(N >= 1 && !detail::IsAcc<P>)
Acc<Array<N - 1, bool>> any(P p, const Acc<Array<N, T>>& a, int axis = N - 1,
                            detail::Loc at = detail::Loc::current()) {
  return any(detail::truths("any", p, a, at), axis, at);
}
template <class P, int N, class T>
  requires(N >= 1 && !detail::IsAcc<P>)
Acc<Array<N - 1, bool>> All::operator()(P p, const Acc<Array<N, T>>& a, detail::Loc at) const {
  return (*this)(detail::truths("all", p, a, at), N - 1, at);
}
template <class P, int N, class T>
  requires(N >= 1 && !detail::IsAcc<P>)
Acc<Array<N - 1, bool>> All::operator()(P p, const Acc<Array<N, T>>& a, int axis, detail::Loc at) const {
  return (*this)(detail::truths("all", p, a, at), axis, at);
}

/// The arithmetic mean: of floats in their own type (of half in float, rounded once); of integers and bool a
/// double, from their exact sum, or where they have 64 bits from the sum of them as doubles. Of an empty row NaN.
template <int N, class T>
  requires(N >= 1 && IsScalar<T>)
auto mean(const Acc<Array<N, T>>& a, int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  constexpr bool is_half = std::same_as<T, half>, is_float = detail::FloatElement<T>;
  using Mean = std::conditional_t<is_float, T, double>;
  using Quotient = std::conditional_t<is_half, float, Mean>;
  detail::check_dimension("mean", axis, N, at);
  const auto as_quotients = [&](const auto& array) {
    using From = typename std::remove_cvref_t<decltype(array)>::value_type;
    constexpr int rank = std::remove_cvref_t<decltype(array)>::rank;
    auto [function, result] =
        detail::trace_function<From>([&](const auto& x) { return cast<Quotient>(x, at); }, at);
    return detail::acc<rank, Quotient>(detail::map(function, {array.handle()}, at, "mean"));
  };
  const Acc<Array<N - 1, Quotient>> total = [&] {
    if constexpr (is_half || (!is_float && sizeof(T) == sizeof(std::int64_t)))
      return sum(as_quotients(a), axis, at);
    else if constexpr (is_float)
      return sum(a, axis, at);
    else
      return as_quotients(sum(a, axis, at));
  }();
  const Exp<Quotient> count = cast<Quotient>(extent(a, axis, at), at);
  auto [function, result] = detail::trace_function<Quotient>(
      [&](const auto& x) {
        Exp<Quotient> quotient = x / count;
        if constexpr (is_half)
          return cast<half>(quotient, at);
        else
          return quotient;
      },
      at);
  return detail::acc<N - 1, Mean>(detail::map(function, {total.handle()}, at, "mean"));
}

namespace detail {
/// The position of the first element that is `extreme`, or of the first NaN.
template <class F, int N, class T>
Acc<Array<N - 1, std::int64_t>> first_extreme(Symbol label, F extreme, const Acc<Array<N, T>>& a, int axis,
                                              Loc at) {
  const Acc<Array<N - 1, T>> wanted = named_fold(label, extreme, {}, a, axis, at);
  const Exp<std::int64_t> length = extent(a, axis, at);
  const auto position = [&](const Exp<Index<N>>& ix, const Exp<T>& x) {
    Handles row;
    for (int d = 0; d < N; ++d)
      if (d != axis) row.push_back(ix[d].handle());
    const Exp<T> it(FromHandle{}, index(wanted.handle(), tuple(std::move(row), at), at, label));
    Exp<bool> found = x == it;
    if constexpr (FloatElement<T>) found = found || (x != x && it != it);
    return cond(found, ix[axis], length);
  };
  const Acc<Array<N, std::int64_t>> candidates =
      zip_with_at(at, label, position, indices(shape(a, at), at), a);
  return named_fold(label, minimum_of, length.handle(), candidates, axis, at);
}
}  // namespace detail

/// The position, along that dimension, of the least and of the greatest element; of equal ones the first, and
/// the first NaN where there is one. An empty row is a RunError. Cost: the row is read twice.
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, std::int64_t>> argmin(const Acc<Array<N, T>>& a, int axis = N - 1,
                                       detail::Loc at = detail::Loc::current()) {
  return detail::first_extreme("argmin", minimum_of, a, axis, at);
}
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, std::int64_t>> argmax(const Acc<Array<N, T>>& a, int axis = N - 1,
                                       detail::Loc at = detail::Loc::current()) {
  return detail::first_extreme("argmax", maximum_of, a, axis, at);
}

}  // namespace anabranch
